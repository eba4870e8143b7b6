import { pino } from "pino";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { testDatabase, type TestDatabase } from "../../test/database.ts";
import {
  type IdentityProvider,
  type Person,
  RedirectFollower,
  startIdentityProvider,
} from "../../test/identity-provider.ts";
import { viewsApp, type ViewsApp } from "../../test/views-app.ts";
import { readConfig } from "../config.ts";
import { LOGIN_ATTEMPTS_PER_MINUTE, OIDC_RETRY_MS } from "../limits.ts";
import { createOidcProvider } from "./oidc-provider.ts";
import { createToken } from "./tokens.ts";

/** Signing in through a real OpenID provider, by real HTTP. */

let db: TestDatabase;
let idp: IdentityProvider;
let views: ViewsApp;
let tokens: ViewsApp["tokens"];
let url: string;

const ROLES = "admin=holdfast-admins;compliance=auditors, revision;support=helpdesk";

function settingsOf(provider: IdentityProvider, more: Record<string, string> = {}): ReturnType<typeof readConfig> {
  return readConfig({
    HOLDFAST_OIDC_ISSUER: provider.issuer,
    HOLDFAST_OIDC_CLIENT_ID: provider.clientId,
    HOLDFAST_OIDC_CLIENT_SECRET: provider.clientSecret,
    HOLDFAST_OIDC_ROLES: ROLES,
    ...more,
  });
}

const ada = (more: Record<string, unknown> = {}): Person => ({
  sub: "person-17",
  name: "Ada Lovelace",
  email: "ada@example.com",
  roles: ["everybody", "helpdesk"],
  ...more,
});

beforeAll(async () => {
  db = await testDatabase();
  // The provider must know where people are sent back to, and that place must know the provider: its port is taken first.
  const first = await viewsApp(db);
  url = await first.listen();
  await first.close();
  tokens = first.tokens;
  idp = await startIdentityProvider({ redirectUris: [`${url}/login/oidc/callback`] });
});
afterAll(async () => {
  await idp.stop();
  await db.drop();
});
// Each with a count of sign-ins of its own: all come from one address.
beforeEach(async () => {
  idp.person = ada();
  views = await viewsApp(db, { tokens, config: settingsOf(idp) });
  await views.app.listen({ host: "127.0.0.1", port: Number(new URL(url).port) });
});
afterEach(async () => {
  await views.close();
});

const isCallback = (next: URL): boolean => next.pathname === "/login/oidc/callback";

/** Up to the provider's answer, which is not yet taken. */
async function answerFor(browser: RedirectFollower, next = "/messages?q=4711"): Promise<string> {
  const answer = await browser.follow(`${url}/login/oidc?${new URLSearchParams({ next }).toString()}`, isCallback);
  expect(new URL(answer.url).origin + new URL(answer.url).pathname).toBe(`${url}/login/oidc/callback`);
  return answer.url;
}

/** The whole way. Where it ended, and what the browser holds then. */
async function signIn(next?: string) {
  const browser = new RedirectFollower();
  const response = await browser.get(await answerFor(browser, next));
  return outcomeOf(browser, response);
}

function outcomeOf(browser: RedirectFollower, response: Awaited<ReturnType<RedirectFollower["get"]>>) {
  return {
    browser,
    response,
    status: response.status,
    location: response.headers.get("location"),
    session: browser.cookies(url).get("holdfast_session"),
  };
}

async function whoAmI(session: string | undefined): Promise<unknown> {
  const answer = await views.app.inject({ url: "/api/session", cookies: { holdfast_session: session ?? "" } });
  return answer.json();
}

async function sessions(): Promise<number> {
  const counted = await db.pool.query<{ n: number }>("SELECT count(*) AS n FROM tokens WHERE kind = 'session'");
  return counted.rows[0]?.n ?? 0;
}

