import { setTimeout as sleep } from "node:timers/promises";
import { ClientError, sqlState } from "../errors.ts";
import { READ_CANCEL_AGAIN_MS, READ_STATEMENT_MS_MAX, READS_CONCURRENT_MAX, READS_WAITING_MAX } from "../limits.ts";
import type { Connection, Pool } from "../postgres/pool.ts";
import { beginWith, type Settings } from "../postgres/transaction.ts";

const QUERY_CANCELED = "57014";

/**
 * Runs several statements that see one and the same moment, and writes nothing. Once `signal` aborts nobody waits for the
 * result any more: what is under way is cancelled in PostgreSQL. Statements that are prepared and
 * look rows up in what grows with the ledger are run with the settings `BY_INDEX`.
 */
export type Read = <T>(work: (tx: Connection) => Promise<T>, signal?: AbortSignal, settings?: Settings) => Promise<T>;

export interface ReadOptions {
  statementMsMax?: number;
  concurrentMax?: number;
  waitingMax?: number;
}

/**
 * Makes the way into the ledger for everything that only looks: READ ONLY transactions on one snapshot, few at a time,
 * each statement with a time limit, so that no search can slow down what comes in.
 *
 * A read throws ClientError `query_too_slow` when a statement was stopped, `busy` when too many wait already, and
 * `abandoned` when its signal aborted.
 */
export function createRead(pool: Pool, options: ReadOptions = {}): Read {
  const { statementMsMax = READ_STATEMENT_MS_MAX, concurrentMax = READS_CONCURRENT_MAX } = options;
  const takeSlot = createSlots(concurrentMax, options.waitingMax ?? READS_WAITING_MAX);
  return async (work, signal, settings = {}) => {
    const freeSlot = await takeSlot(signal);
    try {
      return await readTransaction(pool, {
        work,
        signal,
        settings: { statement_timeout: String(statementMsMax), ...settings },
      });
    } catch (error) {
      if (isAborted(signal)) throw new ClientError("abandoned");
      if (sqlState(error) === QUERY_CANCELED) throw new ClientError("query_too_slow");
      throw error;
    } finally {
      freeSlot();
    }
  };
}

function isAborted(signal: AbortSignal | undefined): boolean {
  return signal?.aborted === true;
}

function refuseAborted(signal: AbortSignal | undefined): void {
  if (isAborted(signal)) throw new ClientError("abandoned");
}

interface Job<T> {
  work: (tx: Connection) => Promise<T>;
  signal: AbortSignal | undefined;
  settings: Settings;
}

async function readTransaction<T>(pool: Pool, { work, signal, settings }: Job<T>): Promise<T> {
  const tx = await pool.connect();
  let broken = false;
  // Without a listener, a connection that dies between two statements would end the process.
  const onError = (): void => {
    broken = true;
  };
  tx.on("error", onError);
  try {
    refuseAborted(signal);
    const begin = beginWith("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", settings);
    if (signal === undefined) {
      await tx.query(begin);
      return await work(tx);
    }
    // By PostgreSQL's own word: what the driver knows may be a proxy's number.
    const begun: unknown = await tx.query(`${begin}; SELECT pg_backend_pid() AS pid`);
    const canceller = cancelWhenAborted(pool, pidOf(begun), signal);
    try {
      return await work(untilAborted(tx, signal));
    } finally {
      if (!(await canceller.settled())) broken = true;
    }
  } finally {
    if (!broken) await tx.query("COMMIT").catch(onError);
    tx.off("error", onError);
    tx.release(broken);
  }
}

/** Several statements in one query give a list of results, which the driver's types do not know. */
function pidOf(results: unknown): number {
  const { rows } = (results as { rows: { pid: number }[] }[]).at(-1) ?? { rows: [] };
  const [row] = rows;
  if (row === undefined) throw new Error("PostgreSQL did not name its process");
  return row.pid;
}

/** The same connection, which begins no further statement once the signal has aborted. */
function untilAborted(tx: Connection, signal: AbortSignal): Connection {
  // Whatever form of `query` is called: its arguments go through as they are.
  const connection = tx as unknown as { query: (...args: unknown[]) => unknown };
  const query = (...args: unknown[]): unknown => {
    refuseAborted(signal);
    return connection.query(...args);
  };
  return Object.create(tx, { query: { value: query } }) as Connection;
}

interface Canceller {
  /** Call when the work has ended, before anything else is asked of its connection. @returns false when it is not known whether a cancel is still on its way. */
  settled(): Promise<boolean>;
}

/**
 * Cancels what the process `pid` of PostgreSQL does, through another connection, when the signal aborts: again and again
 * until the work has ended, since a cancel that comes before its statement does nothing.
 *
 * Invariant: a cancel never hits a later query of the connection. Nothing is asked of it until the answer to the last
 * cancel is there; by then the signal has been sent, and PostgreSQL drops one that it receives while it waits for a
 * query. Where the answer does not come, the connection is not used again. (read-cancel.pg.test.ts)
 */
function cancelWhenAborted(pool: Pool, pid: number, signal: AbortSignal): Canceller {
  const ended = new AbortController();
  const cancel = async (): Promise<boolean> => {
    while (!ended.signal.aborted) {
      try {
        await pool.query("SELECT pg_cancel_backend($1)", [pid]);
      } catch {
        return false;
      }
      await sleep(READ_CANCEL_AGAIN_MS, undefined, { signal: ended.signal }).catch(() => undefined);
    }
    return true;
  };
  let cancelling: Promise<boolean> = Promise.resolve(true);
  const onAbort = (): void => {
    cancelling = cancel();
  };
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) onAbort();
  return {
    async settled() {
      signal.removeEventListener("abort", onAbort);
      ended.abort();
      return cancelling;
    },
  };
}

/** At most `concurrentMax` hold a slot; the others wait in the order they came, or until their signal aborts. */
function createSlots(concurrentMax: number, waitingMax: number): (signal?: AbortSignal) => Promise<() => void> {
  const waiting = new Set<() => void>();
  let taken = 0;
  const free = (): void => {
    const [next] = waiting;
    // A slot goes straight to who waits longest, so `taken` does not change.
    if (next === undefined) taken -= 1;
    else next();
  };
  return async (signal) => {
    refuseAborted(signal);
    if (taken < concurrentMax) {
      taken += 1;
      return free;
    }
    if (waiting.size >= waitingMax) throw new ClientError("busy");
    await new Promise<void>((resolve, reject) => {
      const leave = (): void => {
        waiting.delete(take);
        signal?.removeEventListener("abort", onAbort);
      };
      const take = (): void => {
        leave();
        resolve();
      };
      const onAbort = (): void => {
        leave();
        reject(new ClientError("abandoned"));
      };
      waiting.add(take);
      signal?.addEventListener("abort", onAbort, { once: true });
    });
    return free;
  };
}
