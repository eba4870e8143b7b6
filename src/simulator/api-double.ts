import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { LOGS_LANGUAGE, logDetail, logRow, readLogField } from "./logs-api.ts";
import { MESSAGES_LANGUAGE, messageDetail, messageRow, readMessageField } from "./messages-api.ts";
import { exactValues, matchesQuery, parseQuery, timeBounds, type Query } from "./query.ts";
import { answerStats } from "./stats-api.ts";
import { createTruth, type Truth, type TruthMessage, type WireEvent } from "./truth.ts";

/** What SendGrid's API does on its bad days. `hang` never answers, `half` breaks off in the middle of a body. */
export const API_FAULTS = ["hang", "500", "garbage", "half", "429"] as const;
export type ApiFault = (typeof API_FAULTS)[number];

export interface ApiDoubleOptions {
  /** 0, the default, takes a free one. */
  port?: number;
  /** For each of the Messages and the Email Logs API; Infinity switches the limit off. */
  callsPerMinute?: number;
  /** The most rows a list answers, whatever it is asked for. */
  rowsMax?: number;
  /** How long after it was first heard of a message stays unknown to both APIs. */
  visibleAfterSeconds?: number;
  apiKey?: string;
  /** false: the account has not bought the activity history, and the Messages API answers 403. */
  messagesAllowed?: boolean;
  logsAllowed?: boolean;
  /** Milliseconds since 1970. */
  now?: () => number;
}

/** Calls by kind; `refused` were answered 429 and are in no other figure. */
export interface ApiCalls {
  messages: number;
  message: number;
  logs: number;
  log: number;
  stats: number;
  refused: number;
}

export interface ApiDouble {
  url: string;
  apiKey: string;
  /** Tells it of an event, in the webhook's form. A repeated one adds nothing. */
  record(event: WireEvent): void;
  readonly calls: Readonly<ApiCalls>;
  /** How many messages it knows. */
  messageCount(): number;
  /** From now on every call suffers this; undefined ends it. */
  fault(kind: ApiFault | undefined): void;
  stop(): Promise<void>;
}

export const DEFAULT_API_KEY = "SG.simulated.key";

const MINUTE_MS = 60_000;
const LIST_ROWS_DEFAULT = 10;
const LIST_ROWS_MAX = 1_000;
const REQUEST_BYTES_MAX = 64 * 1024;

interface Answer {
  status: number;
  body: unknown;
}

interface Context {
  truth: Truth;
  options: Required<Omit<ApiDoubleOptions, "port">>;
  calls: ApiCalls;
  /** Fixed windows: the first call opens one, and a minute later everything is allowed again. */
  windows: Map<string, { endsAtMs: number; used: number }>;
  currentFault: () => ApiFault | undefined;
}

type Api = "messages" | "logs" | "stats";

/**
 * Starts a double of SendGrid's API: Messages, Email Logs and Stats, as the published OpenAPI files say, with the limits
 * that hurt: few calls a minute, 1,000 rows and no pages, and nothing about a message until some time has passed.
 */
