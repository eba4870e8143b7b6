import { generateKeyPairSync } from "node:crypto";
import type { LightMyRequestResponse } from "fastify";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { testDatabase, type TestDatabase } from "../../test/database.ts";
import { seedSource } from "../../test/seed.ts";
import { viewsApp, type ViewsApp } from "../../test/views-app.ts";
import { publicKeyText } from "../sendgrid/signature.ts";
import { ensureAdmin } from "./admin.ts";
import type { AccessLog, CreatedToken, SourceList, System, TokenList } from "./contract-settings.ts";
import { LOGIN_LINK, OIDC_PREFIX, openSession } from "./tokens.ts";

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

const admin = (method: "GET" | "POST" | "DELETE", url: string, payload?: object): Promise<LightMyRequestResponse> =>
  views.as("admin", { method, url, ...(payload === undefined ? {} : { payload }) });

function expectError(response: LightMyRequestResponse, status: number, code: string): void {
  expect([response.statusCode, response.json<{ error: { code: string } }>().error.code]).toEqual([status, code]);
}

const newKey = (): string => publicKeyText(generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey);

describe("who may see the settings", () => {
  test.each([
    ["GET", "/api/tokens"],
    ["POST", "/api/tokens"],
    ["DELETE", "/api/tokens/999999"],
    ["GET", "/api/access-log"],
    ["GET", "/api/sources"],
    ["POST", "/api/sources"],
    ["POST", "/api/sources/default/keys"],
    ["POST", "/api/keys/1/end"],
    ["GET", "/api/system"],
    ["GET", "/api/simulation"],
    ["POST", "/api/simulation"],
    ["DELETE", "/api/simulation"],
    ["POST", "/api/simulation/purge"],
  ] as const)("%s %s: an admin only", async (method, url) => {
    expectError(await views.app.inject({ method, url }), 401, "token_missing");
    expectError(await views.as("support", { method, url }), 403, "role_too_low");
    expectError(await views.as("compliance", { method, url }), 403, "role_too_low");
    expect((await views.as("admin", { method, url })).statusCode).not.toBe(403);
  });
});

