import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { testDatabase, type TestDatabase } from "../../test/database.ts";
import { viewsApp, type ViewsApp } from "../../test/views-app.ts";
import { LOGIN_ATTEMPTS_PER_MINUTE, TOKEN_DAYS } from "../limits.ts";
import { createLoginLink, ensureAdmin } from "./admin.ts";
import { createToken, listTokens, revokeToken, signIn } from "./tokens.ts";

let db: TestDatabase;
let views: ViewsApp;

beforeAll(async () => {
  db = await testDatabase();
  views = await viewsApp(db);
});
afterAll(async () => {
  await views.close();
  await db.drop();
});

let addresses = 0;

/** Signs in, each time from another address, so that the limit per address stays out of it. */
async function post(token: unknown, headers: Record<string, string> = {}, app = views.app) {
  addresses += 1;
  return app.inject({
    method: "POST",
    url: "/api/session",
    payload: { token },
    headers,
    remoteAddress: `10.0.0.${addresses}`,
  });
}

function cookieOf(answer: Awaited<ReturnType<typeof post>>): string {
  const [cookie] = answer.cookies;
  if (cookie === undefined) throw new Error(`no cookie: ${answer.body}`);
  return `${cookie.name}=${cookie.value}`;
}

async function whoAmI(headers: Record<string, string>, app = views.app) {
  return app.inject({ url: "/api/session", headers });
}

describe("signing in", () => {
  it("gives a cookie for an API token, and the cookie opens the interface", async () => {
    const answer = await post(views.tokens.compliance);
    expect([answer.statusCode, answer.json()]).toEqual([200, { name: "test compliance", role: "compliance" }]);
    const session = await whoAmI({ cookie: cookieOf(answer) });
    expect([session.statusCode, session.json()]).toEqual([200, { name: "test compliance", role: "compliance" }]);
    expect((await views.app.inject({ url: "/api/messages", headers: { cookie: cookieOf(answer) } })).statusCode).toBe(
      200,
    );
  });

  it("keeps the cookie from scripts and from other sites, and from plain http where the address is https", async () => {
    expect((await post(views.tokens.support)).cookies[0]).toMatchObject({
      httpOnly: true,
      sameSite: "Strict",
      path: "/",
      maxAge: 43_200,
    });
    expect((await post(views.tokens.support)).headers["set-cookie"]).not.toContain("Secure");
    const https = await viewsApp(db, { tokens: views.tokens, config: { HOLDFAST_PUBLIC_URL: "https://mail.example" } });
    try {
      expect((await post(views.tokens.support, {}, https.app)).headers["set-cookie"]).toContain("Secure");
    } finally {
      await https.close();
    }
  });

  it("works once with a login link, whoever else tries at the same time", async () => {
    const link = await createLoginLink(db.pool);
    const answers = await Promise.all([signIn(db.pool, link), signIn(db.pool, link), signIn(db.pool, link)]);
    expect(answers.filter((answer) => answer !== undefined)).toHaveLength(1);
    expect(answers.find((answer) => answer !== undefined)?.viewer.role).toBe("admin");
    const again = await post(link);
    expect([again.statusCode, again.json()]).toMatchObject([401, { error: { code: "token_invalid" } }]);
  });

  it("does not work with an expired link, an unknown token, or a session's own token", async () => {
    const link = await createLoginLink(db.pool);
    await db.pool.query("UPDATE tokens SET expires_at = now() WHERE kind = 'link'");
    expect((await post(link)).statusCode).toBe(401);
    expect((await post("hf_unknown")).statusCode).toBe(401);
    const session = await signIn(db.pool, views.tokens.admin);
    expect((await post(session?.token)).statusCode).toBe(401);
    expect((await whoAmI({ authorization: `Bearer ${session?.token}` })).statusCode).toBe(401);
  });

  it("refuses what is no token with 400", async () => {
    for (const token of [undefined, null, "", 5, [], {}, "x".repeat(501)]) {
      const answer = await post(token);
      // Numbers become text, as everywhere; then the token is just unknown.
      expect(answer.statusCode, JSON.stringify(token)).toBe(token === 5 ? 401 : 400);
    }
    const notJson = await views.app.inject({
      method: "POST",
      url: "/api/session",
      payload: "{",
      headers: { "content-type": "application/json" },
    });
    expect(notJson.json()).toMatchObject({ error: { code: "bad_request" } });
    const text = await views.app.inject({
      method: "POST",
      url: "/api/session",
      payload: "x",
      headers: { "content-type": "text/csv" },
    });
    expect(text.json()).toMatchObject({ error: { code: "bad_request" } });
    const huge = await post("x".repeat(100_000));
    expect([huge.statusCode, huge.json()]).toMatchObject([413, { error: { code: "body_too_large" } }]);
    const nul = await post("\0\ud83d");
    expect(nul.statusCode).toBe(401);
  });

  it("is limited per address", async () => {
    const fresh = await viewsApp(db, { tokens: views.tokens });
    try {
      const request = { method: "POST", url: "/api/session", payload: { token: "hf_wrong" } } as const;
      for (let attempt = 0; attempt < LOGIN_ATTEMPTS_PER_MINUTE; attempt += 1) {
        expect((await fresh.app.inject(request)).statusCode).toBe(401);
      }
      const answer = await fresh.app.inject({ ...request, payload: { token: views.tokens.admin } });
      expect([answer.statusCode, answer.json()]).toMatchObject([429, { error: { code: "too_many_requests" } }]);
      expect((await post(views.tokens.admin, {}, fresh.app)).statusCode).toBe(200);
    } finally {
      await fresh.close();
    }
  });
});

