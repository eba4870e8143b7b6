import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { untilBlockedBy } from "../../test/blocked.ts";
import { testDatabase, type TestDatabase } from "../../test/database.ts";
import { transaction } from "../postgres/transaction.ts";
import { closeBatch } from "./close-batch.ts";
import { countRate, type Rates } from "./rates.ts";
import { tallyOf, type Tallies } from "./tally.ts";

let db: TestDatabase;

beforeAll(async () => {
  db = await testDatabase();
});
afterAll(async () => db.drop());
beforeEach(async () => {
  await db.pool.query("TRUNCATE inbox, tallies, rates");
});

const AT = new Date("2026-03-01T09:10:00Z");

/** Closes a batch of one receipt with one event. */
async function close(receipt: number): Promise<void> {
  const tallies: Tallies = new Map();
  Object.assign(tallyOf(tallies, AT, 1), { receipts: 1, accepted: 1, stored: 1 });
  const rates: Rates = new Map();
  countRate(rates, 1, "open");
  await transaction(db.pool, async (tx) => closeBatch(tx, { receipts: [receipt], tallies, rates, news: "{}" }));
}

describe("the end of a batch", () => {
  test("takes its receipts, and no other, out of the inbox, and adds to tallies and rates", async () => {
    await db.pool.query(
      "INSERT INTO inbox (receipt, received_at, bytes) SELECT n, now(), 1 FROM generate_series(1, 3) AS n",
    );
    await close(1);
    await close(2);
    const one = async (sql: string): Promise<unknown> => (await db.pool.query<object>(sql)).rows;
    expect(await one("SELECT receipt FROM inbox")).toEqual([{ receipt: 3 }]);
    expect(await one("SELECT receipts, accepted, stored, duplicate FROM tallies")).toEqual([
      { receipts: 2, accepted: 2, stored: 2, duplicate: 0 },
    ]);
    expect(await one("SELECT step, sum(engaged) AS engaged FROM rates GROUP BY step ORDER BY step")).toEqual(
      [10, 300, 7200].map((step) => ({ step, engaged: 2 })),
    );
  });

  test("tells the page what it was given to tell", async () => {
    const listener = await db.pool.connect();
    const heard: (string | undefined)[] = [];
    listener.on("notification", ({ payload }) => heard.push(payload));
    try {
      await listener.query("LISTEN holdfast_filed");
      await close(1);
      await listener.query("SELECT");
      expect(heard).toEqual(["{}"]);
      await listener.query("UNLISTEN *");
    } finally {
      listener.release();
    }
  });

  test("locks the tallies first: while it waits for them it holds none of the rates", async () => {
    await close(1);
    const holder = await db.pool.connect();
    try {
      await holder.query("BEGIN");
      await holder.query("SELECT FROM tallies FOR UPDATE");
      const closing = close(2);
      await untilBlockedBy(db.pool, holder);
      const free = await db.pool.query("SELECT FROM rates FOR UPDATE SKIP LOCKED");
      const all = await db.pool.query("SELECT FROM rates");
      expect(free.rowCount).toBe(all.rowCount);
      await holder.query("ROLLBACK");
      await closing;
    } finally {
      holder.release();
    }
  });
});
