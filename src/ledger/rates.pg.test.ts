import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { testDatabase, type TestDatabase } from "../../test/database.ts";
import { ledgerWorld, type LedgerWorld } from "../../test/ledger-world.ts";
import { createLog } from "../log.ts";
import { transaction } from "../postgres/transaction.ts";
import { addRates, countRate, countRetries, createRatesPruner, type Rates } from "./rates.ts";
import { readRates } from "./read-rates.ts";

let db: TestDatabase;
let world: LedgerWorld;

beforeAll(async () => {
  db = await testDatabase();
  world = await ledgerWorld(db.pool);
});
afterAll(async () => db.drop());
beforeEach(async () => {
  await world.clear();
  await db.pool.query("TRUNCATE rates");
});

async function add(rates: Rates): Promise<void> {
  await transaction(db.pool, async (tx) => addRates(tx, rates));
}

/** The sums per step, whatever buckets they are in: a test may meet the end of one. */
async function sums(): Promise<Record<string, unknown>[]> {
  return world.rows(
    `SELECT step, sum(processed) AS processed, sum(deferred) AS deferred, sum(delivered) AS delivered, sum(failed) AS failed,
       sum(engaged) AS engaged, sum(objected) AS objected, sum(other) AS other, sum(retries) AS retries
     FROM rates GROUP BY step ORDER BY step`,
  );
}

describe("the rates", () => {
  test("the projecting transaction counts what it newly stored, by kind, in buckets of every size", async () => {
    await world.fill();
    const counts = {
      processed: 0,
      deferred: 0,
      delivered: 2,
      failed: 1,
      engaged: 5,
      objected: 1,
      other: 0,
      retries: 0,
    };
    const stored = await world.value<number>("SELECT count(*) FROM events");
    expect(await sums()).toMatchObject([counts, counts, counts]);
    expect(Object.values(counts).reduce((sum, count) => sum + count)).toBe(stored);
  });

  test("a bucket begins at a multiple of its size, and holds the present", async () => {
    await add(new Map([[1, zeros({ other: 1 })]]));
    const rows = await world.rows(
      `SELECT step, extract(epoch FROM at)::bigint % step AS rest, now() >= at AND now() < at + make_interval(secs => 2 * step) AS near
       FROM rates ORDER BY step`,
    );
    expect(rows).toEqual([10, 300, 7200].map((step) => ({ step, rest: 0, near: true })));
  });

  test("kinds that nobody knows are counted as other, retries apart, and nothing at all costs no statement", async () => {
    const rates: Rates = new Map();
    for (const type of ["group_resubscribe", "weather", "__proto__", "constructor"]) countRate(rates, 1, type);
    countRetries(rates, 1, 3);
    await add(rates);
    expect((await sums())[0]).toMatchObject({ other: 4, retries: 3, processed: 0 });
    await addRates({ query: () => Promise.reject(new Error("asked")) } as never, new Map());
  });

  test("many at once over the same buckets lose no count and never deadlock", async () => {
    const one = (): Rates => new Map([2, 1, 3].map((source) => [source, zeros({ delivered: 1, retries: 1 })]));
    await Promise.all(Array.from({ length: 40 }, () => add(one())));
    expect((await sums())[0]).toMatchObject({ delivered: 120, retries: 120 });
  });

  test("are read per source, oldest first, from a moment on", async () => {
    await db.pool.query(
      `INSERT INTO rates (step, at, source, processed, deferred, delivered, failed, engaged, objected, other, retries)
       SELECT 10, '2026-03-01T09:00:00Z'::timestamptz + n * interval '10 s', source, n, 0, 0, 0, 0, 0, 0, 0
       FROM generate_series(0, 3) AS n, unnest('{1,2,3}'::smallint[]) AS source`,
    );
    const from = new Date("2026-03-01T09:00:10Z");
    const rows = await readRates(db.pool, { sources: [1, 3], stepSeconds: 10, from });
    expect(rows.map(({ at, processed }) => [at.toISOString().slice(17, 19), processed])).toEqual([
      ["10", 2],
      ["20", 4],
      ["30", 6],
    ]);
    expect(await readRates(db.pool, { sources: [], stepSeconds: 10, from })).toEqual([]);
    expect(await readRates(db.pool, { sources: [1], stepSeconds: 300, from })).toEqual([]);
  });

  test("what is older than a person sees goes, each size at its own age", async () => {
    await db.pool.query(
      `INSERT INTO rates (step, at, source, processed, deferred, delivered, failed, engaged, objected, other, retries)
       SELECT step, now() - age, 1, 1, 0, 0, 0, 0, 0, 0, 0
       FROM unnest('{10,300,7200}'::integer[]) AS step,
         unnest('{10 min,2 hours,3 days,40 days}'::interval[]) AS age`,
    );
    const pruner = createRatesPruner({ pool: db.pool, log: createLog("silent") });
    expect(await pruner.tick()).toBe(false);
    const left = await world.rows("SELECT step, count(*) AS rows FROM rates GROUP BY step ORDER BY step");
    expect(left).toEqual([
      { step: 10, rows: 1 },
      { step: 300, rows: 2 },
      { step: 7200, rows: 3 },
    ]);
  });
});

function zeros(counts: Partial<Parameters<Rates["set"]>[1]>): Parameters<Rates["set"]>[1] {
  const none = { processed: 0, deferred: 0, delivered: 0, failed: 0, engaged: 0, objected: 0, other: 0, retries: 0 };
  return { ...none, ...counts };
}
