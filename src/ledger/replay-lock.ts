import { UsageError } from "../errors.ts";
import type { Pool } from "../postgres/pool.ts";

/** Any fixed number: whoever holds this advisory lock is the one that replays receipts. */
const REPLAY_LOCK = 4_711_006;

/**
 * Runs `work` while no other replay of receipts runs on this database: two at once would both add the same correction to
 * a tally. The lock ends with its connection, so a process that is killed leaves none behind.
 *
 * @throws UsageError when another replay is under way.
 */
export async function withReplayLock<T>(pool: Pool, work: () => Promise<T>): Promise<T> {
  const holder = await pool.connect();
  let broken = false;
  // Without a listener, a connection that dies meanwhile would end the process.
  const onError = (): void => {
    broken = true;
  };
  holder.on("error", onError);
  try {
    const { rows } = await holder.query<{ held: boolean }>("SELECT pg_try_advisory_lock($1) AS held", [REPLAY_LOCK]);
    if (rows[0]?.held !== true) throw new UsageError("another replay is under way on this database");
    return await work();
  } finally {
    if (!broken) await holder.query("SELECT pg_advisory_unlock($1)", [REPLAY_LOCK]).catch(onError);
    holder.off("error", onError);
    holder.release(broken);
  }
}
