import { UsageError } from "../errors.ts";
import { tryLock } from "../postgres/advisory-lock.ts";
import type { Pool } from "../postgres/pool.ts";

/**
 * Runs `work` while no other replay of receipts runs on this database: two at once would both add the same correction to
 * a tally. The lock ends with its connection, so a process that is killed leaves none behind.
 *
 * @throws UsageError when another replay is under way.
 */
export async function withReplayLock<T>(pool: Pool, work: () => Promise<T>): Promise<T> {
  const lock = await tryLock(pool, "replay");
  if (lock === undefined) throw new UsageError("another replay is under way on this database");
  try {
    return await work();
  } finally {
    await lock.release();
  }
}
