import { setTimeout as delay } from "node:timers/promises";
import { sqlState } from "../errors.ts";
import { DEADLOCK_JITTER, DEADLOCK_RETRY_MS } from "../limits.ts";
import type { Connection, Pool } from "./pool.ts";
import { together } from "./together.ts";

const DEADLOCK_DETECTED = "40P01";

/** All five retries met a deadlock again. `cause` is the last one. */
export class DeadlockRetriesExhausted extends Error {
  override readonly name = "DeadlockRetriesExhausted";
  readonly retries = DEADLOCK_RETRY_MS.length;
}

/** Settings of PostgreSQL that hold in one transaction alone, by their names. */
export type Settings = Readonly<Record<string, string>>;

/**
 * For transactions whose statements are prepared and look rows up.
 *
 * Invariant: what they read does not grow with the ledger, whatever statistics there are. A prepared plan that was made while a
 * table was small would read all of it each time until the statistics change: in a campaign of 60 s into an empty ledger
 * the merge alone cost 18 ms a batch, with an index 0.5. These settings leave no such choice.
 * Tests: plans.pg.test.ts.
 */
export const BY_INDEX: Settings = { enable_seqscan: "off" };

/** What begins a transaction, with its settings in the same round trip. */
export function beginWith(begin: string, settings: Settings): string {
  return [begin, ...Object.entries(settings).map(([name, value]) => `SET LOCAL ${name} = ${value}`)].join("; ");
}

/** What the work of a transaction is given beside its connection. */
export interface Steps<F> {
  /** Which retry this is; 0 at first. */
  retry: number;
  /** What `TransactionOptions.first` found. */
  first: F;
  /** Has `send` called with the commit: its statement goes out in the same round trip, so nothing can wait for its answer. */
  withCommit(send: () => Promise<unknown>): void;
}

export interface TransactionOptions<F = undefined> {
  settings?: Settings;
  /**
   * The first statement, which goes out with the beginning, in one round trip. It must change nothing: should the beginning fail,
   * it would run in no transaction.
   */
  first?: (tx: Connection) => Promise<F>;
  /** Called before each retry's wait; `retry` counts from 1. */
  onRetry?: (retry: number) => void;
  /** Waits that many milliseconds; tests pass their own. */
  wait?: ((ms: number) => Promise<unknown>) | undefined;
}

/**
 * Runs `work` in one transaction and gives its value once COMMIT has returned.
 *
 * Invariant: a deadlock (SQLSTATE 40P01, and nothing else) is retried, at most five times, after 0.5, 1.0, 1.5, 2.0 and
 * 2.5 s, each with jitter; any other error is raised at once. `work` is told which retry it is in, so that it can count itself in
 * the transaction that succeeds. Test: transaction.pg.test.ts.
 *
 * @throws DeadlockRetriesExhausted when the fifth retry deadlocks too; any other error of `work` as it is.
 */
export async function transaction<T, F = undefined>(
  pool: Pool,
  work: (tx: Connection, steps: Steps<F>) => Promise<T>,
  options: TransactionOptions<F> = {},
): Promise<T> {
  const { onRetry, wait = delay } = options;
  for (let retry = 0; ; retry += 1) {
    try {
      return await attempt(pool, work, { ...options, retry });
    } catch (error) {
      if (sqlState(error) !== DEADLOCK_DETECTED) throw error;
      const waitMs = DEADLOCK_RETRY_MS[retry];
      if (waitMs === undefined) {
        throw new DeadlockRetriesExhausted(`deadlocked in all of ${retry} retries`, { cause: error });
      }
      onRetry?.(retry + 1);
      await wait(waitMs * (1 + DEADLOCK_JITTER * (2 * Math.random() - 1)));
    }
  }
}

async function attempt<T, F>(
  pool: Pool,
  work: (tx: Connection, steps: Steps<F>) => Promise<T>,
  { settings = {}, first, retry }: TransactionOptions<F> & { retry: number },
): Promise<T> {
  const tx = await pool.connect();
  let broken: unknown;
  // Without a listener, a connection that dies between two statements would end the process.
  const onError = (error: unknown): void => {
    broken = error;
  };
  tx.on("error", onError);
  try {
    const [, found] = await together(tx, () => [tx.query(beginWith("BEGIN", settings)), first?.(tx)]);
    const last: (() => Promise<unknown>)[] = [];
    const value = await work(tx, { retry, first: found as F, withCommit: (send) => last.push(send) });
    const [{ command }] = await together(tx, () => {
      const answers = last.map((send) => send());
      return [tx.query("COMMIT"), ...answers];
    });
    // That is PostgreSQL's answer where a statement had failed, and it does not call it an error.
    if (command !== "COMMIT") throw new Error("the transaction was rolled back, since a statement in it had failed");
    return value;
  } catch (error) {
    if (broken === undefined) {
      await tx.query("ROLLBACK").catch((rollbackError: unknown) => {
        broken = rollbackError;
      });
    }
    throw error;
  } finally {
    tx.off("error", onError);
    // A connection in an unknown state is closed, never handed to the next user.
    tx.release(broken !== undefined);
  }
}