describe("tokens", () => {
  test("one is made, shown once, works, and is in the list without itself", async () => {
    const created = (await admin("POST", "/api/tokens", { name: "Ada", role: "compliance" })).json<CreatedToken>();
    const as = { authorization: `Bearer ${created.token}` };
    expect((await views.app.inject({ url: "/api/session", headers: as })).json()).toEqual({
      name: "Ada",
      role: "compliance",
    });
    const list = await admin("GET", "/api/tokens");
    expect(list.json<TokenList>().tokens.find(({ id }) => id === created.id)).toMatchObject({
      kind: "api",
      name: "Ada",
      role: "compliance",
      own: false,
      fixed: false,
    });
    expect(list.body).not.toContain(created.token);
    expect(
      list
        .json<TokenList>()
        .tokens.filter(({ own }) => own)
        .map(({ name }) => name),
    ).toEqual(["test admin"]);
    const rows = await db.pool.query("SELECT FROM tokens WHERE hash = $1::bytea OR name = $2", [
      created.token,
      created.token,
    ]);
    expect(rows.rowCount).toBe(0);
  });

  test("an ended token takes its sessions with it", async () => {
    const { id, token } = (await admin("POST", "/api/tokens", { name: "Ben", role: "support" })).json<CreatedToken>();
    const signIn = await views.app.inject({ method: "POST", url: "/api/session", payload: { token } });
    const cookie = signIn.cookies.map(({ name, value }) => `${name}=${value}`).join("; ");
    expect((await views.app.inject({ url: "/api/session", headers: { cookie } })).statusCode).toBe(200);
    expect((await admin("DELETE", `/api/tokens/${id}`)).json()).toEqual({ ended: 2 });
    expect((await views.app.inject({ url: "/api/session", headers: { cookie } })).statusCode).toBe(401);
    expectError(await admin("DELETE", `/api/tokens/${id}`), 404, "token_unknown");
  });

  test("a session says what it was opened with, since that may stay valid when the session ends", async () => {
    const { token } = (await admin("POST", "/api/tokens", { name: "Cy", role: "support" })).json<CreatedToken>();
    await views.app.inject({ method: "POST", url: "/api/session", payload: { token } });
    for (const name of [LOGIN_LINK, `${OIDC_PREFIX}Grace Hopper`])
      await openSession(db.pool, { name, role: "support" });
    const { tokens } = (await admin("GET", "/api/tokens")).json<TokenList>();
    const ways = (kind: string): unknown[] =>
      tokens.filter((each) => each.kind === kind).map(({ name, openedWith }) => [name, openedWith]);
    expect(ways("session")).toEqual([
      ["Cy", "token"],
      ["login link", "link"],
      ["sso: Grace Hopper", "provider"],
    ]);
    expect(ways("api")).toContainEqual(["Cy", null]);
  });

  test("the token of the settings is shown as such and is not ended here", async () => {
    await ensureAdmin(db.pool, "a-configured-token-of-this-test");
    const { tokens } = (await admin("GET", "/api/tokens")).json<TokenList>();
    const fixed = tokens.filter((token) => token.fixed);
    expect(fixed.map(({ name }) => name)).toEqual(["HOLDFAST_ADMIN_TOKEN"]);
    expectError(await admin("DELETE", `/api/tokens/${fixed[0]?.id}`), 409, "fixed_by_settings");
  });

  test.each([
    [{ name: "Ada", role: "support" }, 409, "name_taken"],
    [{ name: "HOLDFAST_ADMIN_TOKEN", role: "support" }, 409, "name_taken"],
    [{ name: "login link", role: "admin" }, 409, "name_taken"],
    [{ name: "", role: "support" }, 400, "bad_request"],
    [{ name: " ", role: "support" }, 400, "bad_request"],
    [{ name: " Ada", role: "support" }, 400, "bad_request"],
    [{ name: "a\0b", role: "support" }, 400, "bad_request"],
    [{ name: "a\nb", role: "support" }, 400, "bad_request"],
    [{ name: "x".repeat(101), role: "support" }, 400, "bad_request"],
    [{ name: "Eve", role: "root" }, 400, "bad_request"],
    [{ name: "Eve" }, 400, "bad_request"],
    [{ name: ["Eve", "Bob"], role: "admin" }, 400, "bad_request"],
  ])("%j is refused", async (body, status, code) => {
    expectError(await admin("POST", "/api/tokens", body), status, code);
  });

  test.each(["0", "-1", "1e3", "99999999999999", "4294967297", "x", "1%00", encodeURIComponent("1' OR 1=1")])(
    "the token number %s names none",
    async (id) => {
      const response = await admin("DELETE", `/api/tokens/${id}`);
      expect([400, 404]).toContain(response.statusCode);
    },
  );
});

describe("the access log", () => {
  beforeEach(async () => {
    await db.pool.query("TRUNCATE access_log RESTART IDENTITY");
  });

  async function fill(count: number): Promise<void> {
    await db.pool.query(
      `INSERT INTO access_log (token, name, role, action, subject)
       SELECT 1, CASE WHEN n % 2 = 0 THEN 'Ada' ELSE 'Ben' END, 'support', 'message.view', 'm' || n FROM generate_series(1, $1) AS n`,
      [count],
    );
  }

  test("comes newest first, page by page, none twice and none left out", async () => {
    await fill(25);
    const seen: string[] = [];
    let cursor: string | null = "";
    while (cursor !== null) {
      const page: AccessLog = (
        await admin("GET", `/api/access-log?limit=10${cursor === "" ? "" : `&cursor=${cursor}`}`)
      ).json<AccessLog>();
      seen.push(...page.rows.map(({ subject }) => subject ?? ""));
      cursor = page.nextCursor;
    }
    const viewed = seen.filter((subject) => subject !== "");
    expect(viewed).toEqual(Array.from({ length: 25 }, (_, index) => `m${25 - index}`));
  });

  test("is filtered by person, action and subject, and says that somebody looked", async () => {
    await fill(10);
    const names = (await admin("GET", "/api/access-log?name=Ben")).json<AccessLog>().rows.map(({ name }) => name);
    expect(names).toEqual(["Ben", "Ben", "Ben", "Ben", "Ben"]);
    expect((await admin("GET", "/api/access-log?subject=m3")).json<AccessLog>().rows).toHaveLength(1);
    const looks = (await admin("GET", "/api/access-log?action=access_log.view")).json<AccessLog>().rows;
    expect(looks.every(({ name }) => name === "test admin")).toBe(true);
  });

  test.each([
    "cursor=x",
    "cursor=bTE",
    "limit=0",
    "limit=201",
    "limit=a",
    "who=Ada",
    "name=a&name=b",
    "name=%00",
    `name=${"x".repeat(101)}`,
    "subject=%00",
  ])("%s is refused", async (query) => {
    expect((await admin("GET", `/api/access-log?${query}`)).statusCode).toBe(400);
  });

  test("who makes and ends tokens and keys stands in it", async () => {
    const { id } = (await admin("POST", "/api/tokens", { name: "Cleo", role: "support" })).json<CreatedToken>();
    await admin("DELETE", `/api/tokens/${id}`);
    await admin("POST", "/api/sources", { name: "logged", publicKey: newKey() });
    const { rows } = (await admin("GET", "/api/access-log")).json<AccessLog>();
    const changes = rows
      .filter(({ action }) => action !== "access_log.view")
      .map(({ action, subject }) => [action, subject]);
    expect(changes).toEqual([
      ["source.add", "logged"],
      ["token.end", "Cleo (api)"],
      ["token.create", "Cleo (support)"],
    ]);
  });
});

