import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { testDatabase, type TestDatabase } from "../../test/database.ts";
import { ARRIVAL, ledgerWorld, type LedgerWorld } from "../../test/ledger-world.ts";
import { receiptWriter } from "../../test/receipts.ts";
import { readReceiptPage } from "../ledger/receipt-page.ts";
import { replayReceipts } from "../ledger/replay-receipts.ts";
import { AUDIT_PAGE_BYTES_MAX, AUDIT_PAGE_RECEIPTS_MAX } from "../limits.ts";
import { unpackBody, type PackedBody } from "../receipt-body.ts";
import { simulatePosts } from "../simulator/posts.ts";

let db: TestDatabase;
let world: LedgerWorld;

beforeAll(async () => {
  db = await testDatabase();
  world = await ledgerWorld(db.pool);
});
afterAll(async () => db.drop());
beforeEach(async () => world.clear());

const HOUR_MS = 3_600_000;
const MIB = 1024 * 1024;

function item(id: string, more: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    event: "open",
    timestamp: 1764511327,
    sg_event_id: id,
    sg_message_id: `m-${id}`,
    email: "a@example.com",
    ...more,
  };
}

/** Three receipts, each too large to share a page. */
async function fillThreePages(): Promise<number[]> {
  const receipts: number[] = [];
  for (const id of ["p1", "p2", "p3"]) {
    receipts.push(await world.write([item(id, { useragent: "x".repeat(AUDIT_PAGE_BYTES_MAX * 0.6) })]));
  }
  await world.project();
  return receipts;
}

describe("a ledger that nobody touched", () => {
  test("is clean, whatever it holds", async () => {
    await world.fill();
    const { outcome, state } = await world.verify();
    expect(state.differences.listed).toEqual([]);
    expect(outcome).toBe("clean");
    expect(state.counts).toEqual({
      receipts: 5,
      pending: 0,
      unsigned: 0,
      stored: 9,
      duplicate: 1,
      quarantined: 3,
      readable: 0,
      messages: 3,
      tallies: 1,
    });
  });

  test("is clean after simulated traffic with duplicates, twins, missing ids and poison", async () => {
    const traffic = { seed: "verify", startSeconds: 1764511200, periodSeconds: 7_200, events: 1_500 };
    const kinds = { twins: true, missingIds: true, poison: true };
    const posts = simulatePosts({ ...traffic, ...kinds }, { batch: 40, duplicates: 0.3, shuffle: true });
    for (const { body } of posts) await world.write(body);
    await world.project();
    const { state } = await world.verify();
    expect(state.differences.listed).toEqual([]);
    expect(state.counts.stored).toBeGreaterThan(1_500);
    expect(state.counts.duplicate).toBeGreaterThan(100);
    expect(state.counts.quarantined).toBeGreaterThan(5);
  });

  test("is clean when one event came over two sources", async () => {
    const other = await receiptWriter(db.pool, "default2", { receivedAt: () => new Date(ARRIVAL.getTime() + HOUR_MS) });
    await world.fill();
    await other([item("ev1", { sg_message_id: "m1" }), item("new")]);
    await world.project();
    const { kinds, state } = await world.verify();
    // The other source signs nothing, and only the source default may be without.
    expect(kinds).toEqual(["unsigned"]);
    expect(state.counts).toMatchObject({ unsigned: 1, duplicate: 2, tallies: 2 });
  });

  test("that is empty is clean", async () => {
    expect(await world.verify()).toMatchObject({ outcome: "clean", state: { counts: { receipts: 0 } } });
  });

  test("may have receipts in the inbox: they are pending, and nothing is missing", async () => {
    await world.fill();
    await world.write([item("later")]);
    const { outcome, state } = await world.verify();
    expect(outcome).toBe("clean");
    expect(state.counts).toMatchObject({ receipts: 6, pending: 1 });
  });

  test("stays clean when receipts arrive and are projected while it is verified", async () => {
    await fillThreePages();
    let late = 0;
    const { outcome, state } = await world.verify({
      onStep: () => {
        late += 1;
      },
      // Called between two pages.
      now: () => late * 10_000,
      onState: async () => {
        await world.write([item(`late${late}`), item("p1")]);
        await world.project();
      },
    });
    expect(await world.value("SELECT sum(receipts) FROM tallies")).toBeGreaterThan(5);
    expect(state.counts.receipts).toBe(3);
    expect(state.differences.listed).toEqual([]);
    expect(outcome).toBe("clean");
  });

  test("in which quarantine holds what can be read today says so, and is clean", async () => {
    const [first] = await world.fill();
    // As an older parser would have left it: the item is in quarantine, and nowhere else.
    await db.pool.query("DELETE FROM events WHERE event_id = 'twin'");
    await db.pool.query(
      `INSERT INTO quarantine (receipt, received_at, source, ordinal, reason, bytes)
       SELECT id, received_at, source, 2, 'bad_type', $2 FROM receipts WHERE id = $1`,
      [first, await bytesOf(first, 2)],
    );
    await db.pool.query("UPDATE tallies SET stored = stored - 1, twin = twin - 1, quarantined = quarantined + 1");
    const { outcome, state } = await world.verify();
    expect(state.differences.listed).toEqual([]);
    expect(outcome).toBe("clean");
    expect(state.counts).toMatchObject({ quarantined: 4, readable: 1 });
  });
});

