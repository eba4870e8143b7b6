import type { Connection, Pool } from "./pool.ts";

/**
 * The numbers of all advisory locks that Holdfast takes, of a session or of a transaction. Any will do, but they stay as
 * they are, since processes of two versions may share a database.
 *
 * Invariant: no number stands here twice, or two that have nothing to do with each other would keep each other out.
 * Test: advisory-lock.pg.test.ts.
 */
export const ADVISORY_LOCKS = {
  /** Whoever migrates. */
  migrate: 4_711_001,
  /** Whoever makes partitions of receipts. */
  partitions: 4_711_002,
  /** Whoever looks for alerts; the other instances need not. */
  alerts: 4_711_003,
  /** Whoever plans what enrichment asks next. */
  enrichment: 4_711_005,
  /** Whoever replays receipts. */
  replay: 4_711_006,
  /** Whoever keeps the schedule of reconciliation. */
  schedule: 4_711_007,
  /** Whoever reconciles. */
  reconcile: 4_711_008,
  /** Whoever makes or replaces API tokens. */
  tokens: 4_711_010,
  /** Whoever runs the one simulation of the database. */
  simulation: 4_711_020,
  /** Whoever stores a dictionary of receipts. */
  dictionary: 4_711_012,
  /** Whoever orders a reconciliation, so that two at once do not pass the bound together. */
  reconciliationOrders: 4_711_060,
} as const;

export type LockName = keyof typeof ADVISORY_LOCKS;

/** A lock that this process holds until it is released, or until its connection is lost. */
export interface HeldLock {
  /** Aborted when the connection that holds the lock is lost: somebody else may have it by then. */
  lost: AbortSignal;
  release(): Promise<void>;
}

/** Takes a lock on a connection of its own, so that a killed process leaves none behind; undefined when another has it. */
export async function tryLock(pool: Pool, name: LockName): Promise<HeldLock | undefined> {
  const number = ADVISORY_LOCKS[name];
  const connection = await pool.connect();
  const lost = new AbortController();
  // Without a listener, a connection that dies meanwhile would end the process.
  const onError = (): void => lost.abort(new Error("the connection that held the lock was lost"));
  connection.on("error", onError);
  const end = (isBroken: boolean): void => {
    connection.off("error", onError);
    connection.release(isBroken);
  };
  try {
    const { rows } = await connection.query<{ held: boolean }>("SELECT pg_try_advisory_lock($1) AS held", [number]);
    if (rows[0]?.held !== true) {
      end(false);
      return undefined;
    }
  } catch (error) {
    end(true);
    throw error;
  }
  return {
    lost: lost.signal,
    async release() {
      const unlocked = await connection.query("SELECT pg_advisory_unlock($1)", [number]).catch(() => undefined);
      // A connection that may still hold the lock is closed, never handed on.
      end(unlocked === undefined || lost.signal.aborted);
    },
  };
}

/** Takes a lock until this transaction ends; waits while another has it. */
export async function lockTransaction(tx: Connection, name: LockName): Promise<void> {
  await tx.query("SELECT pg_advisory_xact_lock($1)", [ADVISORY_LOCKS[name]]);
}

/** Takes a lock until this transaction ends. @returns false when another has it. */
export async function tryLockTransaction(tx: Connection, name: LockName): Promise<boolean> {
  const { rows } = await tx.query<{ held: boolean }>("SELECT pg_try_advisory_xact_lock($1) AS held", [
    ADVISORY_LOCKS[name],
  ]);
  return rows[0]?.held === true;
}
