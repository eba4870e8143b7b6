import { PROJECT_IDLE_MS } from "../limits.ts";
import type { Log } from "../log.ts";
import { createLoop, type Loop } from "../loop.ts";
import type { Pool } from "../postgres/pool.ts";

/** What can wait for the ledger, and how it is seen. */
const WAITING = {
  inbox: "SELECT FROM inbox WHERE next_attempt_at <= now()",
  replay: "SELECT FROM replay_orders",
  repair: "SELECT FROM repair_orders",
  purge: "SELECT FROM purge_orders",
};
type Work = keyof typeof WAITING;
const WORKS = Object.keys(WAITING) as Work[];

export interface WorkWatchOptions {
  pool: Pool;
  log: Log;
  /** Woken when there is something for them. They need not look by themselves. */
  loops: Readonly<Record<Work, Pick<Loop, "wake">>>;
}

export interface WorkWatch extends Loop {
  tick(): Promise<boolean>;
}

/**
 * Looks once a second for all loops of the ledger whether anything waits, in one statement: when each looked for itself,
 * in a transaction of its own, that was 12 of the 20 statements that an idle service asked a second.
 */
export function createWorkWatch({ pool, log, loops }: WorkWatchOptions): WorkWatch {
  const tick = async (): Promise<boolean> => {
    const { rows } = await pool.query<Record<Work, boolean>>({
      name: "look for work",
      text: `SELECT ${WORKS.map((work) => `EXISTS (${WAITING[work]}) AS ${work}`).join(", ")}`,
    });
    for (const work of WORKS) if (rows[0]?.[work] === true) loops[work].wake();
    return false;
  };
  return { tick, ...createLoop({ name: "work", log, tick, idleMs: PROJECT_IDLE_MS }) };
}
