import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { testDatabase, type TestDatabase } from "../../test/database.ts";
import { ARRIVAL, ledgerWorld, type LedgerWorld } from "../../test/ledger-world.ts";
import { receiptWriter } from "../../test/receipts.ts";
import { unpackBody, type PackedBody } from "../receipt-body.ts";
import { replayReceipts, type ReplayedReceipts, type ReplayReceiptsOptions } from "./replay-receipts.ts";

let db: TestDatabase;
let world: LedgerWorld;
/** The numbers of the receipts. */
let receipts: number[];

beforeAll(async () => {
  db = await testDatabase();
  world = await ledgerWorld(db.pool);
});
afterAll(async () => db.drop());
beforeEach(async () => {
  await world.clear();
  receipts = await world.fill();
});

async function replay(options: Partial<ReplayReceiptsOptions> = {}): Promise<ReplayedReceipts> {
  return replayReceipts({ pool: db.pool, range: { firstId: 1 }, settleSeconds: 90, isDryRun: false, ...options });
}

const NOTHING = { pending: 0, stored: 0, quarantined: 0, readable: 0, messages: 0, twins: 0, tallies: [] };

async function expectClean(): Promise<void> {
  const { outcome, state } = await world.verify();
  expect(state.differences.listed).toEqual([]);
  expect(outcome).toBe("clean");
}

