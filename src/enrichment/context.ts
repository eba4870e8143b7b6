import type { Log } from "../log.ts";
import { deadlockRetries, enrichmentCalls } from "../metrics.ts";
import type { Connection, Pool } from "../postgres/pool.ts";
import { DeadlockRetriesExhausted, transaction } from "../postgres/transaction.ts";
import type { ApiClient } from "../sendgrid/api-client.ts";
import type { Answer, ProviderApi } from "../sendgrid/api-types.ts";
import { noteAnswered, noteForbidden, noteLimited, noteUnavailable } from "../sendgrid/budget.ts";
import type { Now } from "./queue.ts";

/** What every step of enrichment works with. */
export interface Context {
  pool: Pool;
  log: Log;
  client: ApiClient;
  callsPerMinute: number;
  enrichSimulated: boolean;
  gatherSeconds: number;
  now: () => Now;
  /** The calls under way are being ended: what they answer says nothing about SendGrid. */
  isStopping: () => boolean;
}

/** How a step went: whether it did something, else after how long it may. */
export type Step = { done: true } | { done: false; waitSeconds: number };

export const DONE: Step = { done: true };
export const NOTHING_TO_DO: Step = { done: false, waitSeconds: 0 };

/** Runs `work` in one transaction; a retry after a deadlock is counted and logged. */
export async function inTransaction<T>(context: Context, work: (tx: Connection) => Promise<T>): Promise<T> {
  let retries = 0;
  const onRetry = (retry: number): void => {
    retries = retry;
    deadlockRetries.inc({ result: "attempted" });
    context.log.warn({ retry }, "deadlock while enriching: tried again");
  };
  try {
    const value = await transaction(context.pool, work, { onRetry });
    if (retries > 0) deadlockRetries.inc({ result: "rescued" });
    return value;
  } catch (error) {
    if (error instanceof DeadlockRetriesExhausted) deadlockRetries.inc({ result: "exhausted" });
    throw error;
  }
}

/** Makes a call and counts how it ended. */
export async function counted<A extends Answer<unknown>>(api: ProviderApi, call: Promise<A>): Promise<A> {
  const answer = await call;
  enrichmentCalls.inc({ api, result: answer.kind });
  return answer;
}

/**
 * Writes down how an API answered, so that all instances know, and says it in the log.
 *
 * @returns how many calls in a row, this one included, had no usable answer.
 */
export async function noteAnswer(context: Context, api: ProviderApi, answer: Answer<unknown>): Promise<number> {
  const { pool, log } = context;
  const now = context.now();
  switch (answer.kind) {
    case "ok":
      await noteAnswered(pool, api, answer.waitSeconds, now);
      return 0;
    case "not_found":
      await noteAnswered(pool, api, undefined, now);
      return 0;
    case "rate_limited":
      await noteLimited(pool, api, answer.waitSeconds, now);
      log.info({ api, waitSeconds: answer.waitSeconds }, "SendGrid's API asks for a pause");
      return 0;
    case "forbidden":
      await noteForbidden(pool, api, answer.reason, now);
      log.warn({ api, reason: answer.reason }, "SendGrid's API refuses this key: it is not asked any more for now");
      return 0;
    case "unavailable":
    case "bad_request": {
      const { reason } = answer;
      const failures = await noteUnavailable(pool, api, reason, now);
      log[failures < 3 ? "info" : "warn"]({ api, failures, reason }, "SendGrid's API gave no usable answer");
      return failures;
    }
  }
}
