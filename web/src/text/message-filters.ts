import type { MessageState } from "../../../src/views/contract.ts";
import { startOfDay } from "./time.ts";

/** What the list of messages is asked for. The address of the page holds exactly this. */
export interface MessageFilters {
  q: string;
  /** A whole address: "all mails to this person". */
  recipient: string;
  state: StateFilter | "";
  category: string;
  period: Period | "";
}

/** The states a person chooses from. "failed" is three of the API's states, which a person does not tell apart. */
export const STATE_FILTERS = [
  "delivered",
  "processed",
  "deferred",
  "failed",
  "bounced",
  "blocked",
  "dropped",
  "opened",
  "clicked",
  "complaint",
  "unsubscribed",
  "unknown",
] as const;
export type StateFilter = (typeof STATE_FILTERS)[number];

export const PERIODS = ["today", "week", "month"] as const;
export type Period = (typeof PERIODS)[number];

const PERIOD_DAYS: Readonly<Record<Period, number>> = { today: 0, week: 6, month: 29 };

/** Longer text in an address is not a search a person typed. The API takes no more either. */
const QUERY_CHARS_MAX = 500;

export const NO_FILTERS: MessageFilters = { q: "", recipient: "", state: "", category: "", period: "" };

function oneOf<T extends string>(choices: readonly T[], text: string): T | "" {
  return choices.find((choice) => choice === text) ?? "";
}

/** Reads the part of an address after "?". Total: what is not understood counts as not set. */
export function readFilters(search: string): MessageFilters {
  const query = new URLSearchParams(search);
  const text = (name: string): string => (query.get(name) ?? "").trim().slice(0, QUERY_CHARS_MAX);
  return {
    q: text("q"),
    recipient: text("recipient"),
    state: oneOf(STATE_FILTERS, text("state")),
    category: text("category"),
    period: oneOf(PERIODS, text("period")),
  };
}

/** The address of a list, with only what is set, always in the same order. */
export function messagesPath(filters: Partial<MessageFilters>): string {
  const query = new URLSearchParams();
  for (const name of ["q", "recipient", "state", "category", "period"] as const) {
    const value = filters[name];
    if (value !== undefined && value !== "") query.set(name, value);
  }
  const search = query.toString();
  return search === "" ? "/messages" : `/messages?${search}`;
}

/** A period as the start of a day in the reader's zone, ISO. */
export function periodStart(period: Period, now: number): string {
  const today = Date.parse(startOfDay(now));
  // By calendar and not by 24 hours, or a change of the clocks would shift it.
  const day = new Date(today);
  day.setDate(day.getDate() - PERIOD_DAYS[period]);
  return day.toISOString();
}

const API_STATES: Readonly<Record<StateFilter, readonly MessageState[]>> = {
  delivered: ["delivered"],
  processed: ["processed"],
  deferred: ["deferred"],
  failed: ["bounced", "blocked", "dropped"],
  bounced: ["bounced"],
  blocked: ["blocked"],
  dropped: ["dropped"],
  opened: ["opened"],
  clicked: ["clicked"],
  complaint: ["complaint"],
  unsubscribed: ["unsubscribed"],
  unknown: ["unknown"],
};

/** The same question as GET /api/messages takes it. */
export function apiQuery(filters: MessageFilters, now: number): URLSearchParams {
  const query = new URLSearchParams();
  if (filters.q !== "") query.set("q", filters.q);
  if (filters.recipient !== "") query.set("recipient", filters.recipient);
  if (filters.state !== "") query.set("state", API_STATES[filters.state].join(","));
  if (filters.category !== "") query.set("category", filters.category);
  if (filters.period !== "") query.set("from", periodStart(filters.period, now));
  return query;
}

/** The address of a message's page. Ids hold dots, and nameless ones a colon. */
export function messagePath(id: string): string {
  return `/messages/${encodeURIComponent(id)}`;
}

/** The id in the address of a message's page; undefined when it cannot be one. The path is the browser's, still encoded. */
export function messageIdOf(pathname: string): string | undefined {
  const encoded = /^\/messages\/([^/]+)$/.exec(pathname)?.[1];
  try {
    return encoded === undefined ? undefined : decodeURIComponent(encoded);
  } catch {
    return undefined;
  }
}

/** Where to go after signing in: only a path of this page, never another site. */
export function safeNext(next: string | null): string {
  if (next === null || !/^\/(?![/\\])/.test(next) || next.startsWith("/login")) return "/";
  // oxlint-disable-next-line no-control-regex -- Browsers drop control characters from addresses, and "/\t/host" becomes "//host".
  return /[\u0000-\u001f\\]/.test(next) ? "/" : next;
}
