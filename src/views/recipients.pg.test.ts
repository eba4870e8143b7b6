import fc from "fast-check";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { testDatabase, type TestDatabase } from "../../test/database.ts";
import { seedEvent, seedMessage, seedSource, seedTally } from "../../test/seed.ts";
import { viewsApp, type ViewsApp } from "../../test/views-app.ts";
import { CLIENT_ERRORS } from "../errors.ts";
import type { Recipient } from "./contract-recipient.ts";
import type { ErrorBody } from "./contract.ts";

let db: TestDatabase;
let views: ViewsApp;
let source = 0;
let simulation = 0;

beforeAll(async () => {
  db = await testDatabase();
  views = await viewsApp(db);
  source = await seedSource(db.pool, "default");
  simulation = await seedSource(db.pool, "simulation", true);
  await seedTally(db.pool, { hour: new Date("2026-03-01T09:00:00Z"), source, receipts: 1 });
});
afterAll(async () => {
  await views.close();
  await db.drop();
});
beforeEach(async () => {
  await db.pool.query("TRUNCATE messages, events");
});

const at = (minute: number): Date => new Date(Date.UTC(2026, 2, 1, 9, minute));

async function recipient(address: string, query = ""): Promise<Recipient> {
  const answer = await views.get(`/api/recipients/${encodeURIComponent(address)}${query}`);
  expect(answer.statusCode, answer.body).toBe(200);
  return answer.json<Recipient>();
}

let messages = 0;

/** A mail with one event that says how it ended. */
async function mail(minute: number, type: string, more: { detail?: object; source?: number } = {}): Promise<string> {
  messages += 1;
  const of = more.source ?? source;
  const columns: Record<string, unknown> = {
    delivered: { delivered_at: at(minute) },
    bounce: { failed_at: at(minute) },
    dropped: { failed_at: at(minute) },
    spamreport: { first_complaint_at: at(minute) },
  };
  const message = await seedMessage(db.pool, {
    source: of,
    messageId: `message-${messages}`,
    recipient: "Person@example.com",
    delivery: { bounce: "bounced", dropped: "dropped" }[type] ?? "delivered",
    firstEventAt: at(minute),
    columns: columns[type] as Record<string, unknown>,
  });
  await seedEvent(db.pool, {
    message,
    source: of,
    eventId: `event-${messages}`,
    type,
    occurredAt: at(minute),
    recipient: "Person@example.com",
    detail: (more.detail ?? {}) as Record<string, unknown>,
  });
  return `message-${messages}`;
}

describe("GET /api/recipients/:address", () => {
  it("sums up the mails of an address, however it is written", async () => {
    await mail(1, "delivered");
    await mail(2, "delivered");
    await mail(3, "dropped", { detail: { reason: "Spam Content" } });
    const found = await recipient("PERSON@example.com");
    expect(found).toMatchObject({
      messages: 3,
      hasMore: false,
      byDelivery: { delivered: 2, dropped: 1, bounced: 0 },
      lastDeliveredAt: at(2).toISOString(),
      lastOpenAt: null,
      suppressions: [],
    });
  });

  it("says why nothing more is sent, with the words of the server and the mail it was about", async () => {
    const bounced = await mail(1, "bounce", {
      detail: { type: "bounce", reason: "550 5.1.1 unknown", status: "5.1.1", url: "left out" },
    });
    await mail(2, "dropped", { detail: { reason: "Bounced Address" } });
    expect((await recipient("person@example.com")).suppressions).toEqual([
      {
        kind: "bounced",
        since: at(1).toISOString(),
        source: "default",
        message: bounced,
        event: { type: "bounce", detail: { type: "bounce", reason: "550 5.1.1 unknown", status: "5.1.1" } },
        endedAt: null,
      },
    ]);
  });

  it("takes a later mail that arrived for the end of it, but not one that was under way already", async () => {
    await mail(1, "spamreport");
    await mail(0, "delivered");
    expect((await recipient("person@example.com")).suppressions).toMatchObject([{ kind: "complaint", endedAt: null }]);
    await mail(9, "delivered");
    expect((await recipient("person@example.com")).suppressions).toMatchObject([
      { kind: "complaint", endedAt: at(9).toISOString() },
    ]);
  });

  it("knows of bounces that named no message", async () => {
    const nameless = await seedMessage(db.pool, { source, messageId: null });
    await seedEvent(db.pool, {
      message: nameless,
      source,
      eventId: "late",
      type: "bounce",
      recipient: "person@example.com",
      nameless: true,
    });
    expect((await recipient("person@example.com")).suppressions).toMatchObject([
      { kind: "bounced", message: "nameless:default" },
    ]);
  });

  it("never mixes simulated mails with real ones", async () => {
    await mail(1, "delivered");
    await mail(2, "bounce", { source: simulation });
    expect(await recipient("person@example.com")).toMatchObject({ messages: 1, suppressions: [] });
    expect(await recipient("person@example.com", "?simulated=true")).toMatchObject({
      messages: 1,
      suppressions: [{ kind: "bounced" }],
    });
    expect((await recipient("person@example.com", "?simulated=all")).messages).toBe(2);
  });

  it("says who looked, and when nobody of that address is known", async () => {
    const answer = await views.get("/api/recipients/nobody%40example.com");
    expect([answer.statusCode, answer.json<ErrorBody>().error.code]).toEqual([404, "recipient_unknown"]);
    const { rows } = await db.pool.query(
      "SELECT subject FROM access_log WHERE action = 'recipient.view' ORDER BY id DESC",
    );
    expect(rows[0]).toEqual({ subject: "nobody@example.com" });
  });

  it("answers any address and any query with one of the table's codes", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.string({ unit: "binary", minLength: 1, maxLength: 400 }),
        fc.webQueryParameters(),
        async (address, query) => {
          const path = encodeURIComponent(address.toWellFormed());
          const answer = await views.get(`/api/recipients/${path}?${query}`);
          if (answer.statusCode === 200) return;
          const { code } = answer.json<ErrorBody>().error;
          expect(CLIENT_ERRORS[code][0]).toBe(answer.statusCode);
          expect(answer.statusCode).toBeLessThan(500);
        },
      ),
      { numRuns: 60 },
    );
    const long = await views.get(`/api/recipients/${"a".repeat(321)}`);
    expect(long.statusCode).toBe(400);
  });
});
