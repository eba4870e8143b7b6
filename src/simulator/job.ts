import type { KeyObject } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { Log } from "../log.ts";
import { ADVISORY_LOCKS } from "../postgres/advisory-lock.ts";
import { createPool, type Connection, type Pool } from "../postgres/pool.ts";
import { dropConnection, forceDeadlock, type Interference, type InterferenceOptions } from "./interference.ts";
import { createFigures, type Figures, type Sample } from "./job-figures.ts";
import { databaseLedger } from "./ledger-database.ts";
import { isFlawless, runSimulation, type SimulationReport, type SimulationStep } from "./run.ts";

/** What somebody ordered. The meaning and bounds of each stand in views/contract-simulation.ts. */
export interface JobOrder {
  events: number;
  rate: number;
  duplicates: number;
  shuffle: boolean;
  deadlocks: number;
  dropConnection: boolean;
  seed: string;
}

export interface JobResult {
  flawless: boolean;
  start: string;
  seconds: number;
  acknowledged: number;
  processed: number;
  lost: number;
  double: number;
  pending: number;
  givenUp: number;
  lostIds: string[];
  doubleIds: string[];
}

export interface JobRun {
  phase: "posting" | "filing" | "comparing" | "done" | "failed";
  stopped: boolean;
  order: JobOrder;
  startedAt: string;
  endedAt: string | null;
  acknowledged: number;
  posts: { sent: number; again: number };
  forced: { deadlocks: number; connections: number };
  figures: Figures;
  samples: Sample[];
  result: JobResult | null;
  error: string | null;
}

export interface SimulationJob {
  /** @returns false when one runs already, here or in another process of this database. */
  start(order: JobOrder): Promise<boolean>;
  /** Ends the posting; what was posted is still filed and compared. @returns false when nothing is being posted. */
  stop(): boolean;
  state(): JobRun | undefined;
  /** Ends a run at once, with the process. */
  close(): Promise<void>;
}

export interface SimulationJobOptions {
  databaseUrl: string;
  log: Log;
  /** The whole address of the webhook of the source `simulation` in this process. */
  url: () => string;
  privateKey: KeyObject;
}

const SOURCE = "simulation";
/** The traffic is spread over the two hours before the run. */
const PERIOD_SECONDS = 2 * 3_600;
const CONCURRENCY = 4;
const BATCH_MAX = 100;
/** Slow traffic comes in small POSTs, so that something happens every quarter of a second. */
const POSTS_PER_SECOND = 4;
/** Run, compare, watch, lock, and end the one that waits. */
const CONNECTIONS = 5;

/** A bounded run of simulated traffic through the service's own webhook, one at a time, that people watch on the page. */
export function createSimulationJob(options: SimulationJobOptions): SimulationJob {
  let run: JobRun | undefined;
  let running: Running | undefined;
  let isStarting = false;

  async function start(order: JobOrder): Promise<boolean> {
    if (running !== undefined || isStarting) return false;
    isStarting = true;
    try {
      const { databaseUrl, log } = options;
      const pool = createPool({ databaseUrl, log, connectionsMax: CONNECTIONS, name: "holdfast simulation" });
      const holder = await takeLock(pool);
      if (holder === undefined) return false;
      run = newRun(order);
      const abort = { posting: new AbortController(), all: new AbortController() };
      const ended = simulate({ ...options, pool, run, abort }).then(async () => {
        running = undefined;
        // Ending its connection frees the lock, whatever state it is in.
        holder.release(true);
        await pool.end();
      });
      running = { abort, ended };
      return true;
    } finally {
      isStarting = false;
    }
  }

  return {
    start,
    stop() {
      if (running === undefined || run?.phase !== "posting") return false;
      run.stopped = true;
      running.abort.posting.abort();
      return true;
    },
    state: () => run,
    async close() {
      running?.abort.all.abort();
      running?.abort.posting.abort();
      await running?.ended;
    },
  };
}

interface Running {
  abort: Abort;
  ended: Promise<void>;
}

interface Abort {
  posting: AbortController;
  all: AbortController;
}

function newRun(order: JobOrder): JobRun {
  return {
    phase: "posting",
    stopped: false,
    order,
    startedAt: new Date().toISOString(),
    endedAt: null,
    acknowledged: 0,
    posts: { sent: 0, again: 0 },
    forced: { deadlocks: 0, connections: 0 },
    figures: { accepted: 0, stored: 0, duplicate: 0, quarantined: 0, lost: 0, retries: 0, rescued: 0, exhausted: 0 },
    samples: [],
    result: null,
    error: null,
  };
}

/** Ends the pool where it is not given the lock. */
async function takeLock(pool: Pool): Promise<Connection | undefined> {
  let holder: Connection | undefined;
  let isHeld = false;
  try {
    holder = await pool.connect();
    // Without a listener, a connection that dies meanwhile would end the process.
    holder.on("error", () => undefined);
    const { rows } = await holder.query<{ held: boolean }>("SELECT pg_try_advisory_lock($1) AS held", [
      ADVISORY_LOCKS.simulation,
    ]);
    isHeld = rows[0]?.held === true;
    return isHeld ? holder : undefined;
  } finally {
    if (!isHeld) {
      holder?.release(true);
      await pool.end();
    }
  }
}

interface Simulating extends SimulationJobOptions {
  pool: Pool;
  run: JobRun;
  abort: Abort;
}

