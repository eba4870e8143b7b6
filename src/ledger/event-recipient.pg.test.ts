import fc from "fast-check";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { testDatabase, type TestDatabase } from "../../test/database.ts";
import { receiptWriter, type ReceiptWriter } from "../../test/receipts.ts";
import { eventRecipient } from "../event-recipient.ts";
import { createLog } from "../log.ts";
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
beforeEach(clear);

async function clear(): Promise<void> {
  await db.pool.query("TRUNCATE events, messages, quarantine, tallies, enrichments, inbox, receipts");
}

async function file(...items: object[]): Promise<void> {
  await write(items);
  await drain();
}

async function rows<T extends object>(sql: string): Promise<T[]> {
  return (await db.pool.query<T>(sql)).rows;
}

const item = (id: string, email: string | null, more: object = {}): object => ({
  event: "open",
  timestamp: 1764511327,
  sg_event_id: id,
  sg_message_id: "m",
  email,
  ...more,
});

/** What each event says, by the view and by the helper, and what its row has. */
async function recipients(): Promise<Record<string, [said: string | null, row: string | null]>> {
  const found = await rows<{ id: string; said: string | null; helped: string | null; row: string | null }>(
    `SELECT event_id AS id, w.recipient AS said, ${eventRecipient("e")} AS helped, e.recipient AS row
     FROM events AS e JOIN whole_events AS w USING (message, event_id) ORDER BY event_id COLLATE "C"`,
  );
  for (const { said, helped } of found) expect(helped).toBe(said);
  return Object.fromEntries(found.map(({ id, said, row }) => [id, [said, row]]));
}

describe("an event's recipient", () => {
  test("is not said again where it is its message's", async () => {
    await file(
      item("a", "ann@example.com"),
      item("b", "ann@example.com"),
      item("c", null),
      item("d", "zoe@example.com"),
    );
    await file(item("e", "ann@example.com"), item("f", "Ann@example.com", { sg_message_id: "other" }));
    await file(item("n", "ann@example.com", { sg_message_id: undefined }));
    expect(await recipients()).toEqual({
      a: ["ann@example.com", ""],
      b: ["ann@example.com", ""],
      c: [null, null],
      d: ["zoe@example.com", "zoe@example.com"],
      e: ["ann@example.com", ""],
      f: ["Ann@example.com", ""],
      n: ["ann@example.com", "ann@example.com"],
    });
  });

  test("stays what it was when a later event changes its message's", async () => {
    await file(item("a", "zoe@example.com"), item("b", null));
    await file(item("c", "ann@example.com"), item("d", "zoe@example.com"));
    await file(item("e", "ann@example.com"));
    expect(await recipients()).toEqual({
      a: ["zoe@example.com", "zoe@example.com"],
      b: [null, null],
      c: ["ann@example.com", "ann@example.com"],
      d: ["zoe@example.com", "zoe@example.com"],
      e: ["ann@example.com", ""],
    });
  });

  test.each(["'forged@example.com'", "NULL", "''", "upper(recipient)"])(
    "stays what it was when somebody sets its message's to %s",
    async (recipient) => {
      await file(item("a", "ann@example.com"), item("b", "zoe@example.com"));
      await db.pool.query(`UPDATE messages SET recipient = ${recipient}`);
      expect(await recipients()).toMatchObject({
        a: ["ann@example.com", "ann@example.com"],
        b: ["zoe@example.com", "zoe@example.com"],
      });
    },
  );

  test("makes it a twin of what is held, and of nobody else's", async () => {
    await file(item("a", "ann@example.com"));
    await file(item("b", "ann@example.com"), item("c", "zoe@example.com"));
    expect(await rows("SELECT event_id AS id, twin FROM events ORDER BY 1")).toEqual([
      { id: "a", twin: false },
      { id: "b", twin: true },
      { id: "c", twin: false },
    ]);
  });

  test("comes back as it was, whatever comes in whatever order", async () => {
    const email = fc.constantFrom(
      "ann@example.com",
      "ANN@example.com",
      "zoe@example.com",
      "ä@example.com",
      "\u{10000}",
      "\uffff",
      "",
      null,
    );
    const message = fc.constantFrom("m", "n", undefined);
    const batches = fc.array(fc.array(fc.tuple(email, message), { minLength: 1, maxLength: 4 }), {
      minLength: 1,
      maxLength: 4,
    });
    await fc.assert(
      fc.asyncProperty(batches, async (drawn) => {
        await clear();
        const expected: Record<string, string | null> = {};
        for (const [number, batch] of drawn.entries()) {
          const items = batch.map(([to, id], place) => {
            expected[`${number}.${place}`] = to === "" ? null : to;
            return item(`${number}.${place}`, to, { sg_message_id: id, timestamp: 1764511327 + place });
          });
          await file(...items);
        }
        const said = Object.entries(await recipients()).map(([id, [recipient]]) => [id, recipient]);
        expect(Object.fromEntries(said)).toEqual(expected);
      }),
      { numRuns: 40 },
    );
  });
});
