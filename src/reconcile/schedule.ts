import { addDays, dayIn } from "../days.ts";
import {
  RECONCILE_DAYS,
  RECONCILE_IDLE_MS,
  RECONCILE_NIGHT_HOUR,
  RECONCILE_PAGE_ROWS,
  RECONCILE_TRIES_MAX,
} from "../limits.ts";
import { createLoop, type Loop } from "../loop.ts";
import { tryLock } from "../postgres/advisory-lock.ts";
import type { Pool } from "../postgres/pool.ts";
import { hourIn } from "./days.ts";
import { forgetPurged } from "./forget.ts";
import { watchSends } from "./register.ts";
import { waitForRepairs } from "./repair-orders.ts";
import { reconcileDays, type ReconcileOptions } from "./run.ts";

export interface ReconcilerOptions extends Omit<ReconcileOptions, "settleRepairs"> {
  /** Whether the nightly check also has repaired what it finds. `off`: only people's orders are carried out. */
  nightly: "repair" | "check" | "off";
  /** Without a key nothing can be asked. */
  isKeySet: boolean;
  /** Waits for repairs, for tests. */
  settleRepairsIn?: () => Promise<void>;
}

export interface Reconciler extends Loop {
  /** Carries out one order or the night's check. @returns whether there may be more. */
  tick(): Promise<boolean>;
}

/** The name under which the nightly check stands among the runs. */
export const NIGHTLY = "nightly check";

/**
 * Checks each night the days that SendGrid's figures of may still move, and at once what people order. Of several
 * processes one does it: the one that holds the lock.
 */
export function createReconciler(options: ReconcilerOptions): Reconciler {
  const { pool, log, client, isKeySet } = options;
  const stopping = new AbortController();

  async function tick(): Promise<boolean> {
    await forgetPurged(pool);
    await watchSends(options, stopping.signal);
    if (!isKeySet) return refuseOrders(pool);
    const lock = await tryLock(pool, "schedule");
    if (lock === undefined) return false;
    try {
      return (await carryOutOrder(options, stopping.signal)) || (await checkNight(options, stopping.signal));
    } finally {
      await lock.release();
    }
  }

  const loop = createLoop({ name: "reconciliation", log, tick, idleMs: RECONCILE_IDLE_MS });
  return {
    ...loop,
    tick,
    async stop() {
      stopping.abort(new Error("stopped"));
      await client.close();
      await loop.stop();
    },
  };
}

/** Without a key an order would wait for ever: it ends as a run that failed, and says why. */
async function refuseOrders(pool: Pool): Promise<boolean> {
  const refused = await pool.query(
    `WITH refused AS (DELETE FROM reconciliation_orders RETURNING from_day, to_day, repair, name)
     INSERT INTO reconciliation_runs (from_day, to_day, repair, name, state, finished_at, error)
     SELECT from_day, to_day, repair, name, 'failed', now(), 'SENDGRID_API_KEY is not set: SendGrid cannot be asked.' FROM refused`,
  );
  return (refused.rowCount ?? 0) > 0;
}

interface Order {
  id: number;
  fromDay: string;
  toDay: string;
  repair: boolean;
  name: string;
}

/** The order ends when its run has; a run that fails is told by the run, so it is not tried again and again. */
async function carryOutOrder(options: ReconcilerOptions, signal: AbortSignal): Promise<boolean> {
  const { pool, log } = options;
  const found = await pool.query<Order>(
    `SELECT id, from_day::text AS "fromDay", to_day::text AS "toDay", repair, name FROM reconciliation_orders ORDER BY id LIMIT 1`,
  );
  const [order] = found.rows;
  if (order === undefined) return false;
  const { id, ...request } = order;
  const end = async (): Promise<void> => {
    await pool.query("DELETE FROM reconciliation_orders WHERE id = $1", [id]);
  };
  try {
    const { outcome } = await reconcileDays(withSettling(options, signal), { ...request, signal });
    if (outcome === "interrupted") return false;
    log.info({ outcome, fromDay: order.fromDay, toDay: order.toDay }, "ordered check against SendGrid's records done");
  } catch (error) {
    log.error({ err: error }, "an ordered check against SendGrid's records failed");
  }
  await end();
  return true;
}

async function checkNight(options: ReconcilerOptions, signal: AbortSignal): Promise<boolean> {
  const { pool, log, nightly, timeZone, now = () => new Date() } = options;
  if (nightly === "off") return false;
  const today = dayIn(timeZone, now());
  // Before the hour of the night it is still the night before.
  const night = hourIn(timeZone, now()) >= RECONCILE_NIGHT_HOUR ? today : addDays(today, -1);
  const found = await pool.query<{ at: Date | null; failed: number }>(
    `SELECT max(started_at) FILTER (WHERE state = 'finished') AS at,
       count(*) FILTER (WHERE state = 'failed' AND started_at > $2::timestamptz - interval '12 hours') AS failed
     FROM reconciliation_runs WHERE name = $1 AND started_at > $2::timestamptz - interval '30 days'`,
    [NIGHTLY, now()],
  );
  const { at: last = null, failed = 0 } = found.rows[0] ?? {};
  if (failed >= RECONCILE_TRIES_MAX) return false;
  if (last === null ? !(await holdsDaysBefore(pool, night, timeZone)) : nightOf(timeZone, last) >= night) return false;
  const fromDay = await firstOpenDay(pool, addDays(night, -RECONCILE_DAYS), addDays(night, -1));
  const request = { fromDay, toDay: addDays(night, -1), repair: nightly === "repair", name: NIGHTLY, signal };
  const result = await reconcileDays(withSettling(options, signal), request);
  if (result.outcome === "interrupted") return false;
  const { outcome, missing, repaired, open, calls } = result;
  log[open > 0 ? "warn" : "info"]({ outcome, missing, repaired, open, calls }, "nightly check done");
  return true;
}

/** Before the first day has ended there is nothing to check. The oldest messages are the first, roughly. */
async function holdsDaysBefore(pool: Pool, day: string, timeZone: string): Promise<boolean> {
  const found = await pool.query(
    `SELECT FROM (SELECT first_event_at FROM messages ORDER BY id LIMIT ${RECONCILE_PAGE_ROWS}) AS oldest
     WHERE first_event_at < ($1::date)::timestamp AT TIME ZONE $2 LIMIT 1`,
    [day, timeZone],
  );
  return found.rows.length > 0;
}

function nightOf(timeZone: string, at: Date): string {
  return dayIn(timeZone, new Date(at.getTime() - RECONCILE_NIGHT_HOUR * 3_600_000));
}

/** The earliest of the days that is not final yet for every account; the last where all are. */
async function firstOpenDay(pool: Pool, fromDay: string, toDay: string): Promise<string> {
  const found = await pool.query<{ day: string }>(
    `SELECT d.day::date::text AS day FROM generate_series($1::date, $2::date, '1 day') AS d (day)
     WHERE NOT EXISTS (SELECT FROM reconciliations AS r WHERE r.day = d.day::date)
        OR EXISTS (SELECT FROM reconciliations AS r WHERE r.day = d.day::date AND NOT r.final)
     ORDER BY d.day LIMIT 1`,
    [fromDay, toDay],
  );
  return found.rows[0]?.day ?? toDay;
}

function withSettling(options: ReconcilerOptions, signal: AbortSignal): ReconcileOptions {
  const { pool, settleRepairsIn } = options;
  return { ...options, settleRepairs: settleRepairsIn ?? (async () => waitForRepairs(pool, signal)) };
}