describe("signing out", () => {
  it("ends the session and nothing else", async () => {
    const cookie = cookieOf(await post(views.tokens.support));
    const answer = await views.app.inject({ method: "DELETE", url: "/api/session", headers: { cookie } });
    expect([answer.statusCode, answer.body]).toEqual([204, ""]);
    expect(answer.cookies[0]).toMatchObject({ value: "" });
    expect((await whoAmI({ cookie })).statusCode).toBe(401);
    expect((await views.get("/api/session")).statusCode).toBe(200);
  });
});

describe("a request without the right to it", () => {
  it("is told what is missing", async () => {
    expect((await whoAmI({})).json()).toMatchObject({ error: { code: "token_missing" } });
    expect((await whoAmI({ authorization: "Bearer hf_nonsense" })).json()).toMatchObject({
      error: { code: "token_invalid" },
    });
    expect((await whoAmI({ authorization: "Basic YTpi" })).json()).toMatchObject({ error: { code: "token_invalid" } });
    expect((await whoAmI({ cookie: "holdfast_session=x" })).json()).toMatchObject({ error: { code: "token_invalid" } });
    expect((await whoAmI({ cookie: "holdfast_session=%E0%A4%A" })).json()).toMatchObject({
      error: { code: "token_invalid" },
    });
    expect((await whoAmI({ authorization: `Bearer ${"x".repeat(5000)}` })).statusCode).toBe(401);
  });

  it("may not change anything from another origin with a person's cookie", async () => {
    const cookie = cookieOf(await post(views.tokens.support));
    for (const site of ["cross-site", "same-site"]) {
      const answer = await views.app.inject({
        method: "DELETE",
        url: "/api/session",
        headers: { cookie, "sec-fetch-site": site },
      });
      expect([answer.statusCode, answer.json()]).toMatchObject([403, { error: { code: "foreign_origin" } }]);
      expect((await post(views.tokens.support, { "sec-fetch-site": site })).statusCode).toBe(403);
    }
    expect((await whoAmI({ cookie, "sec-fetch-site": "same-site" })).statusCode).toBe(200);
    const own = await views.app.inject({
      method: "DELETE",
      url: "/api/session",
      headers: { cookie, "sec-fetch-site": "same-origin" },
    });
    expect(own.statusCode).toBe(204);
  });
});

