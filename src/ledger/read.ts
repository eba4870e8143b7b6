import { ClientError, sqlState } from "../errors.ts";
import { READ_STATEMENT_MS_MAX, READS_CONCURRENT_MAX, READS_WAITING_MAX } from "../limits.ts";
import type { Connection, Pool } from "../postgres/pool.ts";

const QUERY_CANCELED = "57014";

/** Runs several statements that see one and the same moment, and writes nothing. */
export type Read = <T>(work: (tx: Connection) => Promise<T>) => Promise<T>;

export interface ReadOptions {
  statementMsMax?: number;
  concurrentMax?: number;
  waitingMax?: number;
}

/**
 * Makes the way into the ledger for everything that only looks: READ ONLY transactions on one snapshot, few at a time,
 * each statement with a time limit, so that no search can slow down what comes in.
 *
 * A read throws ClientError `query_too_slow` when a statement was stopped, and `busy` when too many wait already.
 */
export function createRead(pool: Pool, options: ReadOptions = {}): Read {
  const { statementMsMax = READ_STATEMENT_MS_MAX, concurrentMax = READS_CONCURRENT_MAX } = options;
  const takeSlot = createSlots(concurrentMax, options.waitingMax ?? READS_WAITING_MAX);
  return async (work) => {
    const freeSlot = await takeSlot();
    try {
      return await readTransaction(pool, statementMsMax, work);
    } catch (error) {
      if (sqlState(error) === QUERY_CANCELED) throw new ClientError("query_too_slow");
      throw error;
    } finally {
      freeSlot();
    }
  };
}

async function readTransaction<T>(
  pool: Pool,
  statementMsMax: number,
  work: (tx: Connection) => Promise<T>,
): Promise<T> {
  const tx = await pool.connect();
  let broken = false;
  // Without a listener, a connection that dies between two statements would end the process.
  const onError = (): void => {
    broken = true;
  };
  tx.on("error", onError);
  try {
    await tx.query(`BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL statement_timeout = ${statementMsMax}`);
    return await work(tx);
  } finally {
    if (!broken) await tx.query("COMMIT").catch(onError);
    tx.off("error", onError);
    tx.release(broken);
  }
}

/** At most `concurrentMax` hold a slot; the others wait in the order they came. */
function createSlots(concurrentMax: number, waitingMax: number): () => Promise<() => void> {
  const waiting: (() => void)[] = [];
  let taken = 0;
  const free = (): void => {
    const next = waiting.shift();
    // A slot goes straight to who waits longest, so `taken` does not change.
    if (next === undefined) taken -= 1;
    else next();
  };
  return async () => {
    if (taken < concurrentMax) {
      taken += 1;
      return free;
    }
    if (waiting.length >= waitingMax) throw new ClientError("busy");
    await new Promise<void>((resolve) => waiting.push(resolve));
    return free;
  };
}