describe("signing in through the identity provider", () => {
  it.each([
    [["helpdesk"], "support"],
    [["revision", "nothing"], "compliance"],
    [["helpdesk", "holdfast-admins", "auditors"], "admin"],
    ["auditors", "compliance"],
  ])("turns the claim %j into the role %s", async (roles, role) => {
    idp.person = ada({ roles });
    const { status, location, session } = await signIn();
    expect([status, location]).toEqual([303, "/messages?q=4711"]);
    expect(await whoAmI(session)).toEqual({ name: "sso: Ada Lovelace (ada@example.com)", role });
  });

  it("keeps the session from scripts and other sites, bounds it, and forgets the flow", async () => {
    const { response } = await signIn();
    const lines = response.headers.getSetCookie();
    const session = lines.find((line) => line.startsWith("holdfast_session="));
    expect(session).toMatch(/; Max-Age=43200; Path=\/; HttpOnly; SameSite=Strict$/);
    const flow = lines.find((line) => line.startsWith("holdfast_oidc="));
    expect(flow).toMatch(/^holdfast_oidc=;.*Path=\/login\/oidc;.*1970/);
    const ends = await db.pool.query<{ hours: number }>(
      "SELECT extract(epoch FROM expires_at - created_at)::int / 3600 AS hours FROM tokens WHERE kind = 'session'",
    );
    expect(new Set(ends.rows.map(({ hours }) => hours))).toEqual(new Set([12]));
  });

  it("begins with a short-lived sealed cookie, PKCE, state and nonce", async () => {
    const response = await new RedirectFollower().get(`${url}/login/oidc`);
    const asked = new URL(response.headers.get("location") ?? "");
    expect(Object.fromEntries(asked.searchParams)).toMatchObject({
      response_type: "code",
      code_challenge_method: "S256",
      redirect_uri: `${url}/login/oidc/callback`,
      scope: "openid profile email roles",
    });
    const [cookie = ""] = response.headers.getSetCookie();
    expect(cookie).toMatch(/^holdfast_oidc=[\w-]+; Max-Age=600; Path=\/login\/oidc; HttpOnly; SameSite=Lax$/);
    for (const name of ["state", "nonce", "code_challenge"]) {
      const secret = asked.searchParams.get(name) ?? "";
      expect(secret.length, name).toBeGreaterThanOrEqual(43);
      expect(Buffer.from(cookie.slice(14).split(";")[0] ?? "", "base64url").toString("latin1")).not.toContain(secret);
    }
  });

  it("writes the person's name and number into the access log", async () => {
    idp.person = ada({ sub: "person-18", name: "Grace\nHopper\u0000", email: undefined });
    await signIn();
    const logged = await db.pool.query(
      "SELECT name, role, action FROM access_log WHERE subject = 'person-18' AND action = 'session.begin'",
    );
    expect(logged.rows).toEqual([{ name: "sso: Grace Hopper", role: "support", action: "session.begin" }]);
    expect(await createToken(db.pool, { name: "sso: Grace Hopper", role: "admin" })).toEqual({ outcome: "name_taken" });
  });

  it("opens no session without a mapped role, and says so", async () => {
    const before = await sessions();
    for (const roles of [undefined, [], ["Holdfast-Admins"], [["holdfast-admins"]], { admin: "holdfast-admins" }, 5]) {
      idp.person = ada({ roles });
      const { status, location, session } = await signIn();
      expect([status, location, session], JSON.stringify(roles)).toEqual([
        303,
        "/login?organisation=no_role&next=%2Fmessages%3Fq%3D4711",
        undefined,
      ]);
    }
    expect(await sessions()).toBe(before);
  });

  it.each([
    "https://evil.example/",
    "//evil.example",
    "/\\evil.example",
    "/\t/evil.example",
    "/api/messages.csv",
    "/login",
  ])("leads to the first page when %j is asked for", async (next) => {
    expect((await signIn(next)).location).toBe("/");
  });
});

