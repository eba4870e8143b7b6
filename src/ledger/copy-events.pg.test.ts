import fc from "fast-check";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { testDatabase, type TestDatabase } from "../../test/database.ts";
import { transaction } from "../postgres/transaction.ts";
import { copyEvents } from "./copy-events.ts";
import type { ParsedEvent } from "./event.ts";
import { batchEvent } from "./plan.ts";
import type { NewEvent } from "./statements.ts";

let db: TestDatabase;

beforeAll(async () => {
  db = await testDatabase();
});
afterAll(async () => db.drop());
beforeEach(async () => {
  await db.pool.query("TRUNCATE events");
});

function event(eventId: string, more: Partial<ParsedEvent> = {}): ParsedEvent {
  return {
    ordinal: 3,
    messageId: "m",
    eventId,
    type: "open",
    occurredAtMs: 1764511327123,
    recipient: "a@example.com",
    detail: {},
    args: {},
    categories: [],
    ...more,
  };
}

function planned(events: readonly ParsedEvent[], message: number): NewEvent[] {
  return events.map((entry) =>
    Object.assign(batchEvent({ event: entry, source: 2, receipt: 5 }), { message, twin: false, isToRecipient: false }),
  );
}

async function store(events: readonly ParsedEvent[], message = 7): Promise<number> {
  return transaction(db.pool, async (tx) => copyEvents(tx, planned(events, message)));
}

describe("events that are stored", () => {
  test("have each column as it was given", async () => {
    const repaired = batchEvent(
      {
        event: event("r", { messageId: null, recipient: null, detail: { attempt: "1", useragent: "x" } }),
        source: 2,
        receipt: null,
        order: { gap: 1, origin: "logs" },
      },
      { own: { attempt: "1", url_offset: { index: 0 } }, mailing: null, channel: 4 },
    );
    await transaction(db.pool, async (tx) =>
      copyEvents(tx, [{ ...repaired, message: 8, twin: true, isToRecipient: false }]),
    );
    expect(await store([event("e")])).toBe(1);
    const { rows } = await db.pool.query("SELECT * FROM events ORDER BY message");
    const at = new Date(1764511327123);
    const common = { occurred_at: at, ordinal: 3, source: 2, type: "open", mailing_part: null };
    expect(rows).toEqual([
      {
        ...common,
        message: 7,
        receipt: 5,
        origin: "webhook",
        twin: false,
        nameless: false,
        channel_part: null,
        event_id: "e",
        recipient: "a@example.com",
        detail: {},
      },
      {
        ...common,
        message: 8,
        receipt: null,
        origin: "logs",
        twin: true,
        nameless: true,
        channel_part: 4,
        event_id: "r",
        recipient: null,
        detail: { attempt: "1", url_offset: { index: 0 } },
      },
    ]);
  });

  test("come back as they were, whatever their texts hold", async () => {
    // All that COPY could take for something else: ends of columns and lines, escapes, its mark for null and for the end.
    const special = fc.constantFrom(
      "\\",
      "\t",
      "\n",
      "\r",
      "\\N",
      "\\.",
      "\b",
      "\v",
      '"',
      "'",
      "\u007f",
      "ä",
      "\u{1f600}",
      "",
    );
    const text = fc
      .array(fc.oneof(special, fc.string({ unit: "binary" })), { maxLength: 6 })
      .map((parts) => parts.join("").toWellFormed().replaceAll("\0", ""));
    await fc.assert(
      fc.asyncProperty(
        text,
        text,
        text,
        fc.dictionary(text, text, { maxKeys: 4 }),
        async (id, type, recipient, detail) => {
          await db.pool.query("TRUNCATE events");
          await store([event("first"), event(`id ${id}`, { type, recipient, detail }), event("last")]);
          const { rows } = await db.pool.query(
            "SELECT event_id, type, recipient, detail FROM events WHERE event_id LIKE 'id %'",
          );
          expect(rows).toEqual([{ event_id: `id ${id}`, type, recipient, detail: { ...detail } }]);
        },
      ),
      { numRuns: 60 },
    );
  });

  test("are stored once: one whose id its message has fails, and nothing of its batch is kept", async () => {
    await store([event("e")]);
    await expect(store([event("new"), event("e", { type: "click" })])).rejects.toThrow(/events_identity/);
    await store([event("e")], 8);
    const { rows } = await db.pool.query("SELECT message, event_id, type FROM events ORDER BY message");
    expect(rows).toEqual([
      { message: 7, event_id: "e", type: "open" },
      { message: 8, event_id: "e", type: "open" },
    ]);
  });

  test("leave the connection fit for the next statement, when they fail too", async () => {
    await transaction(db.pool, async (tx) => {
      await tx.query("SAVEPOINT before");
      await expect(copyEvents(tx, planned([event("e"), event("e")], 7))).rejects.toThrow(/events_identity/);
      await tx.query("ROLLBACK TO before");
      expect((await tx.query("SELECT count(*) AS events FROM events")).rows).toEqual([{ events: 0 }]);
    });
  });
});
