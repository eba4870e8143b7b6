import type { MessageKind, MessageState } from "../../../src/views/contract.ts";
import { readColumns } from "./columns.ts";
import { startOfDay } from "./time.ts";

/** What the list of messages is asked for. The address of the page holds exactly this. */
export interface MessageFilters {
  q: string;
  /** A whole address: "all mails to this person". */
  recipient: string;
  state: StateFilter | "";
  /** What happened to it at any time, whatever came after. */
  kind: KindFilter | "";
  source: string;
  category: string;
  period: Period | "";
  /** The columns shown, as in text/columns.ts; empty for the reader's own choice. No part of the question. */
  columns: string;
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

/** Kinds that no state says: what happened on the way, and what is gone again. */
export const KIND_FILTERS = [
  "processed",
  "deferred",
  "delivered",
  "bounce",
  "blocked",
  "dropped",
  "open",
  "machine_open",
  "click",
  "spamreport",
  "unsubscribe",
  "group_resubscribe",
] as const satisfies readonly MessageKind[];
export type KindFilter = (typeof KIND_FILTERS)[number];

export const PERIODS = ["today", "week", "month"] as const;
export type Period = (typeof PERIODS)[number];

const PERIOD_DAYS: Readonly<Record<Period, number>> = { today: 0, week: 6, month: 29 };

/** Longer text in an address is not a search a person typed. The API takes no more either. */
const QUERY_CHARS_MAX = 500;
const SOURCE_CHARS_MAX = 63;

export const NO_FILTERS: MessageFilters = {
  q: "",
  recipient: "",
  state: "",
  kind: "",
  source: "",
  category: "",
  period: "",
  columns: "",
};

/** Whether anything narrows the list. */
export function isNarrowed({ columns: _columns, ...question }: MessageFilters): boolean {
  return Object.values(question).some((value) => value !== "");
}

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
    kind: oneOf(KIND_FILTERS, text("kind")),
    source: text("source").slice(0, SOURCE_CHARS_MAX),
    category: text("category"),
    period: oneOf(PERIODS, text("period")),
    columns: readColumns(text("columns")).join(","),
  };
}

/** The address of a list, with only what is set, always in the same order. */
export function messagesPath(filters: Partial<MessageFilters>): string {
  const query = new URLSearchParams();
  for (const name of ["q", "recipient", "state", "kind", "source", "category", "period", "columns"] as const) {
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
  if (filters.kind !== "") query.set("kind", filters.kind);
  if (filters.source !== "") query.set("source", filters.source);
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
  return partOf(pathname, /^\/messages\/([^/]+)$/);
}

/** The address of a person's page. */
export function recipientPath(address: string): string {
  return `/recipients/${encodeURIComponent(address)}`;
}

/** The person in the address of such a page; undefined when there is none. */
export function recipientOf(pathname: string): string | undefined {
  return partOf(pathname, /^\/recipients\/([^/]+)$/);
}

function partOf(pathname: string, pattern: RegExp): string | undefined {
  const encoded = pattern.exec(pathname)?.[1];
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
