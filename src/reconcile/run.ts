import { setTimeout as delay } from "node:timers/promises";
import { daysBetween } from "../days.ts";
import {
  RECONCILE_DAY_CALLS_MAX,
  RECONCILE_GUESS_CALLS_MAX,
  RECONCILE_INBOX_SECONDS_MAX,
  RECONCILE_POLL_MS,
} from "../limits.ts";
import type { Log } from "../log.ts";
import { tryLock, type HeldLock } from "../postgres/advisory-lock.ts";
import type { Pool } from "../postgres/pool.ts";
import type { ProviderApi } from "../sendgrid/api-types.ts";
import type { RecordsClient } from "../sendgrid/records-client.ts";
import { countAccounts, type Account, type CountedAccount } from "./accounts.ts";
import { checkDay, refreshDay } from "./check-day.ts";
import { callsToCome, type CallLimits, type Context, type DayWork, type Phase } from "./context.ts";
import { createRecords } from "./records.ts";
import type { DayResult } from "./report.ts";
import { readResult } from "./results.ts";
import { beginRun, endRun, saveProgress, type Run, type RunRequest } from "./runs.ts";
import { totalsOf, type Totals } from "./totals.ts";

export interface ReconcileOptions {
  pool: Pool;
  log: Log;
  client: RecordsClient;
  accounts: readonly Account[];
  /** Of the accounts, by its IANA name. */
  timeZone: string;
  /** The APIs whose lists and messages may be asked. */
  apis: readonly ProviderApi[];
  callsPerMinute: number;
  /** Simulated sources count too: SendGrid's API is the simulator's double. */
  includeSimulated: boolean;
  /** Resolves when the repairs ordered so far are carried out, or when it is not worth waiting any longer. */
  settleRepairs: () => Promise<void>;
  /** The present, for tests. */
  now?: () => Date;
  /** Waits, for tests. */
  wait?: (seconds: number, signal: AbortSignal | undefined) => Promise<void>;
  /** Calls that one day may cost. */
  callLimits?: CallLimits;
}

export interface ReconcileRequest extends RunRequest {
  onStep?: (step: ReconcileStep) => void;
  signal?: AbortSignal;
}

/** How far a run is. */
export interface ReconcileStep {
  phase: Phase | "waiting";
  day: string;
  account: string;
  /** Days (of all accounts) that are finished, and all of them. */
  done: number;
  days: number;
  calls: number;
  /** Calls for lists and messages of this day that are still to come, as far as is known. */
  planned: number;
}

export interface ReconcileResult {
  /** complete: nothing missing, or all repaired. unknown: SendGrid could not be asked enough to say. */
  outcome: "complete" | "missing" | "unknown" | "interrupted";
  missing: number;
  repaired: number;
  open: number;
  calls: number;
  days: DayResult[];
}

const CALL_LIMITS: CallLimits = { day: RECONCILE_DAY_CALLS_MAX, guesses: RECONCILE_GUESS_CALLS_MAX };

/**
 * Holds days against SendGrid's own records, writes down what is missing and, with `repair`, has it filed.
 *
 * Invariant: one run at a time, whoever begins it; a second waits. A gap is written down once, however often it is found,
 * and a day whose figures are the same has the same result. Test: run.pg.test.ts.
 */
export async function reconcileDays(options: ReconcileOptions, request: ReconcileRequest): Promise<ReconcileResult> {
  return withRun(options, request, runDays);
}

/** Does work as a run: with the lock, written down from its beginning to its end. `work` fills the days. */
export async function withRun(
  options: ReconcileOptions,
  request: ReconcileRequest,
  work: (context: Context, days: DayResult[], running: Running) => Promise<void>,
): Promise<ReconcileResult> {
  const { pool, now = () => new Date() } = options;
  const days: DayResult[] = [];
  let lock: HeldLock | undefined;
  let running: Running | undefined;
  try {
    lock = await waitForLock(options, request);
    const run = await beginRun(pool, request, now());
    const signals = [lock.lost, ...(request.signal === undefined ? [] : [request.signal])];
    running = {
      options,
      request: { ...request, signal: AbortSignal.any(signals) },
      run,
      days,
      calls: run.calls,
      total: 0,
    };
    await waitForInbox(options, request.signal);
    await work(createContext(running), days, running);
    await endRun(pool, run, { calls: running.calls, now: now() });
    return conclude(days, running.calls, false);
  } catch (error) {
    const calls = running?.calls ?? 0;
    if (request.signal?.aborted === true) return conclude(days, calls, true);
    if (running !== undefined) {
      const reason = error instanceof Error ? error.message : "it failed";
      await endRun(pool, running.run, { calls, now: now(), error: reason }).catch(() => undefined);
    }
    throw error;
  } finally {
    await lock?.release();
  }
}

function conclude(days: DayResult[], calls: number, isInterrupted: boolean): ReconcileResult {
  const sum = (key: "missing" | "repaired" | "open"): number => days.reduce((total, day) => total + day[key], 0);
  const figures = { missing: sum("missing"), repaired: sum("repaired"), open: sum("open"), calls, days };
  if (isInterrupted) return { outcome: "interrupted", ...figures };
  if (figures.open > 0) return { outcome: "missing", ...figures };
  return {
    outcome: days.some(({ state }) => state === "unknown" || state === "suspected") ? "unknown" : "complete",
    ...figures,
  };
}

async function waitForLock(options: ReconcileOptions, request: ReconcileRequest): Promise<HeldLock> {
  for (;;) {
    request.signal?.throwIfAborted();
    const lock = await tryLock(options.pool, "reconcile");
    if (lock !== undefined) return lock;
    request.onStep?.({ phase: "waiting", day: request.fromDay, account: "", done: 0, days: 0, calls: 0, planned: 0 });
    await wait(options, RECONCILE_POLL_MS / 1000, request.signal);
  }
}

