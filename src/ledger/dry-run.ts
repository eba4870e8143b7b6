import type { Connection, Pool } from "../postgres/pool.ts";
import { BY_INDEX, transaction } from "../postgres/transaction.ts";

/** Ends the transaction of a dry run, and carries what was found out of it. */
class RolledBack<T> extends Error {
  override readonly name = "RolledBack";
  readonly value: T;

  constructor(value: T) {
    super("a dry run is rolled back");
    this.value = value;
  }
}

/** Runs `work` in one transaction that files, rolls it back and gives its value. What it took from sequences is not given back. */
export async function dryRun<T>(pool: Pool, work: (tx: Connection) => Promise<T>): Promise<T> {
  try {
    return await transaction(
      pool,
      async (tx): Promise<never> => {
        throw new RolledBack(await work(tx));
      },
      { settings: BY_INDEX },
    );
  } catch (error) {
    if (error instanceof RolledBack) return (error as RolledBack<T>).value;
    throw error;
  }
}
