import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { testDatabase, type TestDatabase } from "../../test/database.ts";
import { ledgerWorld, type LedgerWorld } from "../../test/ledger-world.ts";
import { unpackBody, type PackedBody } from "../receipt-body.ts";
import { bytesOfItem } from "./parse.ts";
import { replayQuarantine, type QuarantineSelection, type ReplayedQuarantine } from "./replay-quarantine.ts";

let db: TestDatabase;
let world: LedgerWorld;
let readable: number[];

beforeAll(async () => {
  db = await testDatabase();
  world = await ledgerWorld(db.pool);
});
afterAll(async () => db.drop());

/** As an older parser would have left the ledger: two items are in quarantine that today's parser can read. */
beforeEach(async () => {
  await world.clear();
  await world.fill();
  readable = [];
  for (const id of ["ev5", "ev6"]) {
    const [event] = await world.rows<{ receipt: number; ordinal: number } & PackedBody>(
      "DELETE FROM events USING receipts WHERE event_id = $1 AND receipts.id = receipt RETURNING receipt, ordinal, codec, bytes, body",
      [id],
    );
    if (event === undefined) throw new Error("the event is not there");
    const [row] = await world.rows<{ id: number }>(
      `INSERT INTO quarantine (receipt, received_at, source, ordinal, reason, bytes)
       SELECT id, received_at, source, $2, 'bad_type', $3 FROM receipts WHERE id = $1 RETURNING id`,
      [event.receipt, event.ordinal, bytesOfItem(unpackBody(event), event.ordinal)],
    );
    readable.push(row?.id ?? 0);
  }
  await db.pool.query(
    "UPDATE messages SET clicks = 0, first_click_at = NULL, last_click_at = NULL, opens = 1 WHERE message_id = 'm1'",
  );
  await db.pool.query("UPDATE messages SET opens = 0 WHERE message_id = 'm2'");
  await db.pool.query("UPDATE tallies SET stored = stored - 2, quarantined = quarantined + 2");
});

async function replay(selection: QuarantineSelection, isDryRun = false): Promise<ReplayedQuarantine> {
  return replayQuarantine({ pool: db.pool, selection, settleSeconds: 90, isDryRun });
}

describe("replaying quarantine", () => {
  test("files all that can be read today, names the rest, and the ledger verifies", async () => {
    const unreadable = await world.rows<{ id: number }>(
      "SELECT id FROM quarantine WHERE NOT id = ANY ($1) ORDER BY id",
      [readable],
    );
    expect(await replay({})).toEqual({
      filed: 2,
      stored: 2,
      duplicate: 0,
      unreadable: 3,
      unreadableIds: unreadable.map(({ id }) => id),
      notOpen: [],
    });
    const { outcome, state } = await world.verify();
    expect(state.differences.listed).toEqual([]);
    expect(outcome).toBe("clean");
    expect(state.counts).toMatchObject({ stored: 9, quarantined: 3, readable: 0 });
    expect(await replay({})).toMatchObject({ filed: 0, unreadable: 3 });
  });

  test("takes numbers, a reason or a source", async () => {
    expect(await replay({ ids: [readable[0] ?? 0, 999_999] })).toMatchObject({ filed: 1, notOpen: [999_999] });
    expect(await replay({ ids: readable })).toMatchObject({ filed: 1, notOpen: [readable[0]] });
    expect(await replay({ reason: "no_timestamp" })).toMatchObject({ filed: 0, unreadable: 1 });
    expect(await replay({ source: 999 })).toMatchObject({ filed: 0, unreadable: 0 });
  });

  test("as a dry run says the same and changes nothing", async () => {
    const before = await world.dump();
    expect(await replay({}, true)).toMatchObject({ filed: 2, stored: 2, unreadable: 3 });
    expect(await world.dump()).toEqual(before);
    expect(await replay({})).toMatchObject({ filed: 2, stored: 2, unreadable: 3 });
  });
});
