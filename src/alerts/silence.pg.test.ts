import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { testDatabase, type TestDatabase } from "../../test/database.ts";
import { SILENCE_GIVEN_UP_DAYS, SILENCE_RECEIPTS_MIN } from "../limits.ts";
import { findWrongs, type Finding } from "./rules.ts";

let db: TestDatabase;

beforeAll(async () => {
  db = await testDatabase();
  await db.pool.query(
    "INSERT INTO sources (name, simulated) VALUES ('default', false), ('other', false), ('simulation', true)",
  );
});
afterAll(async () => db.drop());
beforeEach(async () => {
  await db.pool.query("TRUNCATE tallies, inbox, instances");
});

interface Traffic {
  /** Hours before the current one: the first with POSTs, and the last. */
  from: number;
  to: number;
  perHour: number;
  source?: string;
}

const WEEK = 7 * 24;

async function traffic({ from, to, perHour, source = "default" }: Traffic): Promise<void> {
  await db.pool.query(
    `INSERT INTO tallies (hour, source, receipts) SELECT date_trunc('hour', now()) - make_interval(hours => back), s.id, $3
     FROM generate_series($2::int, $1::int) AS back, sources AS s WHERE s.name = $4
     ON CONFLICT (hour, source) DO UPDATE SET receipts = excluded.receipts`,
    [from, to, perHour, source],
  );
}

async function silences(): Promise<Pick<Finding, "source" | "count">[]> {
  const found = await findWrongs(db.pool);
  return found.filter(({ kind }) => kind === "silence").map(({ source, count }) => ({ source, count }));
}

describe("silence", () => {
  test("is found for each source that is far quieter than its weeks before, and ends with the next POST", async () => {
    for (const source of ["default", "other"]) await traffic({ from: 5 * WEEK, to: 3, perHour: 600, source });
    expect(await silences()).toEqual([
      { source: "default", count: 2 },
      { source: "other", count: 2 },
    ]);
    await traffic({ from: 0, to: 0, perHour: 1 });
    expect(await silences()).toEqual([{ source: "other", count: 2 }]);
  });

  test("is not found in the first whole hour, since a clock change moves a morning by one", async () => {
    await traffic({ from: 5 * WEEK, to: 2, perHour: 600 });
    expect(await silences()).toEqual([]);
  });

  test("is found once the weeks before had enough POSTs in these hours, and not one POST earlier", async () => {
    await traffic({ from: 5 * WEEK, to: 4, perHour: SILENCE_RECEIPTS_MIN / 2 - 1 });
    expect(await silences()).toEqual([]);
    await traffic({ from: 5 * WEEK, to: 4, perHour: SILENCE_RECEIPTS_MIN / 2 });
    expect(await silences()).toEqual([{ source: "default", count: 3 }]);
  });

  test("is not found at hours that are usually quiet", async () => {
    await traffic({ from: 5 * WEEK, to: 12, perHour: 600 });
    // Nights of eleven hours, each day at the hours that are now the last eleven.
    await db.pool.query(
      `DELETE FROM tallies WHERE extract(epoch FROM date_trunc('hour', now()) - hour)::int / 3600 % 24 BETWEEN 0 AND 11`,
    );
    expect(await silences()).toEqual([]);
    // And in a busy ledger the same hours are a silence.
    await traffic({ from: 5 * WEEK, to: 12, perHour: 600 });
    expect(await silences()).toEqual([{ source: "default", count: 11 }]);
  });

  test("is not found in a ledger's first weeks, nor in one that is quiet anyway", async () => {
    await traffic({ from: WEEK - 1, to: 3, perHour: 600 });
    expect(await silences()).toEqual([]);
    await traffic({ from: 2 * WEEK + 3, to: 3, perHour: 600 });
    expect(await silences()).toEqual([]);
    await traffic({ from: 3 * WEEK + 3, to: 3, perHour: 600 });
    expect(await silences()).toEqual([{ source: "default", count: 2 }]);
    await db.pool.query("UPDATE tallies SET receipts = 1");
    expect(await silences()).toEqual([]);
  });

  test("is hidden by no single week that was quiet too, but by two", async () => {
    await traffic({ from: 5 * WEEK, to: 4, perHour: 600 });
    await traffic({ from: WEEK + 4, to: WEEK - 4, perHour: 0 });
    expect(await silences()).toEqual([{ source: "default", count: 3 }]);
    await traffic({ from: 2 * WEEK + 4, to: 2 * WEEK - 4, perHour: 0 });
    expect(await silences()).toEqual([]);
  });

  test("is not found for a simulated source, nor for one whose POSTs wait to be projected or spooled", async () => {
    await traffic({ from: 5 * WEEK, to: 4, perHour: 600, source: "simulation" });
    expect(await silences()).toEqual([]);
    await traffic({ from: 5 * WEEK, to: 4, perHour: 600 });
    await db.pool.query(
      `WITH r AS (INSERT INTO receipts (id, received_at, source, sha256, body) SELECT 1, now(), id, '', '' FROM sources WHERE name = 'default' RETURNING *)
       INSERT INTO inbox (receipt, received_at, bytes) SELECT id, received_at, 1 FROM r`,
    );
    expect(await silences()).toEqual([]);
    await db.pool.query("TRUNCATE inbox");
    expect(await silences()).toHaveLength(1);
    await db.pool.query(
      "INSERT INTO instances (id, host, pid, version, roles, spool_posts) VALUES ('a', 'h', 1, '1', '{}', 1)",
    );
    expect(await silences()).toEqual([]);
  });

  test("goes on for weeks, and ends when the source was given up", async () => {
    await traffic({ from: 9 * WEEK, to: 4 * WEEK, perHour: 600 });
    expect(await silences()).toEqual([{ source: "default", count: 4 * WEEK - 1 }]);
    await db.pool.query("TRUNCATE tallies");
    await traffic({ from: 10 * WEEK, to: SILENCE_GIVEN_UP_DAYS * 24, perHour: 600 });
    expect(await silences()).toEqual([]);
  });
});
