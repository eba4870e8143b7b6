import type { Pool } from "../postgres/pool.ts";

/** Any fixed numbers: whoever holds the first reconciles, whoever holds the second keeps the schedule. */
const RECONCILE_LOCK = 4_711_006;
const SCHEDULE_LOCK = 4_711_007;
export type LockName = "reconcile" | "schedule";
const LOCKS: Readonly<Record<LockName, number>> = { reconcile: RECONCILE_LOCK, schedule: SCHEDULE_LOCK };

/** A lock that this process holds until it is released, or until its connection is lost. */
export interface HeldLock {
  /** Aborted when the connection that holds the lock is lost: somebody else may have it by then. */
  lost: AbortSignal;
  release(): Promise<void>;
}

/** Takes a lock on a connection of its own; undefined when another has it. */
export async function tryLock(pool: Pool, name: LockName): Promise<HeldLock | undefined> {
  const connection = await pool.connect();
  const lost = new AbortController();
  const onError = (): void => lost.abort(new Error("the connection that held the lock was lost"));
  connection.on("error", onError);
  const end = (isBroken: boolean): void => {
    connection.off("error", onError);
    connection.release(isBroken);
  };
  try {
    const { rows } = await connection.query<{ held: boolean }>("SELECT pg_try_advisory_lock($1) AS held", [
      LOCKS[name],
    ]);
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
      const unlocked = await connection.query("SELECT pg_advisory_unlock($1)", [LOCKS[name]]).catch(() => undefined);
      // A connection that may still hold the lock is closed, never handed on.
      end(unlocked === undefined || lost.signal.aborted);
    },
  };
}