describe("an answer that is not the one that was waited for", () => {
  it("is refused when its state is wrong or missing", async () => {
    for (const change of ["wrong", undefined]) {
      const browser = new RedirectFollower();
      const answer = new URL(await answerFor(browser));
      if (change === undefined) answer.searchParams.delete("state");
      else answer.searchParams.set("state", change);
      const { location, session } = outcomeOf(browser, await browser.get(answer.href));
      expect([location, session]).toEqual(["/login?organisation=expired", undefined]);
    }
  });

  it("is refused in another browser: nobody is signed in as somebody else", async () => {
    const answer = await answerFor(new RedirectFollower());
    const other = new RedirectFollower();
    const { location, session } = outcomeOf(other, await other.get(answer));
    expect([location, session]).toEqual(["/login?organisation=expired", undefined]);
  });

  it("is taken once, also with the flow's cookie put back", async () => {
    const browser = new RedirectFollower();
    const answer = await answerFor(browser);
    const flow = browser.cookies(url).get("holdfast_oidc") ?? "";
    expect(outcomeOf(browser, await browser.get(answer)).location).toBe("/messages?q=4711");
    browser.cookies(url).delete("holdfast_session");
    browser.cookies(url).set("holdfast_oidc", flow);
    const again = outcomeOf(browser, await browser.get(answer));
    expect([again.location, again.session]).toEqual(["/login?organisation=expired", undefined]);
  });

  it("is refused by the provider when its code was used at another process", async () => {
    const browser = new RedirectFollower();
    const answer = await answerFor(browser);
    const flow = browser.cookies(url).get("holdfast_oidc") ?? "";
    await browser.get(answer);
    const other = await viewsApp(db, { tokens, config: settingsOf(idp) });
    try {
      const { pathname, search } = new URL(answer);
      const again = await other.app.inject({ url: pathname + search, cookies: { holdfast_oidc: flow } });
      expect(again.headers.location).toBe("/login?organisation=failed&next=%2Fmessages%3Fq%3D4711");
      expect(again.cookies.map(({ name }) => name)).toEqual(["holdfast_oidc"]);
    } finally {
      await other.close();
    }
  });

  it("says that the person refused, or that the provider reports an error", async () => {
    idp.person = undefined;
    expect((await signIn()).location).toBe("/login?organisation=refused&next=%2Fmessages%3Fq%3D4711");
    idp.person = ada();
    const browser = new RedirectFollower();
    const answer = new URL(await answerFor(browser));
    answer.searchParams.delete("code");
    answer.searchParams.set("error", "server_error");
    answer.searchParams.set("error_description", "<script>");
    const { location, session } = outcomeOf(browser, await browser.get(answer.href));
    expect([location, session]).toEqual(["/login?organisation=failed&next=%2Fmessages%3Fq%3D4711", undefined]);
  });

  it("is no error of ours, whatever stands in it", async () => {
    for (const query of ["", "?", "?state=%00", "?state=a&state=b", "?code=%E0%A4%A", `?code=${"x".repeat(3000)}`]) {
      const answer = await views.app.inject({
        url: `/login/oidc/callback${query}`,
        cookies: { holdfast_oidc: "x".repeat(2000) },
        remoteAddress: "10.9.9.9",
      });
      expect([answer.statusCode, answer.headers.location], query).toEqual([
        303,
        expect.stringMatching(/^\/login\?organisation=(expired|failed)$/),
      ]);
    }
  });
});

function wordsOf({ issuer, clientId, clientSecret }: IdentityProvider) {
  return { issuer, clientId, clientSecret };
}