describe("replaying receipts", () => {
  test("of a whole ledger changes nothing, however often, and no tally is doubled", async () => {
    const before = await world.dump();
    expect(await replay()).toEqual({ ...NOTHING, receipts: 5 });
    expect(await replay()).toEqual({ ...NOTHING, receipts: 5 });
    expect(await world.dump()).toEqual(before);
    await expectClean();
  });

  test.each([
    ["an event", "DELETE FROM events WHERE event_id = 'ev3'", { stored: 1, messages: 0 }],
    // Its message still counts the open, which must not be counted once more.
    ["an open", "DELETE FROM events WHERE event_id = 'ev6'", { stored: 1, messages: 1 }],
    // Filed again beside its twin, it would be taken for the twin's twin.
    ["an event with a twin", "DELETE FROM events WHERE event_id = 'ev2'", { stored: 1, messages: 0, twins: 1 }],
    ["a nameless event", "DELETE FROM events WHERE event_id = 'ev4'", { stored: 1, messages: 0 }],
    ["all events", "DELETE FROM events", { stored: 9 }],
    ["quarantined items", "DELETE FROM quarantine", { quarantined: 3 }],
    ["tallies", "DELETE FROM tallies", {}],
  ])("restores %s that somebody deleted, and everything is as it was", async (_what, damage, found) => {
    const before = await world.dump();
    await db.pool.query(damage);
    expect((await world.verify()).outcome).toBe("different");
    expect(await replay()).toMatchObject({ receipts: 5, ...found });
    await expectClean();
    expect(await world.dump()).toEqual(before);
    expect(await replay()).toEqual({ ...NOTHING, receipts: 5 });
  });

  test("builds the ledger anew from the receipts alone", async () => {
    await db.pool.query("TRUNCATE events, messages, quarantine, tallies, enrichments");
    expect(await replay()).toMatchObject({ receipts: 5, stored: 9, quarantined: 3 });
    await expectClean();
    expect(await replay()).toEqual({ ...NOTHING, receipts: 5 });
  });

  test.each([
    ["delivery", "UPDATE messages SET delivery = 'bounced' WHERE message_id = 'm1'", { messages: 1 }],
    ["counts", "UPDATE messages SET opens = 77, clicks = 0 WHERE message_id IS NOT NULL", { messages: 2 }],
    ["custom args", `UPDATE messages SET args = '{"forged": "1"}' WHERE message_id = 'm2'`, { messages: 1 }],
    ["twin flags", "UPDATE events SET twin = NOT twin WHERE event_id IN ('ev2', 'twin', 'ev6')", { twins: 1 }],
    ["tallies", "UPDATE tallies SET stored = 0, receipts = 99", {}],
  ])("sets %s to what the events give", async (_what, damage, found) => {
    await db.pool.query(damage);
    expect((await world.verify()).outcome).toBe("different");
    expect(await replay()).toMatchObject(found);
    await expectClean();
  });

  test("files a receipt that fell out of the inbox without being projected", async () => {
    await world.write([{ event: "open", timestamp: 1764511327, sg_event_id: "lost", sg_message_id: "m1" }]);
    await db.pool.query("DELETE FROM inbox");
    expect((await world.verify()).kinds).toEqual(["event_missing", "tally_wrong"]);
    const { stored, tallies } = await replay();
    expect({ stored, tallies }).toEqual({
      stored: 1,
      tallies: [
        {
          hour: new Date("2026-03-01T09:00:00Z"),
          source: expect.any(Number) as number,
          recorded: { receipts: 5, accepted: 13, stored: 9 },
          counted: { receipts: 6, accepted: 14, stored: 10 },
        },
      ],
    });
    await expectClean();
  });

  test("files what quarantine holds and can be read today", async () => {
    await db.pool.query("DELETE FROM events WHERE event_id = 'ev6'");
    await db.pool.query(
      `INSERT INTO quarantine (receipt, received_at, source, ordinal, reason, bytes)
       SELECT id, received_at, source, 1, 'bad_type', 'x' FROM receipts WHERE id = $1`,
      [receipts[2]],
    );
    await db.pool.query("UPDATE tallies SET stored = stored - 1, quarantined = quarantined + 1");
    expect(await replay()).toMatchObject({ stored: 1, readable: 1 });
    expect(await world.value("SELECT state FROM quarantine WHERE ordinal = 1 AND reason = 'bad_type'")).toBe(
      "replayed",
    );
    // Its bytes were never those of the item.
    expect((await world.verify()).kinds).toEqual(["quarantine_changed"]);
  });

  test("does not touch an event that says something else than its item", async () => {
    await db.pool.query("UPDATE events SET recipient = 'forged@example.com' WHERE event_id = 'ev6'");
    await replay();
    expect(await world.value("SELECT recipient FROM events WHERE event_id = 'ev6'")).toBe("forged@example.com");
    expect((await world.verify()).kinds).toEqual(["event_changed"]);
  });

  test("leaves what is pending to the projector", async () => {
    await world.write([{ event: "open", timestamp: 1764511327, sg_event_id: "later", sg_message_id: "m1" }]);
    expect(await replay()).toEqual({ ...NOTHING, receipts: 6, pending: 1 });
    await world.project();
    await expectClean();
  });

  test("keeps to its range: numbers, times of arrival, a source", async () => {
    const hourLater = { receivedAt: () => new Date(ARRIVAL.getTime() + 3_600_000) };
    await (
      await receiptWriter(db.pool, "default", hourLater)
    )([{ event: "open", timestamp: 1764511327 }]);
    await world.project();
    await db.pool.query("DELETE FROM events");
    expect(await replay({ range: { source: 999 } })).toEqual({ ...NOTHING, receipts: 0 });
    expect(await replay({ range: { firstId: receipts[1], lastId: receipts[1] } })).toMatchObject({
      receipts: 1,
      stored: 3,
    });
    expect(await replay({ range: { from: new Date(ARRIVAL.getTime() + 1_800_000) } })).toMatchObject({
      receipts: 1,
      stored: 1,
    });
    expect(await replay({ range: { to: new Date(ARRIVAL.getTime() + 1_800_000) } })).toMatchObject({
      receipts: 5,
      stored: 6,
    });
    // The duplicate was replayed before what it repeats, and so is the stored one now. The sums are the same.
    expect(await world.value("SELECT receipt FROM events WHERE event_id = 'ev2'")).toBe(receipts[1]);
  });

  test("while projectors file the same events from new receipts counts everything once", async () => {
    await db.pool.query("DELETE FROM events WHERE receipt >= $1", [receipts[1]]);
    const again = await world.rows<PackedBody>("SELECT codec, bytes, body FROM receipts ORDER BY id");
    for (const packed of [...again, ...again]) await world.write(unpackBody(packed));
    await Promise.all([replay(), world.project(), world.project()]);
    await replay();
    await world.project();
    await expectClean();
  });

  test("is refused while another one runs", async () => {
    let second: unknown;
    await replay({
      onStep: () => {
        second ??= replay().catch((error: unknown) => error);
      },
    });
    expect(await second).toMatchObject({ name: "UsageError" });
    expect(await replay()).toMatchObject({ receipts: 5 });
  });
});

describe("a dry run", () => {
  test("says the same as the replay would, and changes nothing", async () => {
    await db.pool.query("DELETE FROM events WHERE event_id IN ('ev2', 'ev3', 'ev6')");
    await db.pool.query("DELETE FROM quarantine WHERE ordinal = 3");
    await db.pool.query("UPDATE messages SET delivery = 'bounced' WHERE message_id = 'm1'");
    await db.pool.query("UPDATE tallies SET accepted = accepted + 1");
    const before = await world.dump();
    const announced = await replay({ isDryRun: true });
    expect(await world.dump()).toEqual(before);
    expect(announced).toMatchObject({ stored: 3, quarantined: 1, twins: 1 });
    expect(await replay()).toEqual(announced);
    await expectClean();
  });

  test("of a whole ledger has nothing to say", async () => {
    expect(await replay({ isDryRun: true })).toEqual({ ...NOTHING, receipts: 5 });
  });
});
