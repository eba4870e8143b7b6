import type { Queryable } from "../postgres/pool.ts";

export interface BalanceFilter {
  /** Numbers of the sources to count. */
  sources: readonly number[];
  /** Whole hours of arrival: `from` is taken back to its hour, `to` forward to the next. */
  from?: Date | undefined;
  to?: Date | undefined;
}

export interface BalanceRow {
  receipts: { accepted: number; pending: number };
  events: { accepted: number; stored: number; duplicate: number; twin: number; quarantined: number; lost: number };
  retries: { attempted: number; rescued: number; exhausted: number };
}

const HOUR_MS = 3_600_000;

type Counts = Record<
  | "projected"
  | "pending"
  | "accepted"
  | "stored"
  | "duplicate"
  | "twin"
  | "quarantined"
  | "attempted"
  | "rescued"
  | "exhausted",
  number
>;

/**
 * The balance (promise P7). Every figure was counted where it happened; only `lost` is computed, as the difference that
 * must be 0. One statement, so that a receipt is either pending or projected, never both or neither.
 */
export async function readBalance(tx: Queryable, filter: BalanceFilter): Promise<BalanceRow> {
  const from = filter.from === undefined ? null : new Date(Math.floor(filter.from.getTime() / HOUR_MS) * HOUR_MS);
  const to = filter.to === undefined ? null : new Date(Math.ceil(filter.to.getTime() / HOUR_MS) * HOUR_MS);
  const result = await tx.query<Counts>(BALANCE, [filter.sources, from, to]);
  const [counts] = result.rows;
  if (counts === undefined) throw new Error("the balance statement returned no row");
  const { accepted, stored, duplicate, twin, quarantined } = counts;
  return {
    receipts: { accepted: counts.projected + counts.pending, pending: counts.pending },
    events: { accepted, stored, duplicate, twin, quarantined, lost: accepted - stored - duplicate - quarantined },
    retries: { attempted: counts.attempted, rescued: counts.rescued, exhausted: counts.exhausted },
  };
}

const BALANCE = `
  SELECT
    coalesce(sum(receipts), 0) AS projected,
    coalesce(sum(accepted), 0) AS accepted,
    coalesce(sum(stored), 0) AS stored,
    coalesce(sum(duplicate), 0) AS duplicate,
    coalesce(sum(twin), 0) AS twin,
    coalesce(sum(quarantined), 0) AS quarantined,
    coalesce(sum(retries), 0) AS attempted,
    coalesce(sum(rescued), 0) AS rescued,
    coalesce(sum(exhausted), 0) AS exhausted,
    (SELECT count(*) FROM inbox
       JOIN receipts ON receipts.id = inbox.receipt AND receipts.received_at = inbox.received_at
      WHERE receipts.source = ANY ($1::smallint[])
        AND ($2::timestamptz IS NULL OR inbox.received_at >= $2)
        AND ($3::timestamptz IS NULL OR inbox.received_at < $3)) AS pending
  FROM tallies
  WHERE source = ANY ($1::smallint[])
    AND ($2::timestamptz IS NULL OR hour >= $2)
    AND ($3::timestamptz IS NULL OR hour < $3)`;
