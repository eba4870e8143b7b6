import type { Queryable } from "../postgres/pool.ts";

/** One bucket: how many events were filed in `step` seconds from `at`. Buckets in which nothing happened are left out. */
export interface RateRow {
  at: Date;
  processed: number;
  deferred: number;
  delivered: number;
  failed: number;
  engaged: number;
  objected: number;
  other: number;
  retries: number;
}

export interface RateFilter {
  /** Numbers of the sources to count. */
  sources: readonly number[];
  /** The size of the buckets, one of RATE_STEPS. */
  stepSeconds: number;
  /** The buckets that begin at this or later. */
  from: Date;
}

const SUMS = ["processed", "deferred", "delivered", "failed", "engaged", "objected", "other", "retries"]
  .map((column) => `sum(${column}) AS ${column}`)
  .join(", ");

/** Oldest first. */
export async function readRates(tx: Queryable, { sources, stepSeconds, from }: RateFilter): Promise<RateRow[]> {
  const result = await tx.query<RateRow>(
    `SELECT at, ${SUMS} FROM rates
     WHERE step = $1 AND at >= $2 AND source = ANY ($3::smallint[]) GROUP BY at ORDER BY at`,
    [stepSeconds, from, sources],
  );
  return result.rows;
}
