import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { exportFile } from "./activity-export.ts";
import {
  errors,
  forbidden,
  type Account,
  type Answer,
  type ApiCalls,
  type ApiDoubleOptions,
  type ApiFault,
  type Context,
} from "./api-context.ts";
import { LIST_ROWS_MAX } from "./api-lists.ts";
import { findRoute, type Route } from "./api-routes.ts";
import type { Metrics } from "./stats-api.ts";
import { createTruth, type WireEvent } from "./truth.ts";

export interface ApiDouble {
  url: string;
  apiKey: string;
  /** Tells it of an event, in the webhook's form; of the key's account unless a subuser is named. A repeated one adds nothing. */
  record(event: WireEvent, account?: string): void;
  /** Moves the totals of a day, as SendGrid's own counting does after the day has ended. */
  moveStats(day: string, by: Partial<Metrics>, account?: string): void;
  readonly calls: Readonly<ApiCalls>;
  /** How many messages it knows, of all accounts. */
  messageCount(): number;
  /** The UUIDs in the mails about exports, oldest first. */
  exports(): string[];
  /** From now on every call suffers this; undefined ends it. */
  fault(kind: ApiFault | undefined): void;
  stop(): Promise<void>;
}

export const DEFAULT_API_KEY = "SG.simulated.key";

const MINUTE_MS = 60_000;
const REQUEST_BYTES_MAX = 64 * 1024;
const SUBUSER_ID_FIRST = 20_223_230;

/**
 * Starts a double of SendGrid's API: Messages, Email Logs, Stats and suppression lists, as the published OpenAPI files
 * say, with the limits that hurt: few calls a minute, 1,000 rows and no pages, and nothing about a message until some time
 * has passed.
 */
export async function startApiDouble(options: ApiDoubleOptions = {}): Promise<ApiDouble> {
  const { port = 0, ...given } = options;
  let currentFault: ApiFault | undefined;
  let url = "";
  const context = createContext(given, { url: () => url, currentFault: () => currentFault });
  const server = createServer((request, response) => {
    void handle(context, request, response).catch(() => send(response, internalError(), {}));
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", resolve);
  });
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const accountNamed = (name: string): Account => {
    const account = context.accounts.get(name);
    if (account === undefined) throw new Error(`the double has no subuser ${name}`);
    return account;
  };
  return {
    url,
    apiKey: context.options.apiKey,
    calls: context.calls,
    record: (event, name = "") => accountNamed(name).truth.record(event, context.options.now()),
    moveStats(day, by, name = "") {
      const { moved } = accountNamed(name);
      const sum: Partial<Record<string, number>> = { ...moved.get(day) };
      for (const [metric, figure] of Object.entries(by)) sum[metric] = (sum[metric] ?? 0) + figure;
      moved.set(day, sum);
    },
    messageCount: () => [...context.accounts.values()].reduce((sum, { truth }) => sum + truth.size(), 0),
    exports: () => [...context.exports.keys()],
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

function createContext(given: Omit<ApiDoubleOptions, "port">, live: Pick<Context, "url" | "currentFault">): Context {
  const names = ["", ...(given.subusers ?? [])];
  const accounts = names.map((name, place): [string, Account] => [
    name,
    { name, id: String(SUBUSER_ID_FIRST + place), truth: createTruth(), moved: new Map() },
  ]);
  return {
    ...live,
    accounts: new Map(accounts),
    calls: {
      messages: 0,
      message: 0,
      logs: 0,
      log: 0,
      stats: 0,
      suppressions: 0,
      subusers: 0,
      exports: 0,
      refused: 0,
    },
    windows: new Map(),
    exports: new Map(),
    options: {
      callsPerMinute: 6,
      rowsMax: LIST_ROWS_MAX,
      visibleAfterSeconds: 60,
      apiKey: DEFAULT_API_KEY,
      messagesAllowed: true,
      logsAllowed: true,
      subusers: [],
      timeZone: "UTC",
      statsLagSeconds: 0,
      now: Date.now,
      ...given,
    },
  };
}

type Reply =
  | ({ kind: "whole" | "half"; headers: Record<string, string> } & Answer)
  | { kind: "text"; text: string; headers: Record<string, string> }
  | { kind: "nothing" };

async function handle(context: Context, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = await readBody(request);
  const url = new URL(request.url ?? "/", "http://localhost");
  const uuid = /^\/exports\/([^/]+)\.csv$/.exec(url.pathname)?.[1];
  if (uuid !== undefined) {
    await sendExport(context, response, { uuid, expires: url.searchParams.get("expires") });
    return;
  }
  const reply = decide(context, { request, url, body });
  if (reply.kind === "text") sendText(response, 200, reply.text, reply.headers);
  if (reply.kind === "half") sendHalf(response, reply, reply.headers);
  if (reply.kind === "whole") send(response, reply, reply.headers);
}

interface Incoming {
  request: IncomingMessage;
  url: URL;
  /** undefined when it was too large to be read. */
  body: string | undefined;
}

function decide(context: Context, { request, url, body }: Incoming): Reply {
  const whole = (answer: Answer, headers: Record<string, string> = {}): Reply => ({
    kind: "whole",
    headers,
    ...answer,
  });
  const refusal = checkAuthorization(request, context.options.apiKey);
  if (refusal !== undefined) return whole(refusal);
  const route = findRoute(request.method ?? "", url.pathname);
  if (route === undefined) return whole(errors(404, "not found"));
  const account = context.accounts.get(String(request.headers["on-behalf-of"] ?? ""));
  if (account === undefined || !isAllowed(context, route.api)) return whole(forbidden());

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
  const answer =
    body === undefined
      ? errors(413, "request entity too large")
      : route.answer({ context, account, parameters: url.searchParams, body });
  return fault === "half" ? { kind: "half", headers, ...answer } : whole(answer, headers);
}

function checkAuthorization(request: IncomingMessage, apiKey: string): Answer | undefined {
  const { authorization } = request.headers;
  if (authorization === undefined) return errors(401, "authorization required");
  if (authorization !== `Bearer ${apiKey}`)
    return errors(401, "The provided authorization grant is invalid, expired, or revoked");
  return undefined;
}

function isAllowed(context: Context, api: Route["api"]): boolean {
  if (api === "messages" || api === "exports") return context.options.messagesAllowed;
  return api === "logs" ? context.options.logsAllowed : true;
}

function spend(context: Context, api: Route["api"]): { allowed: boolean; headers: Record<string, string> } {
  const { callsPerMinute, now } = context.options;
  if ((api !== "messages" && api !== "logs") || callsPerMinute === Infinity) return { allowed: true, headers: {} };
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

async function sendExport(
  context: Context,
  response: ServerResponse,
  asked: { uuid: string; expires: string | null },
): Promise<void> {
  const lines = exportFile(context, asked.uuid, asked.expires);
  if (lines === undefined) {
    sendText(response, 403, "<Error><Code>AccessDenied</Code></Error>", { "Content-Type": "application/xml" });
    return;
  }
  response.writeHead(200, { "Content-Type": "text/csv" });
  await pipeline(Readable.from(lines), response);
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
