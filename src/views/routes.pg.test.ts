import fc from "fast-check";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { testDatabase, type TestDatabase } from "../../test/database.ts";
import { seedAlert, seedMessage, seedQuarantined, seedReceipt, seedSource, seedTally } from "../../test/seed.ts";
import { viewsApp, type ViewsApp } from "../../test/views-app.ts";
import { CLIENT_ERRORS } from "../errors.ts";
import type { AlertList, ErrorBody, QuarantineList, Status } from "./contract.ts";

let db: TestDatabase;
let views: ViewsApp;
let source = 0;
let simulation = 0;

beforeAll(async () => {
  db = await testDatabase();
  views = await viewsApp(db);
  source = await seedSource(db.pool, "default");
  simulation = await seedSource(db.pool, "simulation", true);
});
afterAll(async () => {
  await views.close();
  await db.drop();
});
beforeEach(async () => {
  await db.pool.query(
    "TRUNCATE messages, events, receipts, inbox, enrichments, tallies, quarantine, replay_orders, alerts, alert_acknowledgements, provider_apis",
  );
});

async function json<T>(url: string): Promise<T> {
  const answer = await views.get(url);
  expect(answer.statusCode, answer.body).toBe(200);
  return answer.json<T>();
}

const hour = (text: string): Date => new Date(`2026-03-01T${text}:00:00Z`);

describe("GET /api/balance", () => {
  it("adds up the tallies, counts what waits, and computes what is lost", async () => {
    await seedTally(db.pool, {
      hour: hour("09"),
      source,
      receipts: 3,
      accepted: 30,
      stored: 20,
      duplicate: 6,
      twin: 2,
      quarantined: 3,
      retries: 4,
      rescued: 3,
      exhausted: 1,
    });
    await seedTally(db.pool, { hour: hour("10"), source, receipts: 1, accepted: 5, stored: 5 });
    await seedReceipt(db.pool, { id: 1, source, pending: true });
    expect(await json("/api/balance")).toEqual({
      receipts: { accepted: 5, pending: 1 },
      events: { accepted: 35, stored: 25, duplicate: 6, twin: 2, quarantined: 3, lost: 1 },
      retries: { attempted: 4, rescued: 3, exhausted: 1 },
    });
  });

  it("takes from back to its hour and to forward, for what waits too", async () => {
    for (const name of ["08", "09", "10"])
      await seedTally(db.pool, { hour: hour(name), source, receipts: 1, accepted: Number(name) });
    await seedReceipt(db.pool, { id: 1, source, pending: true, receivedAt: new Date("2026-03-01T09:59:59Z") });
    await seedReceipt(db.pool, { id: 2, source, pending: true, receivedAt: new Date("2026-03-01T10:00:00Z") });
    expect(await json("/api/balance?from=2026-03-01T09:30:00Z&to=2026-03-01T09:45:00Z")).toMatchObject({
      receipts: { accepted: 2, pending: 1 },
      events: { accepted: 9 },
    });
  });

  it("never counts simulated traffic among real traffic", async () => {
    await seedTally(db.pool, { hour: hour("09"), source, receipts: 1, accepted: 1, stored: 1 });
    await seedTally(db.pool, { hour: hour("09"), source: simulation, receipts: 1, accepted: 10, stored: 10 });
    await seedReceipt(db.pool, { id: 1, source: simulation, pending: true });
    const accepted = async (query: string) => {
      const { receipts, events } = await json<{ receipts: { pending: number }; events: { accepted: number } }>(
        `/api/balance${query}`,
      );
      return [events.accepted, receipts.pending];
    };
    expect(await accepted("")).toEqual([1, 0]);
    expect(await accepted("?simulated=true")).toEqual([10, 1]);
    expect(await accepted("?simulated=all")).toEqual([11, 1]);
    expect(await accepted("?source=default")).toEqual([1, 0]);
  });

  it("is all zeros at first", async () => {
    expect(await json("/api/balance")).toMatchObject({ receipts: { accepted: 0 }, events: { lost: 0 } });
  });
});

