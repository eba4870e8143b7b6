import Schema from "typebox/schema";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { testDatabase, type TestDatabase } from "../../test/database.ts";
import {
  seedAlert,
  seedEnrichment,
  seedEvent,
  seedMessage,
  seedQuarantined,
  seedReceipt,
  seedSource,
} from "../../test/seed.ts";
import { viewsApp, type ViewsApp } from "../../test/views-app.ts";
import type { NotReady } from "./contract-live.ts";

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

describe("the page", () => {
  it("is served without a token, and for every path that it may make sense of", async () => {
    for (const url of ["/", "/index.html", "/login", "/messages/abc.recvd-1.0", "/quarantine?state=open"]) {
      const answer = await views.app.inject({ url, headers: { accept: "text/html,*/*" } });
      const { "content-type": type, "cache-control": caching } = answer.headers;
      expect([url, answer.statusCode, type, caching]).toEqual([url, 200, "text/html; charset=utf-8", "no-cache"]);
    }
  });

  it("has files that never change, and says so", async () => {
    const answer = await views.app.inject({ url: "/assets/index-abcd1234.js" });
    expect([answer.statusCode, answer.headers["cache-control"]]).toEqual([200, "public, max-age=31536000, immutable"]);
    expect(answer.headers["content-type"]).toContain("javascript");
  });

  it.each([
    "/assets/missing-abcd1234.js",
    "/favicon.ico",
    "/..%2f..%2fpackage.json",
    "/%2e%2e/package.json",
    "/assets%00",
    "/assets",
  ])("has nothing else at %s", async (url) => {
    const answer = await views.app.inject({ url });
    expect(answer.statusCode).toBe(404);
    expect(answer.json()).toMatchObject({ error: { code: "not_found" } });
  });

  it.each(["/api", "/api/", "/api/nothing", "/api/messages/a/b", "/webhooks/sendgrid"])(
    "never stands at %s, even for a browser",
    async (url) => {
      const answer = await views.app.inject({ url, headers: { accept: "text/html" } });
      expect([answer.statusCode, answer.json()]).toMatchObject([404, { error: { code: "not_found" } }]);
    },
  );

  it("may run its own scripts only, and its answers stand in no cache and no frame", async () => {
    const page = await views.app.inject({ url: "/", headers: { accept: "text/html" } });
    const policy = String(page.headers["content-security-policy"]).split(";");
    expect(policy).toContain("script-src 'self'");
    expect(policy).toContain("style-src 'self' 'unsafe-inline'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy.join()).not.toContain("upgrade-insecure-requests");
    expect(page.headers["strict-transport-security"]).toBeUndefined();
    const api = await views.get("/api/status");
    expect([api.headers["cache-control"], api.headers["x-content-type-options"]]).toEqual(["no-store", "nosniff"]);
  });
});

describe("the machinery's questions", () => {
  it("are answered without a token: it runs, and it is ready", async () => {
    for (const url of ["/healthz", "/readyz"]) {
      const answer = await views.app.inject({ url });
      expect([answer.statusCode, answer.json()]).toEqual([200, { ok: true }]);
    }
  });

  it("say not ready where the database is not migrated or does not answer", async () => {
    const empty = await testDatabase({ migrated: false });
    const fresh = await viewsApp(empty, { tokens: views.tokens });
    const answer = await fresh.app.inject({ url: "/readyz" });
    expect([answer.statusCode, answer.json()]).toMatchObject([503, { error: { code: "not_ready" } }]);
    expect((await fresh.app.inject({ url: "/healthz" })).statusCode).toBe(200);
    await fresh.close();
    await empty.drop();
    const gone = await viewsApp(empty, { tokens: views.tokens });
    expect((await gone.app.inject({ url: "/readyz" })).json()).toMatchObject({ error: { code: "not_ready" } });
    const away = await gone.get("/api/status");
    expect([away.statusCode, away.json()]).toMatchObject([503, { error: { code: "unavailable" } }]);
    await gone.close();
  });

  it("say during an outage what is spooled, and how long SendGrid goes on sending the oldest of it", async () => {
    const away = await testDatabase();
    await away.drop();
    const oldestEventAt = new Date(Date.now() - 3 * 3_600_000);
    const full = await viewsApp(away, {
      tokens: views.tokens,
      spoolState: () => ({ posts: 12, bytes: 3_400, oldestEventAt }),
    });
    const answer = await full.app.inject({ url: "/readyz" });
    expect([answer.statusCode, answer.headers["retry-after"]]).toEqual([503, "5"]);
    const { error, spool } = answer.json<NotReady>();
    expect(spool).toEqual({
      posts: 12,
      bytes: 3_400,
      oldestEventAt: oldestEventAt.toISOString(),
      givesUpAt: new Date(oldestEventAt.getTime() + 24 * 3_600_000).toISOString(),
    });
    expect(error).toMatchObject({ code: "not_ready" });
    expect(error.message).toMatch(/12 POSTs wait in the spool .* for another 2[01] h \d{1,2} min\.$/);
    await full.close();
    const late = new Date(Date.now() - 25 * 3_600_000);
    const lost = await viewsApp(away, {
      tokens: views.tokens,
      spoolState: () => ({ posts: 1, bytes: 1, oldestEventAt: late }),
    });
    const lateAnswer = (await lost.app.inject({ url: "/readyz" })).json<NotReady>();
    expect(lateAnswer.error.message).toContain("1 POST waits in the spool");
    expect(lateAnswer.error.message).toContain("the copy here is the only one");
    await lost.close();
  });

  it("get the metrics with a token, the inbox as it is now", async () => {
    const source = await seedSource(db.pool, "metrics");
    await seedReceipt(db.pool, { id: 77, source, pending: true });
    await db.pool.query("INSERT INTO alerts (kind, source, count, since) VALUES ('silence', 'metrics', 3, now())");
    const answer = await views.get("/metrics");
    expect(answer.body).toContain('\nholdfast_alerts_open{kind="silence"} 1\n');
    expect(answer.statusCode).toBe(200);
    expect(answer.headers["content-type"]).toContain("text/plain");
    expect(answer.body).toContain("\nholdfast_inbox_receipts 1\n");
    for (const name of [
      "receipts_accepted_total",
      "receipts_refused_total",
      "answer_seconds",
      "group_commit_rows",
      "projected_receipts_total",
      "projected_events_total",
      "deadlock_retries_total",
      "inbox_oldest_seconds",
      "enrichment_calls_total",
    ]) {
      expect(answer.body).toContain(`# TYPE holdfast_${name} `);
    }
  });

  it("are all that a process without the role views answers", async () => {
    const intake = await viewsApp(db, { tokens: views.tokens, config: { HOLDFAST_ROLES: new Set(["intake"]) } });
    try {
      expect((await intake.app.inject({ url: "/readyz" })).statusCode).toBe(200);
      expect((await intake.get("/metrics")).statusCode).toBe(200);
      expect((await intake.get("/api/status")).statusCode).toBe(404);
      expect((await intake.app.inject({ url: "/" })).statusCode).toBe(404);
    } finally {
      await intake.close();
    }
  });
});

interface OpenapiDocument {
  paths: Record<
    string,
    Record<string, { responses: Record<string, { content?: Record<string, { schema: object }> }> }>
  >;
}

async function openapi(): Promise<OpenapiDocument> {
  const answer = await views.app.inject({ url: "/openapi.json" });
  expect(answer.statusCode).toBe(200);
  return answer.json<OpenapiDocument>();
}

describe("the description of the interface", () => {
  it("lists every route, and no others", async () => {
    const { paths } = await openapi();
    const described = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    expect(described.sort()).toEqual([
      "DELETE /api/session",
      "DELETE /api/simulation",
      "DELETE /api/tokens/{id}",
      "GET /api/access-log",
      "GET /api/alerts",
      "GET /api/balance",
      "GET /api/completeness",
      "GET /api/completeness.csv",
      "GET /api/completeness.json",
      "GET /api/completeness/certificate.pdf",
      "GET /api/completeness/{day}",
      "GET /api/live",
      "GET /api/messages",
      "GET /api/messages.csv",
      "GET /api/messages/{id}",
      "GET /api/quarantine",
      "GET /api/rates",
      "GET /api/receipts/{id}/body",
      "GET /api/recipients/{address}",
      "GET /api/reconciliations",
      "GET /api/session",
      "GET /api/sign-in",
      "GET /api/simulation",
      "GET /api/sources",
      "GET /api/status",
      "GET /api/system",
      "GET /api/tokens",
      "GET /healthz",
      "GET /metrics",
      "GET /readyz",
      "POST /api/alerts/{id}/acknowledge",
      "POST /api/keys/{id}/end",
      "POST /api/messages/{id}/enrich",
      "POST /api/quarantine/{id}/replay",
      "POST /api/reconciliations",
      "POST /api/session",
      "POST /api/simulation",
      "POST /api/simulation/purge",
      "POST /api/sources",
      "POST /api/sources/{name}/keys",
      "POST /api/tokens",
      "POST /v1/sends",
      "POST /webhooks/sendgrid",
      "POST /webhooks/sendgrid/{source}",
    ]);
    const routes = views.app.printRoutes({ commonPrefix: false });
    for (const name of ["acknowledge", "enrich", "replay"]) expect(routes).toContain(name);
    expect(routes.match(/\((GET|POST|DELETE)/g)?.length).toBeGreaterThanOrEqual(described.length - 2);
  });

  it("is shown by /docs without anything from elsewhere", async () => {
    const answer = await views.app.inject({ url: "/docs" });
    expect(answer.statusCode).toBe(200);
    expect(answer.body).not.toMatch(/(src|href)="https?:/);
    expect(answer.headers["content-security-policy"]).toContain("script-src 'self'");
    expect(answer.body).not.toMatch(/<script(?![^>]* src=)[^>]*>\s*\S/);
  });

  it("is what the routes really answer", async () => {
    const source = await seedSource(db.pool, "default");
    const message = await seedMessage(db.pool, {
      source,
      messageId: "m1",
      recipient: "a@b.example",
      args: { a: "b" },
      categories: ["c"],
    });
    await seedMessage(db.pool, { source, messageId: null });
    await seedReceipt(db.pool, { id: 1, source });
    await seedEvent(db.pool, {
      message,
      source,
      eventId: "e1",
      type: "delivered",
      receipt: 1,
      detail: { response: "250" },
    });
    await seedEnrichment(db.pool, message, {
      state: "enriched",
      api: "messages",
      asked_at: new Date(),
      subject: "S",
      status: "delivered",
      opens: 1,
      clicks: 0,
    });
    const item = await seedQuarantined(db.pool, { receipt: 1, source, ordinal: -1, bytes: Buffer.from("x") });
    const alert = await seedAlert(db.pool, { kind: "inbox_old" });

    const { paths } = await openapi();
    const calls = [
      ["GET", "/api/messages?simulated=all", "/api/messages"],
      ["GET", "/api/messages?limit=0", "/api/messages"],
      ["GET", "/api/messages/m1", "/api/messages/{id}"],
      ["GET", "/api/messages/nameless%3Adefault", "/api/messages/{id}"],
      ["GET", "/api/messages/unknown", "/api/messages/{id}"],
      ["POST", "/api/messages/m1/enrich", "/api/messages/{id}/enrich"],
      ["GET", "/api/balance", "/api/balance"],
      ["GET", "/api/rates?span=24h", "/api/rates"],
      ["GET", "/api/recipients/a%40b.example?simulated=all", "/api/recipients/{address}"],
      ["GET", "/api/recipients/nobody", "/api/recipients/{address}"],
      ["GET", "/api/quarantine", "/api/quarantine"],
      ["POST", `/api/quarantine/${item}/replay`, "/api/quarantine/{id}/replay"],
      ["GET", "/api/alerts?state=all", "/api/alerts"],
      ["POST", `/api/alerts/${alert}/acknowledge`, "/api/alerts/{id}/acknowledge"],
      ["GET", "/api/status", "/api/status"],
      ["GET", "/api/session", "/api/session"],
      ["GET", "/healthz", "/healthz"],
    ] as const;
    for (const [method, url, path] of calls) {
      const answer = await views.as("admin", { method, url });
      const { responses } = paths[path]?.[method.toLowerCase()] ?? { responses: {} };
      const described = responses[String(answer.statusCode)] ?? responses["default"];
      const schema = described?.content?.["application/json"]?.schema;
      expect(schema, `${method} ${url}`).toBeDefined();
      expect(Schema.Errors(closed(schema ?? {}), answer.json()), `${method} ${url} ${answer.body}`).toEqual([true, []]);
    }
  });
});

/** The same schema, but nothing may be there that it does not name. */
function closed<T>(schema: T): T;
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map((each: unknown) => closed(each));
  if (typeof schema !== "object" || schema === null) return schema;
  const copy: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(schema)) copy[key] = closed(value);
  if (copy["type"] === "object" && !("additionalProperties" in copy)) copy["additionalProperties"] = false;
  return copy;
}
