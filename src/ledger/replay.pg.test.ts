import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { testDatabase, type TestDatabase } from "../../test/database.ts";
import { receiptWriter, type ReceiptWriter } from "../../test/receipts.ts";
import { createLog } from "../log.ts";
import { createProjector } from "./projector.ts";
import { createReplayer, type Replayer } from "./replay.ts";

const log = createLog("silent");
const good = {
  email: "a@example.com",
  timestamp: 1764511327,
  event: "delivered",
  sg_event_id: "ev1",
  sg_message_id: "m1",
};

let db: TestDatabase;
let write: ReceiptWriter;
let replayer: Replayer;

beforeAll(async () => {
  db = await testDatabase();
  write = await receiptWriter(db.pool);
  replayer = createReplayer({ pool: db.pool, log, settleSeconds: 90 });
});
afterAll(async () => db.drop());
beforeEach(async () => {
  await db.pool.query("TRUNCATE events, messages, quarantine, tallies, enrichments, inbox, receipts, replay_orders");
});

async function quarantined(body: Buffer | unknown[]): Promise<void> {
  await write(body);
  const projector = createProjector({ pool: db.pool, log, settleSeconds: 90 });
  while (await projector.tick());
}

async function replayAll(): Promise<void> {
  await db.pool.query("INSERT INTO replay_orders (quarantine) SELECT id FROM quarantine ON CONFLICT DO NOTHING");
  while (await replayer.tick());
}

async function rows(sql: string): Promise<unknown[]> {
  return (await db.pool.query<object>(sql)).rows;
}

const BALANCE = "SELECT accepted, stored, duplicate, quarantined FROM tallies";

describe("replaying a quarantined item", () => {
  test("that still cannot be read leaves it open, and does not order it again", async () => {
    await quarantined([good, { event: "open" }]);
    await replayAll();
    expect(await rows("SELECT state FROM quarantine")).toEqual([{ state: "open" }]);
    expect(await rows("SELECT * FROM replay_orders")).toEqual([]);
    expect(await rows(BALANCE)).toEqual([{ accepted: 2, stored: 1, duplicate: 0, quarantined: 1 }]);
  });

  // What an update of the parser would do, the tests do the other way round: the bytes are made readable.
  test("that can now be read files it once, and the balance stays exact", async () => {
    await quarantined([good, { event: "open" }]);
    await db.pool.query("UPDATE quarantine SET bytes = $1", [
      Buffer.from(JSON.stringify({ ...good, event: "open", sg_event_id: "ev2" })),
    ]);
    await replayAll();
    await replayAll();
    expect(await rows("SELECT event_id, ordinal FROM events ORDER BY 1")).toEqual([
      { event_id: "ev1", ordinal: 0 },
      { event_id: "ev2", ordinal: 1 },
    ]);
    expect(await rows("SELECT opens FROM messages")).toEqual([{ opens: 1 }]);
    expect(await rows("SELECT state, replayed_at IS NOT NULL AS replayed FROM quarantine")).toEqual([
      { state: "replayed", replayed: true },
    ]);
    expect(await rows(BALANCE)).toEqual([{ accepted: 2, stored: 2, duplicate: 0, quarantined: 0 }]);
  });

  test("of a whole body counts the items it turned out to hold, broken ones and duplicates included", async () => {
    await quarantined([good]);
    await quarantined(Buffer.from("not json"));
    await db.pool.query("UPDATE quarantine SET bytes = $1", [
      Buffer.from(JSON.stringify([good, { ...good, sg_event_id: "ev2" }, { event: "open" }])),
    ]);
    await replayAll();
    expect(await rows("SELECT ordinal, reason, state FROM quarantine ORDER BY ordinal")).toEqual([
      { ordinal: -1, reason: "not_json", state: "replayed" },
      { ordinal: 2, reason: "no_timestamp", state: "open" },
    ]);
    expect(await rows(BALANCE)).toEqual([{ accepted: 4, stored: 2, duplicate: 1, quarantined: 1 }]);
  });
});