describe("GET /api/quarantine", () => {
  it("lists what is open, with an excerpt whatever the bytes are, page by page", async () => {
    await seedQuarantined(db.pool, { receipt: 1, source, ordinal: -1, bytes: Buffer.from("not json é") });
    await seedQuarantined(db.pool, { receipt: 2, source, ordinal: 3, bytes: Buffer.from([0xff, 0x00, 0x41]) });
    await seedQuarantined(db.pool, {
      receipt: 3,
      source: simulation,
      ordinal: 0,
      bytes: Buffer.from("é".repeat(5000)),
    });
    await seedQuarantined(db.pool, { receipt: 4, source, ordinal: 0, bytes: Buffer.alloc(0), state: "replayed" });
    const first = await json<QuarantineList>("/api/quarantine?limit=2");
    expect(first.items).toMatchObject([
      { receipt: "3", source: "simulation", bytes: 10_000, excerpt: "é".repeat(2000) },
      { receipt: "2", ordinal: 3, excerpt: "\ufffd\0A", bytes: 3 },
    ]);
    const second = await json<QuarantineList>(`/api/quarantine?limit=2&cursor=${String(first.nextCursor)}`);
    expect(second).toMatchObject({
      items: [{ receipt: "1", ordinal: -1, reason: "not_json", excerpt: "not json é" }],
      nextCursor: null,
    });
    expect((await json<QuarantineList>("/api/quarantine?state=all")).items).toHaveLength(4);
    expect((await json<QuarantineList>("/api/quarantine?simulated=false")).items).toHaveLength(2);
  });

  it("is replayed by order of an admin only, once", async () => {
    const id = await seedQuarantined(db.pool, { receipt: 1, source, ordinal: -1, bytes: Buffer.from("x") });
    const url = `/api/quarantine/${id}/replay`;
    for (const role of ["support", "compliance"] as const) {
      const refused = await views.as(role, { method: "POST", url });
      expect([refused.statusCode, refused.json()]).toMatchObject([403, { error: { code: "role_too_low" } }]);
    }
    const ordered = await views.as("admin", { method: "POST", url });
    expect([ordered.statusCode, ordered.json()]).toEqual([202, { ordered: true }]);
    expect((await views.as("admin", { method: "POST", url })).json()).toEqual({ ordered: false });
    expect((await db.pool.query("SELECT quarantine FROM replay_orders")).rows).toEqual([{ quarantine: id }]);
  });

  it("cannot be replayed twice, nor where there is nothing", async () => {
    const id = await seedQuarantined(db.pool, {
      receipt: 1,
      source,
      ordinal: -1,
      bytes: Buffer.from("x"),
      state: "replayed",
    });
    expect((await views.as("admin", { method: "POST", url: `/api/quarantine/${id}/replay` })).json()).toEqual({
      ordered: false,
    });
    for (const wrong of ["999999", "0", "-1", "x", "1e3", "99999999999999999999"]) {
      const answer = await views.as("admin", { method: "POST", url: `/api/quarantine/${wrong}/replay` });
      expect([answer.statusCode, answer.json()]).toMatchObject([404, { error: { code: "quarantine_unknown" } }]);
    }
  });
});

describe("GET /api/alerts", () => {
  it("lists open alerts, and the person who has seen one", async () => {
    const id = await seedAlert(db.pool, { kind: "inbox_old", source: "default", count: 7 });
    await seedAlert(db.pool, { kind: "balance_broken", resolved_at: new Date("2026-03-01T10:00:00Z") });
    const url = `/api/alerts/${id}/acknowledge`;
    expect((await json<AlertList>("/api/alerts")).alerts).toEqual([
      {
        id: String(id),
        kind: "inbox_old",
        source: "default",
        count: 7,
        since: "2026-03-01T09:00:00.000Z",
        resolvedAt: null,
        acknowledgedBy: null,
      },
    ]);
    const answer = await views.as("support", { method: "POST", url });
    expect([answer.statusCode, answer.json()]).toEqual([202, { ordered: true }]);
    expect((await views.as("admin", { method: "POST", url })).json()).toEqual({ ordered: false });
    expect((await json<AlertList>("/api/alerts?state=all")).alerts).toMatchObject([
      { kind: "inbox_old", acknowledgedBy: "test support" },
      { kind: "balance_broken", resolvedAt: "2026-03-01T10:00:00.000Z" },
    ]);
    expect((await json<AlertList>("/api/alerts?state=resolved")).alerts).toHaveLength(1);
  });

  it("knows no alert that is resolved or never was", async () => {
    const id = await seedAlert(db.pool, { kind: "inbox_old", resolved_at: new Date() });
    for (const wrong of [id, "x", 0]) {
      const answer = await views.as("support", { method: "POST", url: `/api/alerts/${wrong}/acknowledge` });
      expect([answer.statusCode, answer.json()]).toMatchObject([404, { error: { code: "alert_unknown" } }]);
    }
  });
});

