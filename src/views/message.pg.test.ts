import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { testDatabase, type TestDatabase } from "../../test/database.ts";
import { seedEnrichment, seedEvent, seedMessage, seedReceipt, seedSource, type SeedMessage } from "../../test/seed.ts";
import { viewsApp, type ViewsApp } from "../../test/views-app.ts";
import type { MessageDetail } from "./contract.ts";

let db: TestDatabase;
let views: ViewsApp;
let source = 0;
let simulation = 0;

beforeAll(async () => {
  db = await testDatabase();
  views = await viewsApp(db, { config: { SENDGRID_API_KEY: "SG.test" } });
  source = await seedSource(db.pool, "default");
  simulation = await seedSource(db.pool, "simulation", true);
});
afterAll(async () => {
  await views.close();
  await db.drop();
});
beforeEach(async () => {
  await db.pool.query(
    "TRUNCATE messages, events, receipts, inbox, enrichments, enrichment_orders, arg_keys, tallies, access_log",
  );
  await db.pool.query("INSERT INTO tallies (hour, source, receipts) VALUES ('2026-03-01T09:00:00Z', $1, 1)", [source]);
});

async function seed(messageId: string, message: Partial<SeedMessage> = {}): Promise<number> {
  return seedMessage(db.pool, { source, messageId, ...message });
}

async function detail(id: string): Promise<MessageDetail> {
  const answer = await views.get(`/api/messages/${encodeURIComponent(id)}`);
  expect(answer.statusCode, answer.body).toBe(200);
  return answer.json<MessageDetail>();
}

