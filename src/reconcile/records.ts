import {
  ENRICH_CALLS_RESERVED,
  RECONCILE_LIMITED_MAX,
  RECONCILE_TRIES_MAX,
  RECORDS_CALLS_PER_MINUTE,
} from "../limits.ts";
import type { Log } from "../log.ts";
import { reconciliationCalls } from "../metrics.ts";
import type { Pool } from "../postgres/pool.ts";
import type { Answer, ApiList, ProviderApi } from "../sendgrid/api-types.ts";
import {
  CALLS_KEPT_MAX,
  noteAnswered,
  noteForbidden,
  noteLimited,
  noteUnavailable,
  takeCall,
  type BudgetName,
} from "../sendgrid/budget.ts";
import type { RecordedMessage, StatsDay, SuppressionPage } from "../sendgrid/record-types.ts";
import type { RecordsClient, SuppressionQuery } from "../sendgrid/records-client.ts";

/**
 * How a question ended, after all waiting and trying again. `refused` holds for every other question of this account and
 * run: the API may not be asked, or does not answer.
 */
export type Told<T> =
  | { kind: "ok"; value: T }
  | { kind: "not_found" }
  | { kind: "refused" }
  | { kind: "failed"; reason: string };

/** SendGrid's records, asked within the budget that all processes share. Every function throws when it is aborted. */
export interface Records {
  stats(account: string, range: { from: string; to: string }): Promise<Told<StatsDay[]>>;
  suppressions(account: string, page: SuppressionQuery): Promise<Told<SuppressionPage>>;
  list(account: string, api: ProviderApi, query: string): Promise<Told<ApiList>>;
  message(account: string, api: ProviderApi, messageId: string): Promise<Told<RecordedMessage>>;
  /** Whether this account may not use this API, as far as is known. */
  isRefused(account: string, name: BudgetName): boolean;
}

export interface RecordsOptions {
  pool: Pool;
  log: Log;
  client: RecordsClient;
  callsPerMinute: number;
  /** For tests; undefined: the database's clock. */
  now: (() => Date) | undefined;
  /** Waits so many seconds, or throws when it is aborted. */
  wait: (seconds: number) => Promise<void>;
  onCall: () => void;
  signal: AbortSignal | undefined;
}

export function createRecords(options: RecordsOptions): Records {
  const { client, log, signal } = options;
  const refused = new Set<string>();

  async function ask<T>(name: BudgetName, account: string, call: () => Promise<Answer<T>>): Promise<Told<T>> {
    const place = `${name} ${account}`;
    if (refused.has(place)) return { kind: "refused" };
    let failures = 0;
    for (let limited = 0; limited <= RECONCILE_LIMITED_MAX;) {
      await waitForCall(options, name);
      options.onCall();
      const answer = await call();
      // What a call that is being ended answers says nothing about SendGrid.
      signal?.throwIfAborted();
      reconciliationCalls.inc({ api: name, result: answer.kind });
      await note(options, { name, account }, answer);
      switch (answer.kind) {
        case "ok":
          return { kind: "ok", value: answer.value };
        case "not_found":
          return answer;
        case "forbidden":
          refused.add(place);
          return { kind: "refused" };
        case "bad_request":
          return { kind: "failed", reason: answer.reason };
        case "rate_limited":
          limited += 1;
          break;
        case "unavailable":
          failures += 1;
          if (failures < RECONCILE_TRIES_MAX) break;
          log.warn(
            { api: name, reason: answer.reason },
            "SendGrid's API does not answer: this check goes on without it",
          );
          refused.add(place);
          return { kind: "refused" };
      }
    }
    return { kind: "failed", reason: "SendGrid's API asked for a pause again and again" };
  }

  return {
    stats: async (account, range) => ask("stats", account, async () => client.stats(range, account)),
    suppressions: async (account, page) => ask("suppressions", account, async () => client.suppressions(page, account)),
    list: async (account, api, query) => ask(api, account, async () => client.list(api, query, account)),
    message: async (account, api, messageId) => ask(api, account, async () => client.message(api, messageId, account)),
    isRefused: (account, name) => refused.has(`${name} ${account}`),
  };
}

/** Waits for a call of the shared budget. */
async function waitForCall(options: RecordsOptions, name: BudgetName): Promise<void> {
  const { pool, now, wait, signal } = options;
  for (;;) {
    signal?.throwIfAborted();
    const isShared = name === "logs" || name === "messages";
    const perMinute = isShared ? options.callsPerMinute : RECORDS_CALLS_PER_MINUTE;
    const reserve = isShared ? await callsLeftToOthers(options) : 0;
    const permit = await takeCall(pool, name, perMinute, { now: now?.(), reserve });
    if (permit.granted) return;
    await wait(permit.waitSeconds);
  }
}

/** One call for people, and half of all while enrichment has something to ask. */
async function callsLeftToOthers({ pool, callsPerMinute, now }: RecordsOptions): Promise<number> {
  const due = await pool.query(
    "SELECT FROM enrichments WHERE state = 'pending' AND next_attempt_at <= coalesce($1::timestamptz, now()) LIMIT 1",
    [now?.() ?? null],
  );
  const half = Math.floor(Math.min(callsPerMinute, CALLS_KEPT_MAX) / 2);
  return ENRICH_CALLS_RESERVED + (due.rows.length > 0 ? half : 0);
}

/** Writes down how an API answered, so that all processes know. */
async function note(
  { pool, log, now }: RecordsOptions,
  { name, account }: { name: BudgetName; account: string },
  answer: Answer<unknown>,
): Promise<void> {
  const at = now?.();
  switch (answer.kind) {
    case "ok":
      return noteAnswered(pool, name, answer.waitSeconds, at);
    case "not_found":
    case "bad_request":
      return noteAnswered(pool, name, undefined, at);
    case "rate_limited":
      log.info({ api: name, waitSeconds: answer.waitSeconds }, "SendGrid's API asks for a pause");
      return noteLimited(pool, name, answer.waitSeconds, at);
    case "forbidden":
      log.info({ api: name, subuser: account !== "", reason: answer.reason }, "SendGrid's API refuses this key");
      // What a subuser may not do says nothing about the key.
      return account === "" ? noteForbidden(pool, name, answer.reason, at) : undefined;
    case "unavailable":
      log.info({ api: name, reason: answer.reason }, "SendGrid's API gave no usable answer");
      await noteUnavailable(pool, name, answer.reason, at);
  }
}