/** Never rejects: whatever happens stands in the run. */
async function simulate(job: Simulating): Promise<void> {
  const { pool, run, abort, log } = job;
  try {
    const source = await simulatedSource(pool);
    const figures = await createFigures(pool, source, run);
    const interference = interfere(run, { pool, source, signal: abort.all.signal });
    const watching = figures.watch(abort.all.signal);
    try {
      // The start is part of every id, so that the same seed makes new mails each time it is ordered.
      const startSeconds = Math.floor(Date.now() / 1000) - PERIOD_SECONDS;
      const report = await post(job, source, startSeconds);
      run.result = toResult(report, startSeconds);
      run.phase = "done";
    } finally {
      abort.all.abort();
      await Promise.all([interference, watching]);
      await figures.look();
    }
  } catch (error) {
    run.phase = "failed";
    run.error = error instanceof Error && error.name !== "AbortError" ? error.message : "ended with the process";
    log.warn({ err: error }, "the simulation ordered on the page failed");
  }
  run.endedAt = new Date().toISOString();
}

async function simulatedSource(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ id: number }>("SELECT id FROM sources WHERE name = $1 AND simulated", [SOURCE]);
  const [row] = rows;
  if (row === undefined) throw new Error("the source simulation is not registered");
  return row.id;
}

async function post(job: Simulating, source: number, startSeconds: number): Promise<SimulationReport> {
  const { pool, run, abort, url, privateKey } = job;
  const { seed, events, rate, duplicates, shuffle } = run.order;
  const batch = rate === 0 ? BATCH_MAX : Math.min(BATCH_MAX, Math.max(1, Math.round(rate / POSTS_PER_SECOND)));
  return runSimulation({
    traffic: {
      seed,
      startSeconds,
      periodSeconds: PERIOD_SECONDS,
      events,
      twins: false,
      missingIds: false,
      poison: false,
    },
    posting: { batch, duplicates, shuffle },
    url: url(),
    privateKey,
    ledger: { ...databaseLedger(pool, SOURCE), pending: async () => pendingOf(pool, source) },
    concurrency: CONCURRENCY,
    rate,
    signal: abort.posting.signal,
    onStep(step) {
      abort.all.signal.throwIfAborted();
      noteStep(run, step);
    },
    // Somebody who ends the posting does not wait for the pace; whoever ends the process waits for nothing.
    wait: async (ms) => {
      const { signal } = run.phase === "posting" ? abort.posting : abort.all;
      await delay(ms, undefined, { signal }).catch((error: unknown) => {
        if (abort.all.signal.aborted) throw error;
      });
    },
  });
}

/** Of this source only: real mail keeps coming, and must not be waited for. */
async function pendingOf(pool: Pool, source: number): Promise<number> {
  const { rows } = await pool.query<{ count: number }>(
    `SELECT count(*) AS count FROM inbox i JOIN receipts r ON r.id = i.receipt AND r.received_at = i.received_at
     WHERE r.source = $1`,
    [source],
  );
  return rows[0]?.count ?? 0;
}

function noteStep(run: JobRun, step: SimulationStep): void {
  if (step.step === "send") {
    run.acknowledged = step.done;
    run.posts = { sent: step.posts, again: step.retries };
  } else run.phase = step.step === "project" ? "filing" : "comparing";
}

/** Disturbs the ledger as ordered, for as long as there is anything to disturb. */
async function interfere(run: JobRun, options: InterferenceOptions): Promise<void> {
  const isOver = (): boolean => options.signal.aborted || run.phase === "comparing";
  const repeat = async (disturb: (given: InterferenceOptions) => Promise<Interference>): Promise<boolean> => {
    while (!isOver()) {
      if ((await disturb(options)) === "forced") return true;
      // A database that is away answers at once.
      await delay(PAUSE_MS);
    }
    return false;
  };
  const left = run.order.deadlocks;
  if (run.order.dropConnection && left === 0 && (await repeat(dropConnection))) run.forced.connections += 1;
  for (let done = 0; done < left; done += 1) {
    const { retries } = run.figures;
    if (await repeat(forceDeadlock)) run.forced.deadlocks += 1;
    // A retry is counted by the transaction that it saves. The next disturbance must not hit that one.
    const untilMs = performance.now() + RESCUE_MS_MAX;
    while (!isOver() && run.figures.retries === retries && performance.now() < untilMs) await delay(PAUSE_MS);
    // In the middle of the deadlocks, so that both are seen.
    const isHalf = done === Math.floor((left - 1) / 2);
    if (isHalf && run.order.dropConnection && (await repeat(dropConnection))) run.forced.connections += 1;
  }
}

const PAUSE_MS = 100;
/** A first retry comes after half a second. */
const RESCUE_MS_MAX = 5_000;

function toResult(report: SimulationReport, startSeconds: number): JobResult {
  const { acknowledged, pending, comparison, sent, seconds } = report;
  return {
    flawless: isFlawless(report),
    start: new Date(startSeconds * 1000).toISOString(),
    seconds,
    acknowledged,
    processed: comparison?.processed ?? 0,
    lost: comparison?.lost ?? 0,
    double: comparison?.double ?? 0,
    pending,
    givenUp: sent.givenUp,
    lostIds: comparison?.examples.lost ?? [],
    doubleIds: comparison?.examples.double ?? [],
  };
}