async function wait(options: ReconcileOptions, seconds: number, signal: AbortSignal | undefined): Promise<void> {
  if (options.wait !== undefined) return options.wait(seconds, signal);
  // Rounded up, so that a wait is never a little too short and then made again.
  await delay(Math.ceil(seconds * 1000), undefined, { signal });
}

/** A run under way. */
export interface Running {
  options: ReconcileOptions;
  request: ReconcileRequest;
  run: Run;
  /** Filled as days are finished; `total` of them are to come in all. */
  days: DayResult[];
  total: number;
  calls: number;
}

async function runDays(context: Context, days: DayResult[], running: Running): Promise<void> {
  const { options, request, run } = running;
  const { pool } = options;
  const accounts = await countAccounts(pool, options.accounts, options.includeSimulated);
  const list = daysBetween(request.fromDay, request.toDay);
  running.total = accounts.length * list.length;
  for (const account of accounts) {
    const totals = await askTotals(context, account, { from: request.fromDay, to: request.toDay, run, list });
    for (const day of list) {
      request.signal?.throwIfAborted();
      const key = `${account.name} ${day}`;
      const before = run.done.has(key) ? await readResult(pool, day, account.name) : undefined;
      days.push(before ?? (await checkDay(context, { account, day, totals: totals.get(day), ...shared(running) })));
      run.done.add(key);
      await keepProgress(running);
    }
    await refreshOthers(context, account, request);
  }
}

async function keepProgress({ options, run, calls, days, total }: Running): Promise<void> {
  await saveProgress(options.pool, run, { calls, days: { done: days.length, total } });
}

/** What the days of a run share. */
function shared({ options, request, run }: Running): {
  asked: Set<string>;
  coverage: Run["coverage"];
  callsLeft: CallLimits;
  settleRepairs: (() => Promise<void>) | undefined;
} {
  const { settleRepairs, callLimits = CALL_LIMITS } = options;
  return {
    asked: run.asked,
    coverage: run.coverage,
    callsLeft: callLimits,
    settleRepairs: request.repair ? settleRepairs : undefined,
  };
}

function createContext(running: Running): Context {
  const { options, request, run, days } = running;
  const { pool, log, client, callsPerMinute, apis, timeZone, now } = options;
  const { signal } = request;
  const records = createRecords({
    pool,
    log,
    client,
    callsPerMinute,
    now,
    wait: async (seconds) => wait(options, seconds, signal),
    onCall: () => {
      running.calls += 1;
    },
    signal,
  });
  let savedCalls = run.calls;

  async function report(work: DayWork, phase: Phase): Promise<void> {
    const { day, account } = work;
    const planned = callsToCome(work);
    const { calls, total } = running;
    request.onStep?.({ phase, day, account: account.name, done: days.length, days: total, calls, planned });
    if (calls - savedCalls < SAVE_EVERY_CALLS) return;
    savedCalls = calls;
    await keepProgress(running);
  }

  return { pool, log, records, apis, timeZone, run: run.id, now: now ?? (() => new Date()), signal, report };
}

/** What a kill -9 costs at most: these calls are made again. */
const SAVE_EVERY_CALLS = 10;

/** SendGrid's totals of all days, with one call. */
async function askTotals(
  context: Context,
  account: CountedAccount,
  { from, to, run, list }: { from: string; to: string; run: Run; list: readonly string[] },
): Promise<ReadonlyMap<string, Totals>> {
  if (list.every((day) => run.done.has(`${account.name} ${day}`))) return new Map();
  const told = await context.records.stats(account.name, { from, to });
  if (told.kind !== "ok") {
    if (told.kind === "failed") context.log.warn({ reason: told.reason }, "SendGrid did not tell its totals");
    return new Map();
  }
  return new Map(told.value.map((day) => [day.day, totalsOf(day)]));
}

/**
 * What waits in the inbox is not missing: it is waited for a while. Receipts that failed to be projected are waited for no
 * longer, an alert tells of them.
 *
 * @throws Error when nobody projects them: all of their events would be taken for missing.
 */
async function waitForInbox(options: ReconcileOptions, signal: AbortSignal | undefined): Promise<void> {
  const { pool } = options;
  const found = await pool.query<{ last: number | null }>("SELECT max(receipt) AS last FROM inbox WHERE attempts = 0");
  const last = found.rows[0]?.last ?? null;
  if (last === null) return;
  const tries = Math.ceil((RECONCILE_INBOX_SECONDS_MAX * 1000) / RECONCILE_POLL_MS);
  for (let tried = 0; tried < tries; tried += 1) {
    const left = await pool.query("SELECT FROM inbox WHERE attempts = 0 AND receipt <= $1 LIMIT 1", [last]);
    if (left.rows.length === 0) return;
    await wait(options, RECONCILE_POLL_MS / 1000, signal);
  }
  throw new Error("receipts wait to be projected, so that nothing can be said about what is missing");
}

/** Results of days that were not asked for, but in which this run has found something. */
async function refreshOthers(context: Context, account: CountedAccount, request: ReconcileRequest): Promise<void> {
  const { pool, run } = context;
  const found = await pool.query<{ day: string }>(
    `SELECT DISTINCT day::text AS day FROM gaps WHERE account = $1 AND (evidence->>'run')::bigint = $2
       AND confidence = 'confirmed' AND day NOT BETWEEN $3 AND $4 ORDER BY day`,
    [account.name, run, request.fromDay, request.toDay],
  );
  for (const { day } of found.rows) await refreshDay(context, account, day);
}