describe("the identity provider", () => {
  it("may be away, and comes back: the button says which", async () => {
    let nowMs = 0;
    const provider = await createOidcProvider({ ...wordsOf(idp), roleClaim: "roles" }, () => nowMs);
    await idp.stop();
    try {
      expect(await provider.isThere()).toBe(false);
      expect(await provider.begin("http://localhost/x")).toMatchObject({ outcome: "away" });
      const away = await viewsApp(db, { tokens, config: settingsOf(idp) });
      expect((await away.app.inject("/api/sign-in")).json()).toEqual({ organisation: "away" });
      const begun = await away.app.inject({ url: "/login/oidc?next=/alerts", headers: { host: "localhost" } });
      expect(begun.headers.location).toBe("/login?organisation=away&next=%2Falerts");
      await away.close();
    } finally {
      await idp.start();
    }
    // Left alone for a while, and then asked again.
    expect(await provider.isThere()).toBe(false);
    nowMs += OIDC_RETRY_MS;
    expect(await provider.isThere()).toBe(true);
    expect((await views.app.inject("/api/sign-in")).json()).toEqual({ organisation: "ready" });
  });

  it("may break before the code is exchanged", async () => {
    const browser = new RedirectFollower();
    const answer = await answerFor(browser);
    idp.broken = true;
    try {
      const { location, session } = outcomeOf(browser, await browser.get(answer));
      expect([location, session]).toEqual(["/login?organisation=away&next=%2Fmessages%3Fq%3D4711", undefined]);
    } finally {
      idp.broken = false;
    }
  });

  it("and its codes, tokens and people never stand in the log", async () => {
    const lines: string[] = [];
    const log = pino({ level: "trace" }, { write: (line: string) => void lines.push(line) });
    await views.close();
    views = await viewsApp(db, { tokens, config: settingsOf(idp), log });
    await views.app.listen({ host: "127.0.0.1", port: Number(new URL(url).port) });
    idp.person = ada({ roles: ["nothing"] });
    const browser = new RedirectFollower();
    const answer = await answerFor(browser);
    const flow = browser.cookies(url).get("holdfast_oidc") ?? "";
    await browser.get(answer);
    const again = await answerFor(browser);
    idp.broken = true;
    await browser.get(again);
    idp.broken = false;
    expect(lines).toHaveLength(2);
    const code = new URL(answer).searchParams.get("code") ?? "";
    expect(code).not.toBe("");
    for (const secret of [code, flow, "person-17", "Ada", "ada@example.com", idp.clientSecret]) {
      expect(lines.join("\n")).not.toContain(secret);
    }
  });

  it("may tell the roles only on demand, in a nested claim, to a client that sends its secret in the body", async () => {
    const quiet = await startIdentityProvider({
      redirectUris: ["https://mail.example/login/oidc/callback"],
      claimsOnDemand: true,
      authMethod: "client_secret_post",
    });
    quiet.person = ada({ roles: undefined, realm_access: { roles: ["auditors"] } });
    const config = settingsOf(quiet, {
      HOLDFAST_OIDC_ROLE_CLAIM: "realm_access.roles",
      HOLDFAST_PUBLIC_URL: "https://mail.example/",
    });
    const https = await viewsApp(db, { tokens, config });
    try {
      const begun = await https.app.inject("/login/oidc");
      const [flow] = begun.cookies;
      expect(flow).toMatchObject({ name: "holdfast_oidc", secure: true });
      // Its metadata names no scope of that name, so `roles` is asked for by hand here.
      const asked = new URL(String(begun.headers.location));
      asked.searchParams.set("scope", "openid profile email roles");
      const answer = new URL((await new RedirectFollower().follow(asked.href, isCallback)).url);
      const ended = await https.app.inject({
        url: answer.pathname + answer.search,
        cookies: { holdfast_oidc: flow?.value ?? "" },
      });
      expect([ended.statusCode, ended.headers.location]).toEqual([303, "/"]);
      const session = ended.cookies.find(({ name }) => name === "holdfast_session");
      expect(session).toMatchObject({ httpOnly: true, secure: true, sameSite: "Strict" });
      expect(await whoAmI(session?.value)).toMatchObject({ role: "compliance" });
    } finally {
      await https.close();
      await quiet.stop();
    }
  });
});

describe("without HOLDFAST_PUBLIC_URL", () => {
  it("nobody is sent back to a host that only the request names", async () => {
    const headers = { host: "localhost:9000", "x-forwarded-host": "evil.example" };
    const own = await views.app.inject({ url: "/login/oidc", headers });
    expect(new URL(own.headers.location ?? "").searchParams.get("redirect_uri")).toBe(
      "http://localhost:9000/login/oidc/callback",
    );
    const evil = await views.app.inject({ url: "/login/oidc", headers: { host: "evil.example" } });
    expect(evil.headers.location).toBe("/login?organisation=address");
  });
});

describe("the way to the identity provider", () => {
  it("is limited per address", async () => {
    const ask = async () => views.app.inject({ url: "/login/oidc/callback", remoteAddress: "10.9.9.8" });
    for (let attempt = 0; attempt < LOGIN_ATTEMPTS_PER_MINUTE; attempt += 1) {
      expect((await ask()).headers.location).toBe("/login?organisation=expired");
    }
    expect((await ask()).headers.location).toBe("/login?organisation=many");
  });
});

describe("where it is not configured", () => {
  it("there is no such way", async () => {
    const plain = await viewsApp(db, { tokens });
    expect((await plain.app.inject("/api/sign-in")).json()).toEqual({ organisation: "off" });
    expect((await plain.app.inject("/login/oidc/callback?code=x")).statusCode).toBe(404);
    await plain.close();
  });
});