export async function startApiDouble(options: ApiDoubleOptions = {}): Promise<ApiDouble> {
  const { port = 0, ...given } = options;
  const truth = createTruth();
  const calls: ApiCalls = { messages: 0, message: 0, logs: 0, log: 0, stats: 0, refused: 0 };
  let currentFault: ApiFault | undefined;
  const context: Context = {
    truth,
    calls,
    windows: new Map(),
    currentFault: () => currentFault,
    options: {
      callsPerMinute: 6,
      rowsMax: LIST_ROWS_MAX,
      visibleAfterSeconds: 60,
      apiKey: DEFAULT_API_KEY,
      messagesAllowed: true,
      logsAllowed: true,
      now: Date.now,
      ...given,
    },
  };
  const server = createServer((request, response) => {
    void handle(context, request, response).catch(() => send(response, internalError(), {}));
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", resolve);
  });
  const address = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${address.port}`,
    apiKey: context.options.apiKey,
    calls,
    record: (event) => truth.record(event, context.options.now()),
    messageCount: () => truth.size(),
    fault: (kind) => {
      currentFault = kind;
    },
    async stop() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  };
}

type Reply =
  | ({ kind: "whole" | "half"; headers: Record<string, string> } & Answer)
  | { kind: "text"; text: string; headers: Record<string, string> }
  | { kind: "nothing" };

async function handle(context: Context, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = await readBody(request);
  const reply = decide(context, request, body);
  if (reply.kind === "text") sendText(response, 200, reply.text, reply.headers);
  if (reply.kind === "half") sendHalf(response, reply, reply.headers);
  if (reply.kind === "whole") send(response, reply, reply.headers);
}

/** `body` is undefined when it was too large to be read. */
function decide(context: Context, request: IncomingMessage, body: string | undefined): Reply {
  const whole = (answer: Answer, headers: Record<string, string> = {}): Reply => ({
    kind: "whole",
    headers,
    ...answer,
  });
  const refusal = checkAuthorization(request, context.options.apiKey);
  if (refusal !== undefined) return whole(refusal);
  const route = findRoute(request.method ?? "", new URL(request.url ?? "/", "http://localhost"));
  if (route === undefined) return whole(errors(404, "not found"));
  if (!isAllowed(context, route.api)) return whole(errors(403, "access forbidden"));

  const { allowed, headers } = spend(context, route.api);
  const fault = context.currentFault();
  if (!allowed || fault === "429") {
    context.calls.refused += 1;
    return whole(errors(429, "too many requests"), { ...headers, "X-RateLimit-Remaining": "0" });
  }
  context.calls[route.kind] += 1;
  if (fault === "hang") return { kind: "nothing" };
  if (fault === "500") return whole(internalError(), headers);
  if (fault === "garbage") return { kind: "text", text: "<html><body>upstream</body></html>", headers };
  const answer = body === undefined ? errors(413, "request entity too large") : route.answer(context, body);
  return fault === "half" ? { kind: "half", headers, ...answer } : whole(answer, headers);
}

function checkAuthorization(request: IncomingMessage, apiKey: string): Answer | undefined {
  const { authorization } = request.headers;
  if (authorization === undefined) return errors(401, "authorization required");
  if (authorization !== `Bearer ${apiKey}`)
    return errors(401, "The provided authorization grant is invalid, expired, or revoked");
  return undefined;
}

interface Route {
  api: Api;
  kind: Exclude<keyof ApiCalls, "refused">;
  answer: (context: Context, body: string) => Answer;
}

function findRoute(method: string, url: URL): Route | undefined {
  const { pathname, searchParams } = url;
  const id = decodeURIComponentSafely(/^\/v3\/(?:messages|logs)\/([^/]+)$/.exec(pathname)?.[1]);
  if (method === "GET" && pathname === "/v3/messages") {
    return { api: "messages", kind: "messages", answer: (context) => listMessages(context, searchParams) };
  }
  if (method === "GET" && pathname.startsWith("/v3/messages/") && id !== undefined) {
    return { api: "messages", kind: "message", answer: (context) => single(context, id, "message_id", messageDetail) };
  }
  if (method === "POST" && pathname === "/v3/logs") return { api: "logs", kind: "logs", answer: listLogs };
  if (method === "GET" && pathname.startsWith("/v3/logs/") && id !== undefined) {
    return { api: "logs", kind: "log", answer: (context) => single(context, id, "sg_message_id", logDetail) };
  }
  if (method === "GET" && pathname === "/v3/stats") {
    return { api: "stats", kind: "stats", answer: (context) => stats(context, searchParams) };
  }
  return undefined;
}

function isAllowed(context: Context, api: Api): boolean {
  if (api === "messages") return context.options.messagesAllowed;
  return api === "logs" ? context.options.logsAllowed : true;
}

function spend(context: Context, api: Api): { allowed: boolean; headers: Record<string, string> } {
  const { callsPerMinute, now } = context.options;
  if (api === "stats" || callsPerMinute === Infinity) return { allowed: true, headers: {} };
  const nowMs = now();
  let window = context.windows.get(api);
  if (window === undefined || nowMs >= window.endsAtMs) {
    window = { endsAtMs: nowMs + MINUTE_MS, used: 0 };
    context.windows.set(api, window);
  }
  const allowed = window.used < callsPerMinute;
  if (allowed) window.used += 1;
  const headers = {
    "X-RateLimit-Limit": String(callsPerMinute),
    "X-RateLimit-Remaining": String(callsPerMinute - window.used),
    "X-RateLimit-Reset": String(Math.ceil(window.endsAtMs / 1000)),
  };
  return { allowed, headers };
}

function listMessages(context: Context, parameters: URLSearchParams): Answer {
  const limit = parseLimit(parameters.get("limit") ?? undefined);
  if (limit === undefined) return errors(400, `limit must be a number from 1 to ${LIST_ROWS_MAX}`, "limit");
  const text = parameters.get("query") ?? "";
  const parsed = text.trim() === "" ? undefined : parseQuery(text, MESSAGES_LANGUAGE);
  if (parsed?.ok === false) return errors(400, parsed.message, "query");
  const found = find(context, {
    query: parsed?.query,
    limit,
    idField: "msg_id",
    timeField: "last_event_time",
    by: "lastEventAt",
    read: readMessageField,
  });
  return { status: 200, body: { messages: found.map(messageRow) } };
}

function listLogs(context: Context, body: string): Answer {
  const request = parseObject(body);
  if (request === undefined) return errors(400, "invalid request body");
  const limit = parseLimit(request["limit"]);
  if (limit === undefined) return errors(400, `limit must be a number from 1 to ${LIST_ROWS_MAX}`, "limit");
  const text = request["query"] ?? "";
  if (typeof text !== "string") return errors(400, "query must be a string", "query");
  const parsed = text.trim() === "" ? undefined : parseQuery(text, LOGS_LANGUAGE);
  if (parsed?.ok === false) return errors(400, parsed.message, "query");
  const found = find(context, {
    query: parsed?.query,
    limit,
    idField: "sg_message_id",
    timeField: "sg_message_id_created_at",
    by: "createdAt",
    read: readLogField,
  });
  return { status: 200, body: { messages: found.map(logRow) } };
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

/** Newest first, by id where the query names one, else over the time span it leaves. */
function find(context: Context, search: Search): TruthMessage[] {
  const { query, idField, timeField, by, read } = search;
  const limit = Math.min(search.limit, context.options.rowsMax);
  const found: TruthMessage[] = [];
  for (const message of candidates()) {
    if (!isVisible(context, message)) continue;
    if (query !== undefined && !matchesQuery(query, (field, key) => read(message, field, key))) continue;
    found.push(message);
    if (found.length === limit) break;
  }
  return found;

  function* candidates(): Iterable<TruthMessage> {
    const ids = query === undefined ? undefined : exactValues(query, idField);
    if (ids === undefined) {
      const { fromMs, toMs } =
        query === undefined ? { fromMs: -Infinity, toMs: Infinity } : timeBounds(query, timeField);
      yield* context.truth.between(by, fromMs, toMs);
      return;
    }
    for (const id of new Set(ids)) {
      const message = context.truth.message(String(id));
      if (message !== undefined) yield message;
    }
  }
}

function single(context: Context, id: string, idField: string, form: (message: TruthMessage) => unknown): Answer {
  const message = context.truth.message(id);
  if (message === undefined || !isVisible(context, message)) return errors(404, "not found", idField);
  return { status: 200, body: form(message) };
}

function stats(context: Context, parameters: URLSearchParams): Answer {
  const answer = answerStats(context.truth, parameters, context.options.now());
  return answer.ok ? { status: 200, body: answer.body } : errors(400, answer.message, answer.field);
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

function decodeURIComponentSafely(text: string | undefined): string | undefined {
  try {
    return text === undefined ? undefined : decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

function errors(status: number, message: string, field: string | null = null): Answer {
  return { status, body: { errors: [{ field, message }] } };
}

function internalError(): Answer {
  return { status: 500, body: { errors: [{ message: "internal server error" }] } };
}

async function readBody(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes <= REQUEST_BYTES_MAX) chunks.push(chunk);
  }
  return bytes > REQUEST_BYTES_MAX ? undefined : Buffer.concat(chunks).toString("utf8");
}

function send(response: ServerResponse, answer: Answer, headers: Record<string, string>): void {
  sendText(response, answer.status, JSON.stringify(answer.body), headers);
}

function sendText(response: ServerResponse, status: number, text: string, headers: Record<string, string>): void {
  if (response.headersSent || response.destroyed) return;
  response.writeHead(status, {
    "Content-Type": "application/json",
    "Content-Length": String(Buffer.byteLength(text)),
    ...headers,
  });
  response.end(text);
}

function sendHalf(response: ServerResponse, answer: Answer, headers: Record<string, string>): void {
  const bytes = Buffer.from(JSON.stringify(answer.body));
  response.writeHead(answer.status, {
    "Content-Type": "application/json",
    "Content-Length": String(bytes.length),
    ...headers,
  });
  response.write(bytes.subarray(0, Math.floor(bytes.length / 2)), () => response.destroy());
}