describe("GET /api/status", () => {
  it("says what waits, and when each source was last heard of", async () => {
    await db.pool.query(
      "INSERT INTO source_keys (source, public_key, valid_until) VALUES ($1, 'a', NULL), ($1, 'b', now()) ON CONFLICT DO NOTHING",
      [source],
    );
    await seedTally(db.pool, { hour: hour("08"), source: simulation, receipts: 1 });
    await seedReceipt(db.pool, { id: 1, source, pending: true });
    await seedQuarantined(db.pool, { receipt: 1, source, ordinal: -1, bytes: Buffer.from("x") });
    await seedAlert(db.pool, { kind: "inbox_old" });
    const status = await json<Status>("/api/status");
    expect(status).toMatchObject({
      version: "0.0.0-test",
      instance: "test",
      inbox: { receipts: 1 },
      quarantineOpen: 1,
      alertsOpen: 1,
      simulatedByDefault: false,
      enrichment: { state: "no_api_key", reason: null, callsPerMinute: 6, callsLeft: 6 },
    });
    expect(status.inbox.oldestSeconds).toBeGreaterThan(0);
    expect(status.postgres).toMatch(/^\d+\.\d+/);
    expect(status.sources).toEqual([
      {
        name: "default",
        simulated: false,
        keys: 1,
        path: "/webhooks/sendgrid",
        lastReceiptAt: "2026-03-01T09:00:05.000Z",
      },
      {
        name: "simulation",
        simulated: true,
        keys: 0,
        path: "/webhooks/sendgrid/simulation",
        lastReceiptAt: "2026-03-01T08:00:00.000Z",
      },
    ]);
  });

  it("says that the demo is shown as long as nothing real has arrived", async () => {
    expect((await json<Status>("/api/status")).simulatedByDefault).toBe(true);
    await seedTally(db.pool, { hour: hour("08"), source, receipts: 1 });
    expect((await json<Status>("/api/status")).simulatedByDefault).toBe(false);
  });
});

const ROUTES = [
  ["GET", "/api/messages"],
  ["GET", "/api/messages/m1"],
  ["POST", "/api/messages/m1/enrich"],
  ["GET", "/api/balance"],
  ["GET", "/api/live"],
  ["GET", "/api/quarantine"],
  ["POST", "/api/quarantine/1/replay"],
  ["GET", "/api/alerts"],
  ["POST", "/api/alerts/1/acknowledge"],
  ["GET", "/api/status"],
  ["GET", "/api/session"],
  ["DELETE", "/api/session"],
  ["GET", "/metrics"],
] as const;

describe("every route that shows or orders something", () => {
  it.each(ROUTES)("%s %s needs a token", async (method, url) => {
    const answer = await views.app.inject({ method, url });
    expect([answer.statusCode, answer.json()]).toMatchObject([401, { error: { code: "token_missing" } }]);
  });
});

