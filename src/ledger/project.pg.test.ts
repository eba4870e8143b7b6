import fc from "fast-check";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { arbitraryItems } from "../../test/arbitrary-item.ts";
import { testDatabase, type TestDatabase } from "../../test/database.ts";
import { receiptWriter, type ReceiptWriter } from "../../test/receipts.ts";
import { createLog } from "../log.ts";
import type { Connection } from "../postgres/pool.ts";
import { transaction } from "../postgres/transaction.ts";
import { parseReceipt } from "./parse.ts";
import { batchEvent, groupByMessage } from "./plan.ts";
import { fileGroups } from "./project.ts";
import { createProjector } from "./projector.ts";

let db: TestDatabase;
let write: ReceiptWriter;
let drain: () => Promise<void>;

beforeAll(async () => {
  db = await testDatabase();
  write = await receiptWriter(db.pool);
  const projector = createProjector({ pool: db.pool, log: createLog("silent"), settleSeconds: 90 });
  drain = async () => {
    while (await projector.tick());
  };
});
afterAll(async () => db.drop());
beforeEach(async () => {
  await db.pool.query("TRUNCATE events, messages, quarantine, tallies, enrichments, inbox, receipts, arg_keys");
});

const good = {
  email: "customer@example.com",
  timestamp: 1764511327,
  event: "delivered",
  sg_event_id: "ev1",
  sg_message_id: "m1",
};

async function rows<T extends object>(sql: string): Promise<T[]> {
  return (await db.pool.query<T>(sql)).rows;
}

async function balance(): Promise<Record<string, number>> {
  const [sums] = await rows<Record<string, number>>(
    `SELECT sum(receipts) AS receipts, sum(accepted) AS accepted, sum(stored) AS stored, sum(duplicate) AS duplicate,
       sum(twin) AS twin, sum(quarantined) AS quarantined, sum(accepted - stored - duplicate - quarantined) AS lost FROM tallies`,
  );
  return sums ?? {};
}

