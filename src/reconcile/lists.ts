import { RECONCILE_EARLIER_DAYS, RECONCILE_WINDOW_MESSAGES_MAX } from "../limits.ts";
import type { Pool } from "../postgres/pool.ts";
import type { ProviderApi } from "../sendgrid/api-types.ts";
import { LOG_STATUSES, quote, rangeQuery, type TimeRange } from "../sendgrid/query.ts";
import { readPatiently } from "./held.ts";

/** One question for a list: messages by the time the API lists them, and further conditions. */
export interface Window extends TimeRange {
  /** Only messages of this status. */
  status?: string;
  /** Messages API: only messages with one of these events, by that API's names for them. */
  events?: readonly string[];
}

const SECOND_MS = 1000;

/** The words for where a message stands: together they are all messages. */
const STATUSES: Readonly<Record<ProviderApi, readonly string[]>> = {
  logs: LOG_STATUSES,
  messages: ["processed", "delivered", "not_delivered"],
};

/** Which time of a message in the ledger is near the time by which an API lists it. */
const LISTED_AT: Readonly<Record<ProviderApi, string>> = { logs: "first_event_at", messages: "last_event_at" };

export function windowQuery(api: ProviderApi, window: Window): string {
  const conditions = [rangeQuery(api, window)];
  if (window.status !== undefined) {
    conditions.push(api === "logs" ? `status IN (${quote(window.status)})` : `status = ${quote(window.status)}`);
  }
  if (window.events !== undefined) {
    conditions.push(`(${window.events.map((event) => `Contains(events,${quote(event)})`).join(" OR ")})`);
  }
  return conditions.join(" AND ");
}

/**
 * Cuts a time into windows that hold few enough messages for one list each, by the messages the ledger knows. Whole
 * seconds; together they are the whole time.
 */
export async function planWindows(
  pool: Pool,
  api: ProviderApi,
  range: TimeRange,
  sources: readonly number[],
): Promise<Window[]> {
  const fromMs = Math.floor(range.fromMs / SECOND_MS) * SECOND_MS;
  const toMs = Math.ceil(range.toMs / SECOND_MS) * SECOND_MS;
  if (fromMs >= toMs) return [];
  const at = LISTED_AT[api];
  const rows = await readPatiently<{ at: Date }>(
    pool,
    `WITH seconds AS (
       SELECT date_trunc('second', ${at}) AS at, count(*) AS count FROM messages
       WHERE first_event_at >= $1::timestamptz - make_interval(days => ${RECONCILE_EARLIER_DAYS}) AND first_event_at < $2 AND ${at} >= $1 AND ${at} < $2
         AND source = ANY ($3) AND message_id IS NOT NULL GROUP BY 1
     ), summed AS (SELECT at, sum(count) OVER (ORDER BY at) AS upto FROM seconds)
     SELECT min(at) AS at FROM summed GROUP BY ceil(upto / ${RECONCILE_WINDOW_MESSAGES_MAX}.0) ORDER BY 1`,
    [new Date(fromMs), new Date(toMs), sources],
  );
  const cuts = rows.slice(1).map((row) => row.at.getTime());
  return [fromMs, ...cuts].map((cut, index) => ({ fromMs: cut, toMs: cuts[index] ?? toMs }));
}

/**
 * Chooses windows where there are more than calls for them: evenly spread over the time, and others in each run, so that
 * the nights until a day is final look at different parts of it. Test: lists.test.ts.
 */
export function sampleWindows(windows: readonly Window[], count: number, run: number): Window[] {
  if (windows.length <= count) return [...windows];
  const step = windows.length / Math.max(count, 1);
  const offset = run % Math.ceil(step);
  const places = Array.from({ length: count }, (_, index) => Math.floor(index * step) + offset);
  return places.flatMap((place) => windows[place % windows.length] ?? []);
}

/**
 * The parts of a window whose list was full: halves of its time, by the mail that the list showed; a single second by
 * status.
 *
 * Invariant: the parts together hold all that the window held, and each is strictly narrower. Test: lists.test.ts.
 *
 * @returns nothing when no narrower question exists.
 */
export function splitWindow(api: ProviderApi, window: Window, listedMs: readonly number[]): Window[] {
  if (window.toMs - window.fromMs > SECOND_MS) {
    const middleMs = middleOf(window, listedMs);
    return [
      { ...window, toMs: middleMs },
      { ...window, fromMs: middleMs },
    ];
  }
  if (window.status !== undefined) return [];
  const { fromMs, toMs, events } = window;
  return STATUSES[api].map((status) =>
    events === undefined ? { fromMs, toMs, status } : { fromMs, toMs, status, events },
  );
}

/** A whole second strictly inside the window. */
function middleOf({ fromMs, toMs }: Window, listedMs: readonly number[]): number {
  const sorted = listedMs.filter((ms) => ms >= fromMs && ms < toMs).sort((a, b) => a - b);
  const medianMs = sorted[Math.floor(sorted.length / 2)] ?? (fromMs + toMs) / 2;
  const middleMs = Math.floor(medianMs / SECOND_MS) * SECOND_MS;
  return Math.min(Math.max(middleMs, fromMs + SECOND_MS), toMs - SECOND_MS);
}
