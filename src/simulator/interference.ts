import { setTimeout as delay } from "node:timers/promises";
import { sqlState } from "../errors.ts";
import { PAGE_SIMULATION_LOCK_MS_MAX } from "../limits.ts";
import type { Connection, Pool } from "../postgres/pool.ts";

/**
 * `forced`: a projector was caught: its transaction was aborted by PostgreSQL, or its connection ended.
 * `missed`: nobody was filing at that moment, or PostgreSQL chose this side as the deadlock's victim.
 */
export type Interference = "forced" | "missed";

export interface InterferenceOptions {
  pool: Pool;
  /** The number of the simulated source whose rows are locked. */
  source: number;
  signal: AbortSignal;
}

const LOOK_MS = 20;

/**
 * Makes one real deadlock. A projector takes its locks in the order inbox, messages, tallies; this takes them from the
 * other end: first the source's tallies, and once a projector waits for those, the receipts that it holds in the inbox.
 * PostgreSQL finds the circle after its deadlock_timeout and aborts who began to wait first: the projector.
 */
export async function forceDeadlock(options: InterferenceOptions): Promise<Interference> {
  return holdTallies(options, async (tx, projector) => {
    try {
      await tx.query(
        `SELECT FROM inbox i JOIN receipts r ON r.id = i.receipt AND r.received_at = i.received_at
         WHERE r.source = $1 ORDER BY i.receipt DESC FOR UPDATE OF i`,
        [options.source],
      );
    } catch (error) {
      if (sqlState(error) !== undefined) return "missed";
      throw error;
    }
    // Whoever was waited for is gone, while the tallies it waits for are still held: it can only have been aborted.
    return (await isWaitingFor(options.pool, tx, projector)) ? "missed" : "forced";
  });
}

/** Ends the connection of a projector in mid-transaction, as a failover or a restarted proxy would. */
export async function dropConnection(options: InterferenceOptions): Promise<Interference> {
  return holdTallies(options, async (_tx, projector) => {
    const ended = await options.pool.query<{ ended: boolean }>("SELECT pg_terminate_backend($1) AS ended", [projector]);
    return ended.rows[0]?.ended === true ? "forced" : "missed";
  });
}

/** Locks the source's tallies until a projector waits for them, and then lets `work` go on. All locks end with it. */
async function holdTallies(
  { pool, source, signal }: InterferenceOptions,
  work: (tx: Connection, projector: number) => Promise<Interference>,
): Promise<Interference> {
  const tx = await pool.connect();
  let isBroken = false;
  const onError = (): void => {
    isBroken = true;
  };
  tx.on("error", onError);
  try {
    await tx.query("BEGIN; SET LOCAL lock_timeout = '5s'");
    const held = await tx.query(
      "SELECT FROM tallies WHERE source = $1 AND hour > now() - interval '2 hours' ORDER BY hour DESC FOR UPDATE",
      [source],
    );
    if (held.rowCount === 0) return "missed";
    const projector = await waitForProjector(pool, tx, signal);
    return projector === undefined ? "missed" : await work(tx, projector);
  } catch (error) {
    if (sqlState(error) === undefined) throw error;
    return "missed";
  } finally {
    if (!isBroken) await tx.query("ROLLBACK").catch(onError);
    tx.off("error", onError);
    tx.release(isBroken);
  }
}

async function waitForProjector(pool: Pool, tx: Connection, signal: AbortSignal): Promise<number | undefined> {
  const untilMs = performance.now() + PAGE_SIMULATION_LOCK_MS_MAX;
  while (performance.now() < untilMs && !signal.aborted) {
    const waiting = await waitingFor(pool, tx);
    if (waiting[0] !== undefined) return waiting[0];
    await delay(LOOK_MS);
  }
  return undefined;
}

async function isWaitingFor(pool: Pool, tx: Connection, projector: number): Promise<boolean> {
  return (await waitingFor(pool, tx)).includes(projector);
}

/** The server processes that wait for a lock of this connection. */
export async function waitingFor(pool: Pool, tx: Connection): Promise<number[]> {
  const { rows: own } = await tx.query<{ pid: number }>("SELECT pg_backend_pid() AS pid");
  const { rows } = await pool.query<{ pid: number }>(
    `SELECT pid FROM pg_stat_activity
     WHERE datname = current_database() AND wait_event_type = 'Lock' AND $1 = ANY (pg_blocking_pids(pid))`,
    [own[0]?.pid ?? 0],
  );
  return rows.map(({ pid }) => pid);
}