describe("one message", () => {
  it("is found by an id with any characters", async () => {
    for (const id of ["a/b?c#d%25 e", "ünïcode 日本", "a..b/../c", "nameless:default"]) {
      await seed(id);
      expect((await detail(id)).message.id).toBe(id);
    }
  });

  it("shows its timeline by time, and within a second in the order in which mail moves", async () => {
    const message = await seed("m1");
    const at = new Date("2026-03-01T09:00:00Z");
    for (const type of ["click", "delivered", "open", "processed"]) {
      await seedEvent(db.pool, { message, source, eventId: type, type, occurredAt: at });
    }
    await seedEvent(db.pool, {
      message,
      source,
      eventId: "late",
      type: "deferred",
      occurredAt: new Date("2026-03-01T08:59:59Z"),
    });
    expect((await detail("m1")).events.map(({ type }) => type)).toEqual([
      "deferred",
      "processed",
      "delivered",
      "open",
      "click",
    ]);
  });

  it("names the receipts behind its events", async () => {
    const message = await seed("m1");
    await seedReceipt(db.pool, { id: 1001, source, body: Buffer.from("[1]") });
    await seedReceipt(db.pool, { id: 1002, source, body: Buffer.from("[12]"), signed: false });
    await seedEvent(db.pool, { message, source, eventId: "a", type: "processed", receipt: 1001 });
    await seedEvent(db.pool, { message, source, eventId: "b", type: "delivered", receipt: 1002 });
    await seedEvent(db.pool, { message, source, eventId: "c", type: "open", receipt: 1002, ordinal: 1 });
    const { receipts, events } = await detail("m1");
    expect(receipts).toMatchObject([
      { id: "1001", bytes: 3, signed: true },
      { id: "1002", bytes: 4, signed: false },
    ]);
    expect(receipts[0]?.sha256).toMatch(/^[0-9a-f]{64}$/);
    expect(events.map(({ receipt }) => receipt)).toEqual(["1001", "1002", "1002"]);
  });

  it("keeps every key of an event's detail, whatever its name and type", async () => {
    const message = await seed("m1");
    const keys = JSON.parse(
      '{"__proto__": {"a": [1, null]}, "line\\nbreak": "x", "reason": "552 \\u2028 full"}',
    ) as Record<string, unknown>;
    await seedEvent(db.pool, { message, source, eventId: "a", type: "bounce", detail: keys });
    const answer = await views.get("/api/messages/m1");
    expect(answer.body).toContain('"__proto__":{"a":[1,null]}');
    expect(answer.json<MessageDetail>().events[0]?.detail).toMatchObject({
      "line\nbreak": "x",
      reason: "552 \u2028 full",
    });
  });

  it("leaves a huge detail out and says so", async () => {
    const message = await seed("m1");
    await seedEvent(db.pool, { message, source, eventId: "a", type: "bounce", detail: { reason: "x".repeat(70_000) } });
    expect((await detail("m1")).events[0]).toMatchObject({ detail: {}, detailLeftOut: true });
  });

  it("leaves out opens and clicks first when there are too many events", async () => {
    const message = await seed("m1");
    await seedEvent(db.pool, { message, source, eventId: "processed", type: "processed" });
    await db.pool.query(
      `INSERT INTO events (message, occurred_at, ordinal, origin, source, twin, nameless, event_id, type, detail)
       SELECT $1, timestamptz '2026-03-02' + make_interval(secs => n), n, 'webhook', $2, false, false, 'open' || n, 'open', '{}'
       FROM generate_series(1, 1200) n`,
      [message, source],
    );
    const { events, eventsLeftOut } = await detail("m1");
    expect(events).toHaveLength(1000);
    expect(events[0]?.type).toBe("processed");
    expect(events.at(-1)?.eventId).toBe("open1200");
    expect(eventsLeftOut).toBe(201);
  });

  it("shows what enrichment found, and none where there is nothing to ask", async () => {
    const message = await seed("m1");
    await seedEnrichment(db.pool, message, {
      state: "enriched",
      subject: "Hello",
      sender: "shop@example.com",
      api: "logs",
      status: "delivered",
      opens: 2,
    });
    await seedMessage(db.pool, { source, messageId: null });
    expect(await detail("m1")).toMatchObject({
      sender: "shop@example.com",
      enrichment: { state: "enriched", api: "logs", status: "delivered", opens: 2 },
    });
    expect((await detail("nameless:default")).enrichment.state).toBe("none");
  });

  it("is unknown when no event has named it", async () => {
    const answer = await views.get("/api/messages/never-seen");
    expect(answer.statusCode).toBe(404);
    expect(answer.json()).toMatchObject({ error: { code: "message_unknown" } });
    expect((await views.get(`/api/messages/${"x".repeat(1000)}`)).statusCode).toBe(404);
    expect((await views.get("/api/messages/nameless%3Anobody")).statusCode).toBe(404);
  });
});

describe("events that name no message", () => {
  async function seedNameless(occurredAt: string, recipient = "a@b.example", eventSource = source): Promise<void> {
    const found = await db.pool.query<{ id: number }>(
      "SELECT id FROM messages WHERE message_id IS NULL AND source = $1",
      [eventSource],
    );
    const message = found.rows[0]?.id ?? (await seedMessage(db.pool, { source: eventSource, messageId: null }));
    await seedEvent(db.pool, {
      message,
      source: eventSource,
      eventId: `n${occurredAt}`,
      type: "bounce",
      recipient,
      nameless: true,
      occurredAt: new Date(occurredAt),
    });
  }

  it("are shown as probable with the last message to that address before them", async () => {
    await seed("monday", { recipient: "A@b.example", firstEventAt: new Date("2026-03-02T09:00:00Z") });
    await seed("tuesday", { recipient: "a@b.example", firstEventAt: new Date("2026-03-03T09:00:00Z") });
    await seedNameless("2026-03-02T10:00:00Z");
    await seedNameless("2026-03-03T10:00:00Z");
    expect((await detail("monday")).events).toMatchObject([{ eventId: "n2026-03-02T10:00:00Z", probable: true }]);
    expect((await detail("tuesday")).events).toMatchObject([{ eventId: "n2026-03-03T10:00:00Z", probable: true }]);
  });

  it("are not linked to an earlier time, a week later, another address, or another source", async () => {
    await seed("m1", { recipient: "a@b.example", firstEventAt: new Date("2026-03-02T09:00:00Z") });
    await seedNameless("2026-03-02T08:59:59Z");
    await seedNameless("2026-03-09T09:00:00Z");
    await seedNameless("2026-03-02T10:00:00Z", "other@b.example");
    await seedNameless("2026-03-02T10:00:00Z", "a@b.example", simulation);
    expect((await detail("m1")).events).toEqual([]);
  });

  it("are not marked as probable where they are kept", async () => {
    await seedNameless("2026-03-02T10:00:00Z");
    expect((await detail("nameless:default")).events).toMatchObject([{ probable: false }]);
  });
});