describe("API tokens", () => {
  it("are kept as hashes only", async () => {
    const rows = await db.pool.query<{ row: string }>("SELECT tokens::text AS row FROM tokens");
    for (const { row } of rows.rows) for (const token of Object.values(views.tokens)) expect(row).not.toContain(token);
  });

  it("stop working when they are revoked, with every session opened with them", async () => {
    const made = await createToken(db.pool, { name: "helpdesk", role: "support" });
    if (made.outcome !== "created") throw new Error("not created");
    const cookie = cookieOf(await post(made.token));
    expect((await whoAmI({ cookie })).statusCode).toBe(200);
    expect(await revokeToken(db.pool, made.id)).toBe(2);
    expect((await whoAmI({ cookie })).statusCode).toBe(401);
    expect((await whoAmI({ authorization: `Bearer ${made.token}` })).statusCode).toBe(401);
    expect((await post(made.token)).statusCode).toBe(401);
    expect(await revokeToken(db.pool, made.id)).toBe(0);
  });

  it("stop working when they expire", async () => {
    const made = await createToken(db.pool, { name: "short", role: "support" });
    if (made.outcome !== "created") throw new Error("not created");
    const cookie = cookieOf(await post(made.token));
    await db.pool.query("UPDATE tokens SET expires_at = now() WHERE name = 'short'");
    expect((await whoAmI({ cookie })).statusCode).toBe(401);
    expect((await whoAmI({ authorization: `Bearer ${made.token}` })).json()).toMatchObject({
      error: { code: "token_expired" },
    });
    const again = await post(made.token);
    expect([again.statusCode, again.json()]).toMatchObject([401, { error: { code: "token_expired" } }]);
    expect((await listTokens(db.pool)).find(({ name }) => name === "short")).toMatchObject({
      ended: true,
      kind: "api",
    });
    // Its name is free for the one that takes its place.
    expect(await createToken(db.pool, { name: "short", role: "support" })).toMatchObject({ outcome: "created" });
  });

  it("are valid for the days that were chosen, and their sessions no longer", async () => {
    for (const days of TOKEN_DAYS) {
      const made = await createToken(db.pool, { name: `for ${days} days`, role: "support", days });
      if (made.outcome !== "created") throw new Error("not created");
      const listed = (await listTokens(db.pool)).find(({ id }) => id === made.id);
      expect((listed?.expiresAt?.getTime() ?? 0) - (listed?.createdAt.getTime() ?? 0)).toBe(days * 86_400_000);
    }
    const made = await createToken(db.pool, { name: "nearly over", role: "support", days: TOKEN_DAYS[0] });
    if (made.outcome !== "created") throw new Error("not created");
    await db.pool.query("UPDATE tokens SET expires_at = now() + interval '1 hour' WHERE id = $1", [made.id]);
    await post(made.token);
    const ends = await db.pool.query<{ early: number }>(
      `SELECT extract(epoch FROM api.expires_at - session.expires_at)::float AS early
       FROM tokens api JOIN tokens session USING (name) WHERE api.id = $1 AND session.kind = 'session'`,
      [made.id],
    );
    // A Date has no microseconds.
    expect(ends.rows).toEqual([{ early: expect.closeTo(0.0005, 3) as number }]);
    const lasting = await createToken(db.pool, { name: "lasting", role: "support" });
    expect((await listTokens(db.pool)).find(({ name }) => name === "lasting")?.expiresAt).toBeNull();
    expect(lasting.outcome).toBe("created");
  });

  it("have a name of their own, which is free again once they are revoked", async () => {
    const first = await createToken(db.pool, { name: "twice", role: "support" });
    expect(await createToken(db.pool, { name: "twice", role: "admin" })).toEqual({ outcome: "name_taken" });
    expect(await createToken(db.pool, { name: "login link", role: "admin" })).toEqual({ outcome: "name_taken" });
    if (first.outcome !== "created") throw new Error("not created");
    await revokeToken(db.pool, first.id);
    expect(await createToken(db.pool, { name: "twice", role: "admin" })).toMatchObject({ outcome: "created" });
    expect((await listTokens(db.pool)).find(({ name }) => name === "twice")).toMatchObject({
      role: "admin",
      kind: "api",
      usedAt: null,
    });
  });
});

describe("the first admin", () => {
  it("is made once, and only where there is no admin", async () => {
    await db.pool.query("UPDATE tokens SET revoked_at = now() WHERE role = 'admin'");
    const both = await Promise.all([ensureAdmin(db.pool, undefined), ensureAdmin(db.pool, undefined)]);
    expect(both.filter(({ created }) => created)).toHaveLength(1);
    const token = both.find(({ created }) => created)?.token ?? "";
    expect((await whoAmI({ authorization: `Bearer ${token}` })).json()).toMatchObject({ role: "admin" });
    expect(await ensureAdmin(db.pool, undefined)).toEqual({ created: false });
  });

  it("is the configured token, and the one before it stops working with its sessions", async () => {
    const works = async (token: string) => (await whoAmI({ authorization: `Bearer ${token}` })).statusCode === 200;
    const [one, two] = ["configured-token-number-one", "configured-token-number-two"];
    expect(await ensureAdmin(db.pool, one)).toEqual({ created: true });
    expect(await ensureAdmin(db.pool, one)).toEqual({ created: false });
    expect(await works(one)).toBe(true);
    const cookie = cookieOf(await post(one));
    expect(await ensureAdmin(db.pool, two)).toEqual({ created: true });
    expect([await works(one), await works(two)]).toEqual([false, true]);
    expect((await whoAmI({ cookie })).statusCode).toBe(401);
    await ensureAdmin(db.pool, one);
    expect([await works(one), await works(two)]).toEqual([true, false]);
    await ensureAdmin(db.pool, undefined);
    expect([await works(one), await works(two)]).toEqual([false, false]);
  });
});

describe("old sessions and links", () => {
  it("are deleted a month after their end, at a sign-in", async () => {
    await createLoginLink(db.pool);
    await db.pool.query("UPDATE tokens SET expires_at = now() - interval '31 days' WHERE kind = 'link'");
    await signIn(db.pool, views.tokens.support);
    expect((await db.pool.query("SELECT FROM tokens WHERE kind = 'link'")).rowCount).toBe(0);
  });
});
