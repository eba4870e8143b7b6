import type { ApiMessage } from "./api-types.ts";

/** What SendGrid's records say beyond its lists of messages: totals, suppression lists, and single events. */

/** The totals of GET /v3/stats, by their own names. */
export const STATS_METRICS = [
  "blocks",
  "bounce_drops",
  "bounces",
  "clicks",
  "deferred",
  "delivered",
  "invalid_emails",
  "opens",
  "processed",
  "requests",
  "spam_report_drops",
  "spam_reports",
  "unique_clicks",
  "unique_opens",
  "unsubscribe_drops",
  "unsubscribes",
] as const;
export type StatsMetric = (typeof STATS_METRICS)[number];

/** A day's totals; the day is one of the account's time zone, YYYY-MM-DD. A metric that an answer lacks counts as 0. */
export interface StatsDay {
  day: string;
  metrics: Record<StatsMetric, number>;
}

export const SUPPRESSION_LISTS = ["bounces", "blocks", "spam_reports", "invalid_emails", "unsubscribes"] as const;
export type SuppressionList = (typeof SUPPRESSION_LISTS)[number];

/** An address on a list, and since when. One row an address, not one an event; people can delete rows. */
export interface SuppressionEntry {
  list: SuppressionList;
  email: string;
  createdAt: Date;
  reason: string | undefined;
  status: string | undefined;
}

export interface SuppressionPage {
  entries: SuppressionEntry[];
  /** As many rows as a page can hold: ask for the next offset. */
  full: boolean;
  /** Rows that name no address or no time. */
  unreadable: number;
}

/** One event that SendGrid's records know of. */
export interface RecordedEvent {
  /** The webhook's name for it, lower case. Both APIs' names are turned into these. */
  type: string;
  occurredAtMs: number;
  /** undefined in the Messages API and the CSV export, which have no ids. */
  eventId: string | undefined;
  /** As the webhook would have posted it, as far as the record tells: email, event, timestamp, sg_message_id, … */
  item: Record<string, unknown>;
}

/** A single message with the events that its API tells. */
export interface RecordedMessage extends ApiMessage {
  events: RecordedEvent[];
  /** The API tells only the newest 100: older ones may be missing here. */
  truncated: boolean;
  /** Events that could not be understood, and are left out. */
  unreadable: number;
}
