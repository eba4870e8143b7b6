import { RECONCILE_ASKED_KEPT_MAX, RECONCILE_RESUME_SECONDS } from "../limits.ts";
import type { Pool } from "../postgres/pool.ts";
import type { TimeRange } from "../sendgrid/query.ts";
import type { Coverage } from "./coverage.ts";

/** What an unfinished run remembers, so that another process goes on with it. */
export interface Progress {
  /** `account day` of what is finished. */
  done: string[];
  /** Messages asked for, the latest RECONCILE_ASKED_KEPT_MAX. */
  asked: string[];
  /** Which times of which lists were asked for. */
  coverage: Record<string, TimeRange[]>;
  /** How far it is, for people. */
  days: { done: number; total: number };
}

export interface Run {
  id: number;
  calls: number;
  done: Set<string>;
  asked: Set<string>;
  coverage: Coverage;
}

export interface RunRequest {
  fromDay: string;
  toDay: string;
  repair: boolean;
  name: string;
}

/**
 * Begins a run, or goes on with one of the same days that was not finished. Whoever calls this holds the lock: other runs
 * that seem to be going on were left by a process that is gone.
 */
export async function beginRun(pool: Pool, request: RunRequest, now: Date): Promise<Run> {
  const { fromDay, toDay, repair, name } = request;
  const found = await pool.query<{ id: number; calls: number; progress: Partial<Progress> }>(
    `SELECT id, calls, progress FROM reconciliation_runs
     WHERE state = 'running' AND from_day = $1 AND to_day = $2 AND repair = $3 AND started_at > $4::timestamptz - make_interval(secs => $5)
     ORDER BY id DESC LIMIT 1`,
    [fromDay, toDay, repair, now, RECONCILE_RESUME_SECONDS],
  );
  const [unfinished] = found.rows;
  await pool.query(
    `UPDATE reconciliation_runs SET state = 'failed', finished_at = $2, error = 'It was interrupted, and not gone on with.'
     WHERE state = 'running' AND id IS DISTINCT FROM $1`,
    [unfinished?.id ?? null, now],
  );
  if (unfinished !== undefined) {
    const { done = [], asked = [], coverage = {} } = unfinished.progress;
    const { id, calls } = unfinished;
    return { id, calls, done: new Set(done), asked: new Set(asked), coverage: new Map(Object.entries(coverage)) };
  }
  const inserted = await pool.query<{ id: number }>(
    `INSERT INTO reconciliation_runs (from_day, to_day, repair, name, started_at) VALUES ($1, $2, $3, $4, $5) RETURNING id`,
    [fromDay, toDay, repair, name, now],
  );
  const id = inserted.rows[0]?.id;
  if (id === undefined) throw new Error("a run was not inserted");
  return { id, calls: 0, done: new Set(), asked: new Set(), coverage: new Map() };
}

export async function saveProgress(
  pool: Pool,
  run: Run,
  { calls, days }: { calls: number; days: Progress["days"] },
): Promise<void> {
  const progress: Progress = {
    done: [...run.done],
    asked: [...run.asked].slice(-RECONCILE_ASKED_KEPT_MAX),
    coverage: Object.fromEntries(run.coverage),
    days,
  };
  await pool.query("UPDATE reconciliation_runs SET calls = $2, progress = $3 WHERE id = $1", [run.id, calls, progress]);
}

export async function endRun(
  pool: Pool,
  run: Run,
  { calls, now, error }: { calls: number; now: Date; error?: string },
): Promise<void> {
  await pool.query(
    `UPDATE reconciliation_runs SET state = $2, calls = $3, finished_at = $4, error = $5, progress = progress - 'asked' - 'coverage' WHERE id = $1`,
    [run.id, error === undefined ? "finished" : "failed", calls, now, error ?? null],
  );
}