describe("projecting a receipt", () => {
  test("files its events, makes their messages, orders their enrichment and empties the inbox", async () => {
    await write([
      { ...good, category: ["invoice"], order_id: "4711" },
      { ...good, sg_event_id: "ev2", event: "open" },
    ]);
    await drain();
    expect(await rows("SELECT event_id, type, nameless, twin, origin FROM events ORDER BY event_id")).toEqual([
      { event_id: "ev1", type: "delivered", nameless: false, twin: false, origin: "webhook" },
      { event_id: "ev2", type: "open", nameless: false, twin: false, origin: "webhook" },
    ]);
    expect(await rows("SELECT message_id, recipient, delivery, opens, categories, args FROM messages")).toEqual([
      {
        message_id: "m1",
        recipient: "customer@example.com",
        delivery: "delivered",
        opens: 1,
        categories: ["invoice"],
        args: { order_id: "4711" },
      },
    ]);
    expect(await rows("SELECT state FROM enrichments")).toEqual([{ state: "pending" }]);
    expect(await rows("SELECT * FROM inbox")).toEqual([]);
    expect(await rows("SELECT key FROM arg_keys")).toEqual([{ key: "order_id" }]);
    expect(await balance()).toMatchObject({ receipts: 1, accepted: 2, stored: 2, duplicate: 0, lost: 0 });
  });

  test("numbers new messages by the time of their first event, since they are listed by their number", async () => {
    const times = { m9: 3, m1: 5, m5: 1, m7: 4, m3: 2 };
    const items: object[] = [];
    for (const [id, seconds] of Object.entries(times)) {
      items.push({ ...good, timestamp: good.timestamp + seconds, sg_event_id: id, sg_message_id: id });
    }
    await write(items);
    await drain();
    const found = await rows<{ id: string }>("SELECT message_id AS id FROM messages ORDER BY messages.id");
    expect(found.map(({ id }) => id)).toEqual(["m5", "m3", "m9", "m7", "m1"]);
  });

  test("files an event once, whether it comes again in the same POST, in another, or in a batch of both (cases 45 and 49)", async () => {
    await write([good, good]);
    await write([good]);
    await drain();
    await write([good, { ...good, sg_event_id: "ev2" }]);
    await drain();
    expect(await balance()).toMatchObject({ receipts: 3, accepted: 5, stored: 2, duplicate: 3, lost: 0 });
    expect(await rows("SELECT event_id FROM events ORDER BY 1")).toEqual([{ event_id: "ev1" }, { event_id: "ev2" }]);
  });

  test("knows what a message holds that was deleted and came again between the look and the lock", async () => {
    await write([good]);
    await drain();
    const filed = await transaction(db.pool, async (tx) => {
      const connection = tx as unknown as { query: (statement: { name?: string }) => Promise<unknown> };
      let isMeddled = false;
      const meddled = async (statement: { name?: string }): Promise<unknown> => {
        const answer = await connection.query(statement);
        if (statement.name !== "find seen" || isMeddled) return answer;
        isMeddled = true;
        await db.pool.query("UPDATE messages SET id = DEFAULT");
        await db.pool.query("UPDATE events SET message = (SELECT id FROM messages)");
        return answer;
      };
      const groups = groupByMessage(
        parseReceipt(Buffer.from(JSON.stringify([good]))).events.map((event) =>
          batchEvent({ event, source: 1, receipt: null }),
        ),
      );
      return fileGroups(Object.create(tx, { query: { value: meddled } }) as Connection, groups, 90);
    });
    expect(filed).toMatchObject({ stored: 0, duplicates: [{ event: { eventId: "ev1" } }] });
  });

  test("dedupes across two sources, as when two webhooks carry the same account", async () => {
    const other = await receiptWriter(db.pool, "other");
    await write([good]);
    await drain();
    await other([good]);
    await drain();
    expect(await balance()).toMatchObject({ stored: 1, duplicate: 1, lost: 0 });
  });

  test("keeps a twin, flags it and counts it once, in one batch or in two (case 46)", async () => {
    const open = { ...good, event: "open", useragent: "x" };
    await write([
      { ...open, sg_event_id: "a" },
      { ...open, sg_event_id: "b" },
    ]);
    await drain();
    await write([{ ...open, sg_event_id: "c" }]);
    await drain();
    expect(await rows("SELECT event_id, twin FROM events ORDER BY 1")).toEqual([
      { event_id: "a", twin: false },
      { event_id: "b", twin: true },
      { event_id: "c", twin: true },
    ]);
    expect(await rows("SELECT opens FROM messages")).toEqual([{ opens: 1 }]);
    expect(await balance()).toMatchObject({ stored: 3, twin: 2, lost: 0 });
  });

  test("keeps events without a message under the source's nameless message, which has no state (cases 43 and 53)", async () => {
    await write([
      { ...good, sg_message_id: undefined, event: "bounce" },
      { event: "account_status_change", sg_event_id: "acc", timestamp: 1709142428, type: "compliance_suspend" },
    ]);
    await drain();
    expect(await rows("SELECT message_id, delivery, recipient FROM messages")).toEqual([
      { message_id: null, delivery: "unknown", recipient: null },
    ]);
    expect(await rows("SELECT event_id, nameless FROM events ORDER BY 1")).toEqual([
      { event_id: "acc", nameless: true },
      { event_id: "ev1", nameless: true },
    ]);
    expect(await rows("SELECT * FROM enrichments")).toEqual([]);
    await write([{ ...good, sg_message_id: "", event: "bounce" }]);
    await drain();
    expect(await balance()).toMatchObject({ stored: 2, duplicate: 1, lost: 0 });
  });

  test("quarantines what cannot be read, with its bytes, and files the rest (promise P4)", async () => {
    await write([good, { event: "open" }]);
    await write(Buffer.from("not json"));
    await drain();
    const items = await rows<{ ordinal: number; reason: string; bytes: Buffer }>(
      "SELECT ordinal, reason, bytes FROM quarantine ORDER BY ordinal",
    );
    expect(items.map(({ ordinal, reason, bytes }) => [ordinal, reason, bytes.toString()])).toEqual([
      [-1, "not_json", "not json"],
      [1, "no_timestamp", '{"event":"open"}'],
    ]);
    expect(await balance()).toMatchObject({ accepted: 3, stored: 1, quarantined: 2, lost: 0 });
  });

  test("files what PostgreSQL's jsonb refuses, and its neighbours (cases 38 and 39)", async () => {
    await write(
      Buffer.from(
        [
          String.raw`[{"event":"bounce","timestamp":1764511327,"sg_event_id":"a\u0000","sg_message_id":"m\u0000","email":"\ud83d@example.com","reason":"\u0000","k\u0000":"\udc00"}`,
          `{"event":"open","timestamp":1764511327,"sg_event_id":"b","sg_message_id":"m","useragent":${JSON.stringify("x".repeat(4_000_000))},"__proto__":{"a":1},"n":1e99999}]`,
        ].join(","),
      ),
    );
    await drain();
    expect(await balance()).toMatchObject({ accepted: 2, stored: 2, lost: 0 });
    expect(await rows("SELECT sanitised FROM tallies")).toEqual([{ sanitised: 1 }]);
  });

  test("takes ids, addresses, categories and custom args of any length", async () => {
    const long = "ü".repeat(100_000);
    await write([
      { ...good, sg_event_id: long, sg_message_id: long, email: long, category: [long], [long]: long, order: long },
    ]);
    await drain();
    expect(await balance()).toMatchObject({ stored: 1, lost: 0 });
  });

  test("keeps categories and custom args as they came, whatever stands in them, of a new message and of a known one", async () => {
    const categories = ["", " ", '"', "{a,b}", "NULL", "\\", '\\"', "a\tb\nc", "日本 😀"];
    const args = Object.fromEntries(categories.map((text, index) => [`key ${index} ${text}`, text]));
    const wanted = categories.filter((text) => text !== "");
    await write([{ ...good, category: categories, ...args }]);
    await write([{ ...good, sg_message_id: "known" }]);
    await drain();
    await write([{ ...good, sg_message_id: "known", sg_event_id: "second", category: categories, ...args }]);
    await drain();
    const kept = await rows<{ categories: string[]; args: unknown }>("SELECT categories, args FROM messages");
    expect(kept).toHaveLength(2);
    for (const message of kept) {
      expect(message.categories.toSorted()).toEqual(wanted.toSorted());
      expect(message.args).toMatchObject(args);
    }
  });

  test("gives the same messages as the merge in memory, for any events in any batches (promise P3)", async () => {
    await fc.assert(
      fc.asyncProperty(arbitraryItems(), fc.boolean(), async (items, backwards) => {
        const states: unknown[] = [];
        for (const batches of [[items], (backwards ? items.toReversed() : items).map((item) => [item])]) {
          await db.pool.query("TRUNCATE events, messages, enrichments");
          for (const batch of batches) {
            await write(batch.map((item) => Object.assign({}, item, { sg_message_id: "m" })));
            await drain();
          }
          const [message] = await rows<{ id?: number }>("SELECT * FROM messages");
          delete message?.id;
          states.push(message);
        }
        expect(states[1]).toEqual(states[0]);
      }),
      { numRuns: 40 },
    );
  });

  test("again, as after a crash that lost only the inbox's change, stores nothing twice (promise P2)", async () => {
    await write([good, { ...good, sg_event_id: "ev2", event: "open" }]);
    await drain();
    await db.pool.query(
      "INSERT INTO inbox (receipt, received_at, bytes) SELECT id, received_at, coalesce(bytes, octet_length(body)) FROM receipts",
    );
    await drain();
    expect(await rows("SELECT opens FROM messages")).toEqual([{ opens: 1 }]);
    expect(await rows("SELECT count(*) AS events FROM events")).toEqual([{ events: 2 }]);
    expect(await balance()).toMatchObject({ lost: 0 });
  });
});