/** The bytes of an item, from the body's own text. */
async function bytesOf(receipt: number | undefined, ordinal: number): Promise<Buffer> {
  const [row] = await world.rows<PackedBody>("SELECT codec, bytes, body FROM receipts WHERE id = $1", [receipt]);
  const items = JSON.parse(row === undefined ? "[]" : unpackBody(row).toString()) as unknown[];
  return Buffer.from(JSON.stringify(items[ordinal]));
}

describe("a message whose events lie in several pages", () => {
  beforeEach(async () => {
    for (const id of ["p1", "p2", "p3"]) {
      const padding = "x".repeat(AUDIT_PAGE_BYTES_MAX * 0.6);
      await world.write([item(id, { sg_message_id: "m", useragent: padding, category: id, [`key_${id}`]: id })]);
    }
    await world.project();
  });

  test("is clean, and counted once", async () => {
    const { outcome, state } = await world.verify();
    expect(state.differences.listed).toEqual([]);
    expect(outcome).toBe("clean");
    expect(state.counts.messages).toBe(1);
  });

  test.each([
    ["lacks what only the last says", `args = args - 'key_p3'`, ["args"]],
    ["lacks what only the first says", `args = args - 'key_p1'`, ["args"]],
    ["says what none says", `args = args || '{"forged": "1"}'`, ["args"]],
    ["lacks a category", "categories = '{p1,p2}'", ["categories"]],
    ["counts one too many", "opens = 4", ["opens"]],
  ])("is found when it %s", async (_what, change, fields) => {
    await db.pool.query(`UPDATE messages SET ${change}`);
    const { state } = await world.verify();
    const [message] = await world.rows<{ id: number }>("SELECT id FROM messages");
    expect(state.differences.total).toBeGreaterThan(0);
    // With the first of its receipts, and again with the one that says more than the message knows.
    for (const difference of state.differences.listed) {
      expect(difference).toEqual({ kind: "message_changed", message: message?.id, fields });
    }
    await replayReceipts({ pool: db.pool, range: { firstId: 1 }, settleSeconds: 90, isDryRun: false });
    expect((await world.verify()).outcome).toBe("clean");
  });
});

describe("a part of the ledger", () => {
  test("is verified by hours of arrival and by source, with its tallies", async () => {
    const at = (hours: number) => ({ receivedAt: () => new Date(ARRIVAL.getTime() + hours * HOUR_MS) });
    const later = await receiptWriter(db.pool, "default", at(5));
    await world.fill();
    await later([item("later"), item("later2")]);
    await world.project();
    await db.pool.query("DELETE FROM events WHERE event_id = 'later'");
    const before = await world.verify({ range: { to: new Date("2026-03-01T14:00:00Z") } });
    expect(before).toMatchObject({ outcome: "clean", state: { counts: { receipts: 5, tallies: 1 } } });
    const after = await world.verify({ range: { from: new Date("2026-03-01T14:00:00Z") } });
    expect(after.kinds).toEqual(["event_missing", "tally_wrong"]);
    const [source] = await world.rows<{ id: number }>("SELECT id FROM sources WHERE name = 'default'");
    expect((await world.verify({ range: { source: source?.id } })).state.counts.receipts).toBe(6);
    expect(await world.verify({ range: { source: 99 } })).toMatchObject({
      outcome: "clean",
      state: { counts: { receipts: 0 } },
    });
  });

  test("shows events of a receipt that is missing between two of it", async () => {
    const [, second] = await world.fill();
    await db.pool.query("DELETE FROM receipts WHERE id = $1", [second]);
    const { state } = await world.verify({ range: { from: new Date("2026-03-01T09:00:00Z") } });
    expect(state.differences.listed).toContainEqual(
      expect.objectContaining({ kind: "receipt_missing", receipt: second, ordinal: 1 }),
    );
  });
});