describe("sources and their keys", () => {
  let fixed = 0;
  let page = 0;

  beforeEach(async () => {
    await db.pool.query("TRUNCATE sources, source_keys, source_key_orders RESTART IDENTITY CASCADE");
    const source = await seedSource(db.pool, "default");
    await seedSource(db.pool, "simulation", true);
    const insert = async (origin: string): Promise<number> => {
      const { rows } = await db.pool.query<{ id: number }>(
        "INSERT INTO source_keys (source, public_key, origin) VALUES ($1, $2, $3) RETURNING id",
        [source, Buffer.from(newKey(), "base64"), origin],
      );
      return rows[0]?.id ?? 0;
    };
    fixed = await insert("environment");
    page = await insert("page");
  });

  const orders = async (): Promise<Record<string, unknown>[]> =>
    (await db.pool.query<Record<string, unknown>>("SELECT * FROM source_key_orders ORDER BY id")).rows;

  test("are listed with fingerprint, origin and validity, newest key first", async () => {
    const { sources, ordersPending } = (await admin("GET", "/api/sources")).json<SourceList>();
    expect(ordersPending).toBe(0);
    expect(sources.map(({ name, path }) => [name, path])).toEqual([
      ["default", "/webhooks/sendgrid"],
      ["simulation", "/webhooks/sendgrid/simulation"],
    ]);
    expect(sources[0]?.keys.map(({ id, origin }) => [id, origin])).toEqual([
      [String(page), "page"],
      [String(fixed), "environment"],
    ]);
    expect(sources[0]?.keys[0]?.fingerprint).toMatch(/^[0-9a-f]{64}$/);
  });

  test("a key, a rotation, an end and a source are written down as orders, and nothing else is touched", async () => {
    const before = (await db.pool.query<object>("SELECT * FROM source_keys ORDER BY id")).rows;
    const until = new Date(Date.now() + 86_400_000).toISOString();
    const [added, rotated] = [newKey(), newKey()];
    for (const response of [
      await admin("POST", "/api/sources/default/keys", { publicKey: added }),
      await admin("POST", "/api/sources/default/keys", {
        publicKey: `-----BEGIN PUBLIC KEY-----\n${rotated}\n-----END PUBLIC KEY-----`,
        othersUntil: until,
      }),
      await admin("POST", `/api/keys/${page}/end`, { validUntil: until }),
      await admin("POST", `/api/keys/${page}/end`, { validUntil: "never" }),
      await admin("POST", "/api/sources", { name: "marketing", publicKey: added }),
    ])
      expect([response.statusCode, response.json()]).toEqual([202, { ordered: true }]);
    expect(await orders()).toMatchObject([
      { source: "default", public_key: Buffer.from(added, "base64"), others_until: null, key: null },
      { source: "default", public_key: Buffer.from(rotated, "base64"), others_until: new Date(until) },
      { source: null, key: page, valid_until: new Date(until) },
      { source: null, key: page, valid_until: null },
      { source: "marketing" },
    ]);
    expect((await db.pool.query<object>("SELECT * FROM source_keys ORDER BY id")).rows).toEqual(before);
    expect((await admin("GET", "/api/sources")).json<SourceList>().ordersPending).toBe(5);
  });

  test("an end in the past is one now", async () => {
    await admin("POST", `/api/keys/${page}/end`, { validUntil: "2020-01-01" });
    const [order] = await orders();
    expect(Number(order?.["valid_until"])).toBeGreaterThan(Date.now() - 60_000);
  });

  test("what the settings or the simulator own cannot be changed here", async () => {
    expectError(await admin("POST", `/api/keys/${fixed}/end`, { validUntil: "never" }), 409, "fixed_by_settings");
    expectError(await admin("POST", "/api/sources/simulation/keys", { publicKey: newKey() }), 409, "fixed_by_settings");
    const { sources } = (await admin("GET", "/api/sources")).json<SourceList>();
    const [own, environment] = sources[0]?.keys ?? [];
    expectError(await admin("POST", "/api/sources/default/keys", { publicKey: own?.publicKey }), 409, "key_taken");
    expectError(
      await admin("POST", "/api/sources/default/keys", { publicKey: environment?.publicKey }),
      409,
      "key_taken",
    );
    expect(await orders()).toEqual([]);
  });

  test("hostile and mistaken values are refused, and leave no order", async () => {
    const otherCurve = publicKeyText(generateKeyPairSync("ec", { namedCurve: "P-384" }).publicKey);
    const privateKey = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({
      format: "pem",
      type: "pkcs8",
    });
    for (const publicKey of [
      "",
      "x",
      "<script>",
      "a\0",
      otherCurve,
      privateKey,
      `${newKey()},${newKey()}`,
      "A".repeat(2_001),
      7,
      null,
    ])
      expectError(await admin("POST", "/api/sources/default/keys", { publicKey }), 400, "bad_request");
    for (const othersUntil of ["", "soon", "2020-01-01", "2099-02-30", "\0"])
      expectError(
        await admin("POST", "/api/sources/default/keys", { publicKey: newKey(), othersUntil }),
        400,
        "bad_request",
      );
    for (const name of ["", "Default", "a b", "../x", "a\0", "x".repeat(64), "-a"])
      expectError(await admin("POST", "/api/sources", { name, publicKey: newKey() }), 400, "bad_request");
    expectError(await admin("POST", "/api/sources", { name: "default", publicKey: newKey() }), 409, "source_taken");
    expectError(await admin("POST", "/api/sources/unknown/keys", { publicKey: newKey() }), 404, "source_unknown");
    for (const id of ["0", "x", "99999", "999999999999"])
      expectError(await admin("POST", `/api/keys/${id}/end`, { validUntil: "never" }), 404, "key_unknown");
    for (const validUntil of ["", "later", "2026-13-01", null])
      expectError(await admin("POST", `/api/keys/${page}/end`, { validUntil }), 400, "bad_request");
    expectError(await admin("POST", `/api/keys/${page}/end`), 400, "bad_request");
    expect(await orders()).toEqual([]);
  });
});

describe("the system", () => {
  test("tells versions, what is durable, and every limit", async () => {
    const system = (await admin("GET", "/api/system")).json<System>();
    expect(system.versions).toMatchObject({ holdfast: "0.0.0-test", node: process.version });
    expect(system.versions.postgres).toMatch(/^\d+/);
    const { rows } = await db.pool.query<{ fsync: string }>("SHOW fsync");
    expect(system.durability.find(({ name }) => name === "fsync")).toEqual({
      name: "fsync",
      value: rows[0]?.fsync,
      verdict: rows[0]?.fsync === "off" ? "unsafe" : "good",
    });
    const limits = new Map(system.limits.map(({ name, values }) => [name, values]));
    expect(limits.get("BODY_BYTES_MAX")).toEqual([5 * 1024 * 1024]);
    expect(limits.get("DEADLOCK_RETRY_MS")).toEqual([500, 1000, 1500, 2000, 2500]);
    expect(limits.size).toBeGreaterThan(100);
  });
});
