import { setTimeout as delay } from "node:timers/promises";
import { RECONCILE_POLL_MS, RECONCILE_REPAIRS_SECONDS_MAX } from "../limits.ts";
import type { Pool, Queryable } from "../postgres/pool.ts";

/** Whose gaps are repaired: those of a range of days, and those that a run has found in other days. */
export interface RepairRange {
  account: string;
  fromDay: string;
  toDay: string;
  run: number;
}

/** Orders the repair of open gaps whose event SendGrid's records have told. @returns how many. */
export async function orderRepairs(db: Queryable, { account, fromDay, toDay, run }: RepairRange): Promise<number> {
  const ordered = await db.query(
    `WITH wanted AS (
       SELECT id, rule, source, item FROM gaps
       WHERE account = $1 AND (day BETWEEN $2 AND $3 OR (evidence->>'run')::bigint = $4) AND state = 'open'
         AND confidence = 'confirmed' AND rule IN ('logs', 'messages', 'csv') AND item IS NOT NULL AND source IS NOT NULL
         AND NOT evidence ? 'unreadable'
     ), ordered AS (
       INSERT INTO repair_orders (gap, origin, source, item) SELECT id, rule::origin, source, item FROM wanted
       ON CONFLICT DO NOTHING
     )
     UPDATE gaps SET state = 'ordered' FROM wanted WHERE gaps.id = wanted.id`,
    [account, fromDay, toDay, run],
  );
  return ordered.rowCount ?? 0;
}

/** Takes over what became of orders. One that could not be read is not ordered again. */
export async function readRepairs(db: Queryable, account: string): Promise<void> {
  await db.query(
    `UPDATE gaps AS g SET
       state = CASE r.outcome WHEN 'filed' THEN 'repaired' WHEN 'held' THEN 'arrived' ELSE 'open' END,
       closed_at = CASE r.outcome WHEN 'unreadable' THEN NULL ELSE now() END,
       message = coalesce(r.message, g.message),
       evidence = CASE r.outcome WHEN 'unreadable' THEN g.evidence || '{"unreadable": true}' ELSE g.evidence END
     FROM repairs AS r
     WHERE r.gap = g.id AND g.account = $1 AND g.state = 'ordered' AND NOT EXISTS (SELECT FROM repair_orders AS o WHERE o.gap = g.id)`,
    [account],
  );
}

/**
 * Waits until the ledger of some process has carried out what was ordered, for RECONCILE_REPAIRS_SECONDS_MAX at most: where
 * none does in time, the next check sees what became of it.
 *
 * @throws when it is aborted.
 */
export async function waitForRepairs(pool: Pool, signal: AbortSignal): Promise<void> {
  const deadlineMs = performance.now() + RECONCILE_REPAIRS_SECONDS_MAX * 1000;
  while ((await areRepairsPending(pool)) && performance.now() < deadlineMs) {
    await delay(RECONCILE_POLL_MS, undefined, { signal });
  }
}

async function areRepairsPending(pool: Pool): Promise<boolean> {
  const found = await pool.query("SELECT FROM repair_orders LIMIT 1");
  return found.rows.length > 0;
}