describe("asking SendGrid about a message", () => {
  async function orders(): Promise<number> {
    return (await db.pool.query("SELECT FROM enrichment_orders")).rowCount ?? 0;
  }

  it("is ordered by opening a message that waits, once", async () => {
    await seedEnrichment(db.pool, await seed("m1"), { state: "pending" });
    await detail("m1");
    await detail("m1");
    expect(await orders()).toBe(1);
  });

  it("is ordered by opening a message that failed some time ago, but not again and again", async () => {
    await seedEnrichment(db.pool, await seed("old"), { state: "failed", asked_at: new Date(Date.now() - 3_600_000) });
    await seedEnrichment(db.pool, await seed("fresh"), { state: "failed", asked_at: new Date() });
    await seedEnrichment(db.pool, await seed("done"), { state: "enriched", asked_at: new Date() });
    await detail("fresh");
    await detail("done");
    expect(await orders()).toBe(0);
    await detail("old");
    expect(await orders()).toBe(1);
  });

  it("is ordered by a person for any message that has an id", async () => {
    await seedEnrichment(db.pool, await seed("done"), { state: "enriched", asked_at: new Date() });
    await seedMessage(db.pool, { source, messageId: null });
    const answer = await views.as("support", { method: "POST", url: "/api/messages/done/enrich" });
    expect([answer.statusCode, answer.json()]).toEqual([202, { ordered: true, enrichment: "on" }]);
    expect(await orders()).toBe(1);
    const nothing = await views.as("support", { method: "POST", url: "/api/messages/nameless%3Adefault/enrich" });
    expect(nothing.json()).toEqual({ ordered: false, enrichment: "on" });
    expect((await views.as("support", { method: "POST", url: "/api/messages/nobody/enrich" })).statusCode).toBe(404);
  });

  it("is not ordered where enrichment is not on", async () => {
    const off = await viewsApp(db, { tokens: views.tokens, config: { SENDGRID_API_KEY: undefined } });
    try {
      await seedEnrichment(db.pool, await seed("m1"), { state: "pending" });
      await off.get("/api/messages/m1");
      const answer = await off.as("support", { method: "POST", url: "/api/messages/m1/enrich" });
      expect(answer.json()).toEqual({ ordered: false, enrichment: "no_api_key" });
      expect(await orders()).toBe(0);
    } finally {
      await off.close();
    }
  });
});

describe("the access log", () => {
  it("says who searched for what and who looked at which message, once a minute", async () => {
    await seed("m1", { recipient: "a@b.example" });
    const fresh = await viewsApp(db, { tokens: views.tokens });
    try {
      await fresh.get("/api/messages?q=a%40b.example&arg.order=7&limit=1");
      await fresh.get("/api/messages?q=a%40b.example&arg.order=7&limit=1");
      await fresh.get("/api/messages/m1");
    } finally {
      await fresh.close();
    }
    const log = await db.pool.query("SELECT name, role, action, subject FROM access_log ORDER BY id");
    expect(log.rows).toEqual([
      {
        name: "test support",
        role: "support",
        action: "messages.search",
        subject: '{"q":"a@b.example","arg.order":"7"}',
      },
      { name: "test support", role: "support", action: "message.view", subject: "m1" },
    ]);
  });
});