describe("an interrupted verification", () => {
  test("goes on where it stopped, and comes to the same end", async () => {
    const receipts = await fillThreePages();
    await db.pool.query("DELETE FROM events WHERE event_id = 'p1'");
    const whole = await world.verify();
    const abort = new AbortController();
    let kept: unknown;
    const first = await world.verify({
      signal: abort.signal,
      onStep: () => abort.abort(),
      onState: async (state) => {
        kept = structuredClone(state);
      },
    });
    expect(first).toMatchObject({
      outcome: "interrupted",
      state: { counts: { receipts: 1 }, afterReceipt: receipts[0] },
    });
    const second = await world.verify({ state: kept as typeof first.state });
    expect(second.state.counts).toEqual(whole.state.counts);
    expect(second.state.differences).toEqual(whole.state.differences);
  });

  test("in the midst of the tallies finds none of them twice", async () => {
    await world.fill();
    await db.pool.query("UPDATE tallies SET stored = 0");
    const abort = new AbortController();
    const first = await world.verify({
      signal: abort.signal,
      onStep: ({ phase }) => {
        if (phase === "messages") abort.abort();
      },
    });
    expect(first.outcome).toBe("interrupted");
    const second = await world.verify({ state: first.state });
    expect(second.state.differences.total).toBe(1);
  });
});

describe("memory is bounded by the page", () => {
  test("of bytes, where a larger receipt stands alone", async () => {
    const sizes = [0.8, 0.8, 0.8, 4.5, 0.1];
    for (const [index, size] of sizes.entries()) {
      await world.write([item(`s${index}`, { useragent: "x".repeat(size * MIB) })]);
    }
    const pages: number[] = [];
    let after: number | undefined;
    for (;;) {
      const page = await readReceiptPage(db.pool, {}, after);
      if (page.receipts.length === 0) break;
      pages.push(page.receipts.length);
      after = page.upTo;
    }
    expect(pages).toEqual([2, 1, 1, 1]);
  });

  test("of receipts", async () => {
    const sources = await world.rows<{ id: number }>("SELECT id FROM sources WHERE name = 'default'");
    await db.pool.query(
      `INSERT INTO receipts (id, received_at, source, sha256, body)
       SELECT n, now(), $1, sha256('[]'), '[]' FROM generate_series(1, $2::integer) AS n`,
      [sources[0]?.id, AUDIT_PAGE_RECEIPTS_MAX + 10],
    );
    const page = await readReceiptPage(db.pool, {}, undefined);
    expect(page.receipts).toHaveLength(AUDIT_PAGE_RECEIPTS_MAX);
  });

  test("of rows, though a receipt is given any number of them", async () => {
    const [first] = await world.fill();
    await db.pool.query(
      `INSERT INTO events SELECT e.message, e.occurred_at, e.receipt, e.ordinal, e.origin, e.source, true, e.nameless, 'x' || n,
         e.type, e.recipient, e.detail FROM events AS e, generate_series(1, 3000) AS n WHERE event_id = 'ev2'`,
    );
    const page = await readReceiptPage(db.pool, {}, undefined);
    expect(page.events.length).toBeLessThan(1_100);
    const { outcome, state } = await world.verify();
    expect(outcome).toBe("different");
    expect(state.differences.listed).toContainEqual(expect.objectContaining({ kind: "event_surplus", receipt: first }));
  });
});
