import type { Log } from "../log.ts";
import { createLoop, type Loop } from "../loop.ts";
import { lockTransaction } from "../postgres/advisory-lock.ts";
import type { Pool } from "../postgres/pool.ts";
import { transaction } from "../postgres/transaction.ts";

/** This month and the two after it: a service that sleeps for weeks still finds its partition. */
const MONTHS_AHEAD = 2;

const CHECK_MS = 6 * 60 * 60 * 1000;

/** Looks four times a day; at the first of a month the partition has long been there. */
export function createPartitionKeeper(options: { pool: Pool; log: Log }): Loop {
  const { pool, log } = options;
  const tick = async (): Promise<boolean> => {
    await ensurePartitions(pool, new Date());
    return false;
  };
  return createLoop({ name: "partitions", log, tick, idleMs: CHECK_MS });
}

/**
 * Makes the partitions of `receipts` for this month and the next two. A month whose rows already went to the default
 * partition (a clock that ran ahead) stays there: nothing is moved, nothing is lost.
 */
export async function ensurePartitions(pool: Pool, now: Date): Promise<void> {
  for (let ahead = 0; ahead <= MONTHS_AHEAD; ahead += 1) {
    const from = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + ahead, 1));
    const to = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + ahead + 1, 1));
    const name = `receipts_${from.toISOString().slice(0, 7).replace("-", "_")}`;
    await transaction(pool, async (tx) => {
      await lockTransaction(tx, "partitions");
      const known = await tx.query(
        `SELECT FROM pg_class WHERE oid = to_regclass($1)
         UNION ALL (SELECT FROM receipts_default WHERE received_at >= $2 AND received_at < $3 LIMIT 1)`,
        [name, from, to],
      );
      if (known.rowCount !== 0) return;
      await tx.query(
        `CREATE TABLE ${name} PARTITION OF receipts FOR VALUES FROM ('${from.toISOString()}') TO ('${to.toISOString()}')`,
      );
    });
  }
}
