import { RATE_STEPS } from "../limits.ts";
import type { Log } from "../log.ts";
import { createLoop, type Loop } from "../loop.ts";
import type { Pool, Queryable } from "../postgres/pool.ts";
import { transaction } from "../postgres/transaction.ts";

/** What is counted per bucket: events newly stored, by what they say of their mail, and deadlock retries. */
const RATE_COLUMNS = [
  "processed",
  "deferred",
  "delivered",
  "failed",
  "engaged",
  "objected",
  "other",
  "retries",
] as const;
type RateColumn = (typeof RATE_COLUMNS)[number];

/** What one projecting transaction adds, by source. */
export type Rates = Map<number, Record<RateColumn, number>>;

const COLUMN_OF_TYPE: ReadonlyMap<string, RateColumn> = new Map([
  ["processed", "processed"],
  ["deferred", "deferred"],
  ["delivered", "delivered"],
  ["bounce", "failed"],
  ["dropped", "failed"],
  ["open", "engaged"],
  ["click", "engaged"],
  ["spamreport", "objected"],
  ["unsubscribe", "objected"],
  ["group_unsubscribe", "objected"],
]);

/** Counts an event of this type. */
export function countRate(rates: Rates, source: number, type: string): void {
  rateOf(rates, source)[COLUMN_OF_TYPE.get(type) ?? "other"] += 1;
}

export function countRetries(rates: Rates, source: number, retries: number): void {
  rateOf(rates, source).retries += retries;
}

function rateOf(rates: Rates, source: number): Record<RateColumn, number> {
  const known = rates.get(source);
  if (known !== undefined) return known;
  const zeros = Object.fromEntries(RATE_COLUMNS.map((column) => [column, 0])) as Record<RateColumn, number>;
  rates.set(source, zeros);
  return zeros;
}

const STEP_SECONDS = RATE_STEPS.map(({ seconds }) => seconds);

/**
 * Adds to the buckets of the present, after the tallies and in the order of the key: so that projectors that meet here
 * wait for each other and never deadlock.
 */
export async function addRates(tx: Queryable, rates: Rates): Promise<void> {
  if (rates.size === 0) return;
  await tx.query({ name: "add rates", text: rateInsert("$1"), values: [rateRows(rates)] });
}

/** SQL that adds to the buckets, once `condition` is known to be true. `rows` is the parameter that has `rateRows`. */
export function rateInsert(rows: string, condition = "true"): string {
  return `INSERT INTO rates (step, at, source, ${RATE_COLUMNS.join(", ")})
    SELECT step, date_bin(make_interval(secs => step), now(), 'epoch'), source, ${RATE_COLUMNS.join(", ")}
    FROM unnest(ARRAY[${STEP_SECONDS.join(", ")}]) AS step, jsonb_to_recordset(${rows}::jsonb)
      AS row (source smallint, ${RATE_COLUMNS.map((column) => `${column} integer`).join(", ")})
    WHERE ${condition}
    ORDER BY 1, 2, 3
    ON CONFLICT (step, at, source) DO UPDATE
    SET ${RATE_COLUMNS.map((column) => `${column} = rates.${column} + excluded.${column}`).join(", ")}`;
}

/** JSON of rates. */
export function rateRows(rates: Rates): string {
  return JSON.stringify(Array.from(rates, ([source, counts]) => ({ source, ...counts })));
}

const PRUNE_MS = 10 * 60_000;

export interface RatesPruner extends Loop {
  tick(): Promise<boolean>;
}

/** Removes buckets that are older than what is shown of their size: some hundred rows a source are left. */
export function createRatesPruner({ pool, log }: { pool: Pool; log: Log }): RatesPruner {
  const tick = async (): Promise<boolean> => {
    const kept = RATE_STEPS.map(({ keptSeconds }) => keptSeconds);
    await transaction(pool, async (tx) =>
      tx.query(
        `DELETE FROM rates USING unnest($1::integer[], $2::integer[]) AS limits (step, kept)
         WHERE rates.step = limits.step AND rates.at < now() - make_interval(secs => limits.kept)`,
        [STEP_SECONDS, kept],
      ),
    );
    return false;
  };
  return { tick, ...createLoop({ name: "rates", log, tick, idleMs: PRUNE_MS }) };
}
