import type { ProviderApi } from "./api-types.ts";

/** Message ids that begin with `text`, or, when `exact`, the one that is `text`. */
export interface IdPattern {
  text: string;
  exact: boolean;
}

/** The Email Logs API's words for where a message stands. */
export const LOG_STATUSES = ["delivered", "processed", "deferred", "dropped", "bounced", "blocked"] as const;
export type LogStatus = (typeof LOG_STATUSES)[number];

/** A further condition on a list, for moments that hold more messages than a list has rows. */
export type Narrowing =
  /** Messages API: ids that match any of these. */
  | { by: "id"; patterns: readonly IdPattern[] }
  /** Email Logs API: in one of these states and, where given, with one of these categories. */
  | { by: "status"; statuses: readonly LogStatus[]; categories?: readonly string[] };

/** Messages whose listed time is in [fromMs, toMs), in milliseconds since 1970. */
export interface TimeRange {
  fromMs: number;
  toMs: number;
}

const SECOND_MS = 1000;

/** A text as a literal. The escape character is the backslash, which is itself escaped. */
export function quote(text: string): string {
  return `"${text.replaceAll(/["\\]/g, String.raw`\$&`)}"`;
}

/** A time as a literal: without TIMESTAMP the API answers that the operator is incompatible with DATETIME. */
export function timestamp(ms: number): string {
  const text = new Date(ms).toISOString();
  return `TIMESTAMP "${ms % SECOND_MS === 0 ? text.replace(".000Z", "Z") : text}"`;
}

/**
 * The query for a time range. The Messages API searches by `last_event_time` and knows BETWEEN, both ends of which are
 * included; the Email Logs API searches by `sg_message_id_created_at` and knows only conditions joined by AND.
 */
export function rangeQuery(api: ProviderApi, range: TimeRange, only?: Narrowing): string {
  const conditions = api === "logs" ? logsRange(range) : messagesRange(range);
  if (only !== undefined) conditions.push(narrowingQuery(only));
  return conditions.join(" AND ");
}

/** The query for one message in a list, which tells its listed time; a single GET does not. */
export function idQuery(api: ProviderApi, messageId: string): string {
  return `${api === "logs" ? "sg_message_id" : "msg_id"} = ${quote(messageId)}`;
}

/** The condition on ids, as documented for finding a send's messages: msg_id LIKE "…%". */
export function patternQuery({ text, exact }: IdPattern): string {
  // % and _ in an id would match more than the id, which does no harm: rows are matched by their whole id.
  return exact ? `msg_id = ${quote(text)}` : `msg_id LIKE ${quote(`${text}%`)}`;
}

function logsRange({ fromMs, toMs }: TimeRange): string[] {
  return [`sg_message_id_created_at >= ${timestamp(fromMs)}`, `sg_message_id_created_at < ${timestamp(toMs)}`];
}

function messagesRange({ fromMs, toMs }: TimeRange): string[] {
  // Event times are whole seconds, so the last one before the end is a second before it. Finer ranges are only asked
  // for after the API has shown finer times.
  const isWhole = fromMs % SECOND_MS === 0 && toMs % SECOND_MS === 0;
  return [`last_event_time BETWEEN ${timestamp(fromMs)} AND ${timestamp(toMs - (isWhole ? SECOND_MS : 1))}`];
}

function narrowingQuery(only: Narrowing): string {
  if (only.by === "id") return `(${only.patterns.map(patternQuery).join(" OR ")})`;
  const { statuses, categories } = only;
  const conditions = [`status IN (${statuses.map(quote).join(", ")})`];
  if (categories !== undefined) conditions.push(`categories IN (${categories.map(quote).join(", ")})`);
  return conditions.join(" AND ");
}
