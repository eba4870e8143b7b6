import { errors, forbidden, type Account, type Answer, type Asked, type Context } from "./api-context.ts";
import { LOGS_LANGUAGE, logDetail, logRow, readLogField } from "./logs-api.ts";
import { MESSAGES_LANGUAGE, messageDetail, messageRow, readMessageField } from "./messages-api.ts";
import { exactValues, matchesQuery, parseQuery, timeBounds, type Query } from "./query.ts";
import type { TruthMessage } from "./truth.ts";

/** The Messages and the Email Logs API: lists without pages, and single messages. */

export const LIST_ROWS_MAX = 1_000;
const LIST_ROWS_DEFAULT = 10;

export function listMessages({ context, account, parameters }: Asked): Answer {
  const limit = parseLimit(parameters.get("limit") ?? undefined);
  if (limit === undefined) return errors(400, `limit must be a number from 1 to ${LIST_ROWS_MAX}`, "limit");
  const text = parameters.get("query") ?? "";
  const parsed = text.trim() === "" ? undefined : parseQuery(text, MESSAGES_LANGUAGE);
  if (parsed?.ok === false) return errors(400, parsed.message, "query");
  const found = find(context, account, {
    ...MESSAGES_SEARCH,
    query: parsed?.query,
    limit: Math.min(limit, context.options.rowsMax),
  });
  return { status: 200, body: { messages: found.map(messageRow) } };
}

export function listLogs({ context, account, body }: Asked): Answer {
  const request = parseObject(body);
  if (request === undefined) return errors(400, "invalid request body");
  const limit = parseLimit(request["limit"]);
  if (limit === undefined) return errors(400, `limit must be a number from 1 to ${LIST_ROWS_MAX}`, "limit");
  const text = request["query"] ?? "";
  if (typeof text !== "string") return errors(400, "query must be a string", "query");
  const parsed = text.trim() === "" ? undefined : parseQuery(text, LOGS_LANGUAGE);
  if (parsed?.ok === false) return errors(400, parsed.message, "query");
  const subusers = request["subusers"] ?? [];
  if (!Array.isArray(subusers) || subusers.length > 1) return errors(400, "subusers must hold one id", "subusers");
  const owner = ownerOf(context, account, subusers[0]);
  if (owner === undefined) return forbidden();
  const found = find(context, owner, {
    query: parsed?.query,
    limit: Math.min(limit, context.options.rowsMax),
    idField: "sg_message_id",
    timeField: "sg_message_id_created_at",
    by: "createdAt",
    read: readLogField,
  });
  return { status: 200, body: { messages: found.map(logRow) } };
}

export function singleMessage({ context, account }: Asked, id: string): Answer {
  return single(visible(context, account, id), "message_id", messageDetail);
}

export function singleLog({ context, account, parameters }: Asked, id: string): Answer {
  const owner = ownerOf(context, account, parameters.get("subuser") ?? undefined);
  return owner === undefined ? forbidden() : single(visible(context, owner, id), "sg_message_id", logDetail);
}

/** Email Logs names a subuser by its number. */
function ownerOf(context: Context, account: Account, subuserId: unknown): Account | undefined {
  if (subuserId === undefined) return account;
  return [...context.accounts.values()].find(({ id, name }) => name !== "" && id === subuserId);
}

function visible(context: Context, account: Account, id: string): TruthMessage | undefined {
  const message = account.truth.message(id);
  return message !== undefined && isVisible(context, message) ? message : undefined;
}

function single(message: TruthMessage | undefined, idField: string, form: (message: TruthMessage) => unknown): Answer {
  return message === undefined ? errors(404, "not found", idField) : { status: 200, body: form(message) };
}

interface Search {
  query: Query | undefined;
  limit: number;
  idField: string;
  timeField: string;
  by: "createdAt" | "lastEventAt";
  read: (
    message: TruthMessage,
    field: string,
    key: string | undefined,
  ) => string | number | readonly string[] | undefined;
}

const MESSAGES_SEARCH = {
  idField: "msg_id",
  timeField: "last_event_time",
  by: "lastEventAt",
  read: readMessageField,
} as const;

/** Every message that matches a query of the Messages API, however many. */
export function findMessages(context: Context, account: Account, query: Query | undefined): Iterable<TruthMessage> {
  return matching(context, account, { ...MESSAGES_SEARCH, query });
}

/** Newest first, as many as the limit. */
function find(context: Context, account: Account, search: Search): TruthMessage[] {
  const found: TruthMessage[] = [];
  for (const message of matching(context, account, search)) {
    found.push(message);
    if (found.length === search.limit) break;
  }
  return found;
}

function* matching(context: Context, account: Account, search: Omit<Search, "limit">): Generator<TruthMessage> {
  const { query, read } = search;
  for (const message of candidates(account, search)) {
    if (!isVisible(context, message)) continue;
    if (query === undefined || matchesQuery(query, (field, key) => read(message, field, key))) yield message;
  }
}

/** By id where the query names one, else over the time span it leaves, newest first. */
function* candidates(account: Account, search: Omit<Search, "limit">): Generator<TruthMessage> {
  const { query, idField, timeField, by } = search;
  const ids = query === undefined ? undefined : exactValues(query, idField);
  if (ids === undefined) {
    const { fromMs, toMs } = query === undefined ? { fromMs: -Infinity, toMs: Infinity } : timeBounds(query, timeField);
    yield* account.truth.between(by, fromMs, toMs);
    return;
  }
  for (const id of new Set(ids)) {
    const message = account.truth.message(String(id));
    if (message !== undefined) yield message;
  }
}

/** Counted from when the double heard of the message, not from the event's own time: simulated traffic plays in the past. */
function isVisible(context: Context, message: TruthMessage): boolean {
  return context.options.now() >= message.heardAtMs + context.options.visibleAfterSeconds * 1000;
}

function parseLimit(value: unknown): number | undefined {
  if (value === undefined) return LIST_ROWS_DEFAULT;
  const limit = typeof value === "string" && /^\d+$/.test(value) ? Number(value) : value;
  return typeof limit === "number" && Number.isInteger(limit) && limit >= 1 && limit <= LIST_ROWS_MAX
    ? limit
    : undefined;
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}
