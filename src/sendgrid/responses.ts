import { parseJsonText } from "../json-text.ts";
import {
  API_REASON_CHARS_MAX,
  API_ROWS_MAX,
  API_TEXT_CHARS_MAX,
  API_WAIT_SECONDS_DEFAULT,
  API_WAIT_SECONDS_MAX,
  MESSAGE_ID_CHARS_MAX,
} from "../limits.ts";
import type { Answer, ApiList, ApiMessage, ProviderApi } from "./api-types.ts";

/** A response as it came: the body as text, the headers by their lower-case names. */
export interface RawResponse {
  status: number;
  headers: Readonly<Record<string, string | string[] | undefined>>;
  body: string;
}

export type JsonObject = Record<string, unknown>;

/** The answer to a list call. `nowMs` replaces the API's own clock, for tests. */
export function readList(api: ProviderApi, response: RawResponse, nowMs?: number): Answer<ApiList> {
  return readAnswer(response, nowMs, (body) => {
    const rows = isObject(body) ? body["messages"] : undefined;
    if (!Array.isArray(rows)) return undefined;
    const messages = rows.flatMap((row: unknown) => readMessage(api, row) ?? []);
    // A list of nothing but unreadable rows is not this API's list.
    if (rows.length > 0 && messages.length === 0) return undefined;
    return { messages, full: rows.length >= API_ROWS_MAX, unreadable: rows.length - messages.length };
  });
}

/** The answer to the call for one message. */
export function readSingle(api: ProviderApi, response: RawResponse, nowMs?: number): Answer<ApiMessage> {
  return readAnswer(response, nowMs, (body) => readMessage(api, body));
}

/** `read` gives undefined for a body of another shape. */
export function readAnswer<T>(
  response: RawResponse,
  nowMs: number | undefined,
  read: (body: unknown) => T | undefined,
): Answer<T> {
  const { status } = response;
  if (status === 200) {
    const value = read(parseJson(response.body));
    if (value === undefined) return { kind: "unavailable", reason: "the answer is not what the API describes" };
    return {
      kind: "ok",
      value,
      waitSeconds: header(response, "x-ratelimit-remaining") === "0" ? waitSeconds(response, nowMs) : undefined,
    };
  }
  if (status === 429) return { kind: "rate_limited", waitSeconds: waitSeconds(response, nowMs) };
  if (status === 401 || status === 403) return { kind: "forbidden", reason: errorText(response) };
  if (status === 404) return { kind: "not_found" };
  // 408 and 425 ask for a repetition; a redirect comes from something in between, which may go away again.
  const isRefusal = status >= 400 && status < 500 && status !== 408 && status !== 425;
  return { kind: isRefusal ? "bad_request" : "unavailable", reason: errorText(response) };
}

/**
 * How long the API wants to be left alone. X-RateLimit-Reset is a moment of the API's own clock, so the response's Date is
 * subtracted, not our time.
 */
function waitSeconds(response: RawResponse, nowMs: number | undefined): number {
  const retryAfter = Number(header(response, "retry-after") ?? Number.NaN);
  const reset = Number(header(response, "x-ratelimit-reset") ?? Number.NaN);
  const date = Date.parse(header(response, "date") ?? "");
  const serverSeconds = (nowMs ?? (Number.isNaN(date) ? Date.now() : date)) / 1000;
  let wait = API_WAIT_SECONDS_DEFAULT;
  if (Number.isFinite(retryAfter)) wait = retryAfter;
  else if (Number.isFinite(reset)) wait = reset - serverSeconds;
  return Math.min(Math.max(Math.ceil(wait), 1), API_WAIT_SECONDS_MAX);
}

export function readMessage(api: ProviderApi, value: unknown): ApiMessage | undefined {
  if (!isObject(value)) return undefined;
  const messageId = value[api === "logs" ? "sg_message_id" : "msg_id"];
  if (typeof messageId !== "string" || messageId === "" || messageId.length > MESSAGE_ID_CHARS_MAX) return undefined;
  const events = Array.isArray(value["events"]) ? value["events"].filter(isObject) : undefined;
  const isCounted = events !== undefined && events.length < EVENTS_SHOWN_MAX;
  return {
    messageId,
    status: readText(value["status"]),
    subject: readText(value["subject"]),
    sender: readText(value["from_email"]),
    recipient: readText(value["to_email"]),
    opens: readCount(value["opens_count"]) ?? (isCounted ? countEvents(events, ["open", "opened"]) : undefined),
    clicks: readCount(value["clicks_count"]) ?? (isCounted ? countEvents(events, ["click", "clicked"]) : undefined),
    template: readText(value["template_id"]),
    listedAt: readTime(value[api === "logs" ? "sg_message_id_created_at" : "last_event_time"]),
  };
}

/** A single message comes with its newest events, up to this many; of so many, the counts would be wrong. */
export const EVENTS_SHOWN_MAX = 100;

/** The webhook and Email Logs say open, the Messages API says opened. */
function countEvents(events: readonly JsonObject[], names: readonly string[]): number {
  return events.filter((event) => names.includes(String(event["event"] ?? event["event_name"]))).length;
}

/** An empty text counts as missing. PostgreSQL's text holds neither NUL nor half a surrogate pair. */
export function readText(value: unknown): string | undefined {
  if (typeof value !== "string" || value === "") return undefined;
  return value.slice(0, API_TEXT_CHARS_MAX).replaceAll("\u0000", "\uFFFD").toWellFormed();
}

export function readCount(value: unknown): number | undefined {
  return Number.isInteger(value) && Number(value) >= 0 && Number(value) < 2 ** 31 ? Number(value) : undefined;
}

export function readTime(value: unknown): Date | undefined {
  if (typeof value !== "string" || !/^\d{4}-\d\d-\d\d[T ]\d\d:\d\d/.test(value)) return undefined;
  // A time that names no zone is UTC here, and would be read as this machine's.
  const time = new Date(/(Z|[+-]\d\d:?\d\d)$/i.test(value) ? value : `${value}Z`);
  return Number.isNaN(time.getTime()) ? undefined : time;
}

/** The status and the API's first error text, or nothing but the status: a proxy's page is of no use to anyone. */
function errorText(response: RawResponse): string {
  const body = parseJson(response.body);
  const errors = isObject(body) ? body["errors"] : undefined;
  const first: unknown = Array.isArray(errors) ? errors[0] : undefined;
  const message = isObject(first) ? readText(first["message"]) : undefined;
  return message === undefined
    ? `HTTP ${response.status}`
    : `HTTP ${response.status}: ${message.slice(0, API_REASON_CHARS_MAX)}`;
}

function header(response: RawResponse, name: string): string | undefined {
  const value = response.headers[name];
  return Array.isArray(value) ? value[0] : value;
}

function parseJson(text: string): unknown {
  try {
    return parseJsonText(text);
  } catch {
    return undefined;
  }
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
