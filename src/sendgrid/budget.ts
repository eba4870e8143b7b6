import { API_FORBIDDEN_SECONDS, API_OUTAGE_SECONDS, API_OUTAGE_SECONDS_MAX } from "../limits.ts";
import type { Queryable } from "../postgres/pool.ts";
import type { ProviderApi } from "./api-types.ts";

const MINUTE_SECONDS = 60;
/** A call is counted when it is taken and arrives a little later, so the API's minute is not quite ours. */
const WINDOW_MARGIN = 1.02;
/** The times of at most this many calls are kept; a higher rate is kept as a shorter window of the same rate. */
export const CALLS_KEPT_MAX = 60;

/** What has a budget of its own. Totals and suppression lists are asked by reconciliation only. */
export type BudgetName = ProviderApi | "stats" | "suppressions";

export type CallPermit = { granted: true } | { granted: false; waitSeconds: number };

export interface BudgetOptions {
  /** The present, for tests. Undefined: the database's clock, the only one that all instances share. */
  now?: Date | undefined;
  /** Calls that the caller leaves to more urgent ones. */
  reserve?: number;
}

interface Window {
  calls: number;
  seconds: number;
}

function callWindow(callsPerMinute: number): Window {
  const calls = Math.min(callsPerMinute, CALLS_KEPT_MAX);
  return { calls, seconds: ((MINUTE_SECONDS * calls) / callsPerMinute) * WINDOW_MARGIN };
}

/**
 * Takes one call from an API's budget, which all instances share.
 *
 * Invariant: in any minute at most `callsPerMinute` calls are granted, whoever asks, in whatever order, with restarts in
 * between. A bucket that refills steadily would grant a burst and its refill within one minute, nearly twice the limit;
 * here a call comes back a minute after it was used. Test: budget.pg.test.ts.
 *
 * @returns when the answer is no: after how many seconds it is worth asking again.
 */
export async function takeCall(
  db: Queryable,
  api: BudgetName,
  callsPerMinute: number,
  options: BudgetOptions = {},
): Promise<CallPermit> {
  const { now, reserve = 0 } = options;
  const window = callWindow(callsPerMinute);
  // A reserve must leave something to take.
  const limit = Math.max(window.calls - reserve, 1);
  const taken = await db.query(
    `INSERT INTO provider_apis AS p (name, called_at, calls, changed_at)
     SELECT $1, ARRAY[at], 1, at FROM coalesce($2::timestamptz, now()) AS at
     ON CONFLICT (name) DO UPDATE SET
       calls = p.calls + 1,
       called_at = ARRAY(SELECT at FROM unnest(p.called_at) AS at
         WHERE at > excluded.changed_at - make_interval(secs => $3) ORDER BY at) || excluded.called_at
     WHERE coalesce(p.blocked_until <= excluded.changed_at, true)
       AND (SELECT count(*) FROM unnest(p.called_at) AS at
         WHERE at > excluded.changed_at - make_interval(secs => $3)) < $4`,
    [api, now ?? null, window.seconds, limit],
  );
  if (taken.rowCount === 1) return { granted: true };
  return { granted: false, waitSeconds: await secondsUntilCall(db, api, { ...window, limit }, now) };
}

async function secondsUntilCall(
  db: Queryable,
  api: BudgetName,
  window: Window & { limit: number },
  now: Date | undefined,
): Promise<number> {
  const found = await db.query<{ seconds: number | null }>(
    `SELECT extract(epoch FROM greatest(
         p.blocked_until,
         (SELECT at + make_interval(secs => $3) FROM unnest(p.called_at) AS at ORDER BY at DESC OFFSET $4 - 1 LIMIT 1)
       ) - coalesce($2::timestamptz, now()))::float8 AS seconds
     FROM provider_apis AS p WHERE name = $1`,
    [api, now ?? null, window.seconds, window.limit],
  );
  return Math.max(found.rows[0]?.seconds ?? 0, 0);
}

/**
 * Those of `apis` that are worth asking: not forbidden, or forbidden too long ago to still believe it, or before `since`
 * (the start of the process, whose settings may have changed).
 */
export async function askableApis(
  db: Queryable,
  apis: readonly ProviderApi[],
  since: Date,
  now: Date | undefined,
): Promise<ProviderApi[]> {
  const refused = await db.query<{ name: ProviderApi }>(
    `SELECT name FROM provider_apis WHERE state = 'forbidden'
       AND refused_at >= greatest($1, coalesce($2::timestamptz, now()) - make_interval(secs => $3))`,
    [since, now ?? null, API_FORBIDDEN_SECONDS],
  );
  return apis.filter((api) => !refused.rows.some(({ name }) => name === api));
}

/** Notes a usable answer. With `waitSeconds` the API has said that it was the last for so long. */
export async function noteAnswered(
  db: Queryable,
  api: BudgetName,
  waitSeconds: number | undefined,
  now: Date | undefined,
): Promise<void> {
  await db.query(
    `UPDATE provider_apis SET failures = 0, reason = NULL, state = 'available',
       changed_at = CASE state WHEN 'available' THEN changed_at ELSE coalesce($3::timestamptz, now()) END,
       blocked_until = coalesce($3::timestamptz, now()) + make_interval(secs => $2)
     WHERE name = $1 AND (failures > 0 OR reason IS NOT NULL OR state <> 'available' OR $2::float8 IS NOT NULL)`,
    [api, waitSeconds ?? null, now ?? null],
  );
}

/** Notes a 429: nobody asks this API for so long. */
export async function noteLimited(
  db: Queryable,
  api: BudgetName,
  waitSeconds: number,
  now: Date | undefined,
): Promise<void> {
  await db.query(
    `UPDATE provider_apis SET limited = limited + 1,
       blocked_until = greatest(blocked_until, coalesce($3::timestamptz, now()) + make_interval(secs => $2))
     WHERE name = $1`,
    [api, waitSeconds, now ?? null],
  );
}

/** Notes a 401 or 403. */
export async function noteForbidden(
  db: Queryable,
  api: BudgetName,
  reason: string,
  now: Date | undefined,
): Promise<void> {
  await db.query(
    `UPDATE provider_apis SET state = 'forbidden', reason = $2, refused_at = coalesce($3::timestamptz, now()),
       changed_at = CASE state WHEN 'forbidden' THEN changed_at ELSE coalesce($3::timestamptz, now()) END
     WHERE name = $1`,
    [api, reason, now ?? null],
  );
}

/**
 * Notes a call without a usable answer: the API is left alone for a while, longer with each such call in a row.
 *
 * @returns how many in a row it were.
 */
export async function noteUnavailable(
  db: Queryable,
  api: BudgetName,
  reason: string,
  now: Date | undefined,
): Promise<number> {
  const noted = await db.query<{ failures: number }>(
    `UPDATE provider_apis SET failures = failures + 1, reason = $2,
       blocked_until = coalesce($3::timestamptz, now()) + make_interval(secs => least($4 * 2 ^ least(failures, 10), $5))
     WHERE name = $1 RETURNING failures`,
    [api, reason, now ?? null, API_OUTAGE_SECONDS, API_OUTAGE_SECONDS_MAX],
  );
  return noted.rows[0]?.failures ?? 1;
}