describe("a wrong parameter", () => {
  it.each([
    ["/api/messages?limit=0", "limit must be >= 1"],
    ["/api/messages?limit=-1", "limit must be >= 1"],
    ["/api/messages?limit=201", "limit must be <= 200"],
    ["/api/messages?limit=NaN", "limit must be integer"],
    ["/api/messages?limit=", "limit must be integer"],
    ["/api/messages?limit=1.5", "limit must be integer"],
    ["/api/messages?limit=5&limit=6", "limit must be integer"],
    ["/api/messages?q=a&q=b", "q must be string"],
    [`/api/messages?q=${"x".repeat(501)}`, "q must NOT have more than 500 characters"],
    ["/api/messages?q=a%00b", "q must not hold a NUL character"],
    ["/api/messages?arg.a%00=b", "arg.a\\u0000 must not hold a NUL character"],
    ["/api/messages/a%00b", "id must not hold a NUL character"],
    ["/api/messages?stat=bounced", "stat is not a parameter of this address"],
    ["/api/messages?__proto__=x", "__proto__ is not a parameter of this address"],
    ["/api/messages/m1?x=1", "x is not a parameter of this address"],
    ["/api/messages?state=lost", "state must be one or more of unknown, processed, deferred"],
    ["/api/messages?state=bounced,", "state must be one or more of"],
    ["/api/messages?simulated=yes", "simulated must be one of false, true, all"],
    ["/api/messages?from=yesterday", "from must be a time like"],
    ["/api/messages?from=2026-02-30", "from must be a time like"],
    ["/api/messages?from=2026-03-01T25:00:00Z", "from must be a time like"],
    ["/api/messages?from=2026-03-01T09:00:00", "from must be a time like"],
    ["/api/balance?to=0000-01-01", "to must be a time like"],
    ["/api/balance?source=nobody", "source names no source"],
    ["/api/messages?arg.=x", "arg. must name a custom arg"],
    ["/api/messages?arg.a=x&arg.a=y", "arg.a must be given once"],
    [
      `/api/messages?${Array.from({ length: 11 }, (_each, index) => `arg.a${index}=x`).join("&")}`,
      "at most 10 arg. parameters",
    ],
    ["/api/quarantine?state=closed", "state must be one of open, replayed, all"],
    ["/api/live?from=now", "from must be a time like"],
    ["/api/live?source=nobody", "source names no source"],
  ])("%s is refused by its name", async (url, message) => {
    const answer = await views.get(url);
    const { error } = answer.json<ErrorBody>();
    expect([answer.statusCode, error.code]).toEqual([400, "bad_request"]);
    expect(error.message).toContain(message);
  });

  it.each(["x", "bTA", "bS0x", "cTE", "bTE=", "bTE%0A", "bTk5OTk5OTk5OTk5OTk5OTk5"])(
    "cursor=%s is refused",
    async (cursor) => {
      const answer = await views.get(`/api/messages?cursor=${cursor}`);
      expect([answer.statusCode, answer.json()]).toMatchObject([400, { error: { code: "cursor_invalid" } }]);
    },
  );

  it("never makes more of a search than a 200 or a 4xx from the table", async () => {
    await seedMessage(db.pool, { source, messageId: "m1", args: { a: "b" } });
    const names = fc.constantFrom(
      "q",
      "recipient",
      "state",
      "category",
      "from",
      "to",
      "source",
      "simulated",
      "cursor",
      "limit",
      "arg.a",
      "x",
    );
    const texts = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.string(),
      fc.constantFrom(
        "\0",
        "'; --",
        "%",
        "\\",
        "[]",
        "{}",
        "NaN",
        "-1",
        "1e400",
        "a:b",
        ":",
        "@",
        "💥",
        "9".repeat(30),
        "&",
        "|",
        "!",
        "<->",
        "((",
      ),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(names, texts), { maxLength: 5 }), async (parameters) => {
        const url = `/api/messages?${parameters.map(([name, text]) => `${name}=${encodeURIComponent(text.toWellFormed())}`).join("&")}`;
        const answer = await views.get(url);
        expect([200, 400], `${url} ${answer.body}`).toContain(answer.statusCode);
        const code = answer.statusCode === 400 ? answer.json<ErrorBody>().error.code : "bad_request";
        expect(Object.keys(CLIENT_ERRORS)).toContain(code);
      }),
      { numRuns: 100 },
    );
  });

  it.each(["1e400", "-1e400", "1e22", "9".repeat(30), "1.5", "0x10", "NaN", "Infinity", "-1", "0", ""])(
    "limit=%s is a 400 or taken as the number it is",
    async (limit) => {
      const answer = await views.get(`/api/messages?limit=${limit}`);
      expect([200, 400], answer.body).toContain(answer.statusCode);
    },
  );

  it("never makes more of a path than a 200 or a 4xx from the table", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(
          ["messages", ""],
          ["messages", "/enrich"],
          ["quarantine", "/replay"],
          ["alerts", "/acknowledge"],
        ),
        fc.string({ unit: "binary", minLength: 1, maxLength: 300 }),
        async ([list, action], text) => {
          const url = `/api/${list}/${encodeURIComponent(text.toWellFormed())}${action}`;
          const answer = await views.as("admin", { method: action === "" ? "GET" : "POST", url });
          expect([400, 404], `${url} ${answer.body}`).toContain(answer.statusCode);
          expect(Object.keys(CLIENT_ERRORS)).toContain(answer.json<{ error: { code: string } }>().error.code);
        },
      ),
      { numRuns: 100 },
    );
  });
});
