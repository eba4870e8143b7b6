import { Agent, request } from "undici";
import { API_REQUEST_MS_MAX, API_RESPONSE_BYTES_MAX } from "../limits.ts";
import type { Answer } from "./api-types.ts";
import type { RawResponse } from "./responses.ts";

export interface ApiClientOptions {
  apiKey: string;
  /** Without a slash at its end. The EU has a host of its own. */
  apiUrl: string;
  /** For the whole call, from connecting to the last byte. */
  timeoutMs?: number;
  /** Milliseconds since 1970, for tests; without it the API's clock is read from its answers. */
  now?: () => number;
}

export interface ApiCall {
  method: "GET" | "POST";
  /** With its query string. */
  path: string;
  /** Sent as JSON. */
  body?: unknown;
  /** A subuser, whose data the key of its parent is to see. */
  onBehalfOf?: string;
}

/** Calls to one host of SendGrid with one key. */
export interface ApiHttp {
  /** `nowMs` is the clock of the options. What a server or a network does is an answer; nothing of it is thrown. */
  call<T>(call: ApiCall, read: (response: RawResponse, nowMs: number | undefined) => Answer<T>): Promise<Answer<T>>;
  /** Ends the call under way, which is then `unavailable`, and the connections. */
  close(): Promise<void>;
}

export function createApiHttp(options: ApiClientOptions): ApiHttp {
  const { apiKey, apiUrl, timeoutMs = API_REQUEST_MS_MAX, now } = options;
  const agent = new Agent({ connect: { timeout: timeoutMs } });
  const closing = new AbortController();

  return {
    async call({ method, path, body, onBehalfOf }, read) {
      let response: RawResponse;
      try {
        response = await fetchWhole(`${apiUrl}${path}`, {
          method,
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
          dispatcher: agent,
          headers: {
            authorization: `Bearer ${apiKey}`,
            accept: "application/json",
            ...(body === undefined ? {} : { "content-type": "application/json" }),
            ...(onBehalfOf === undefined ? {} : { "on-behalf-of": onBehalfOf }),
          },
          headersTimeout: timeoutMs,
          bodyTimeout: timeoutMs,
          signal: AbortSignal.any([closing.signal, AbortSignal.timeout(timeoutMs)]),
        });
      } catch (error) {
        return { kind: "unavailable", reason: failureText(error) };
      }
      return read(response, now?.());
    },
    async close() {
      closing.abort(new Error("stopped"));
      await agent.destroy();
    },
  };
}

type FetchOptions = NonNullable<Parameters<typeof request>[1]>;

/** Throws what the network does, and on a body that is too large. Redirects are not followed: the key goes to one host. */
async function fetchWhole(url: string, options: FetchOptions): Promise<RawResponse> {
  const { statusCode, headers, body } = await request(url, options);
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > API_RESPONSE_BYTES_MAX) throw new Error(`the answer is larger than ${API_RESPONSE_BYTES_MAX} bytes`);
    chunks.push(chunk);
  }
  return { status: statusCode, headers, body: Buffer.concat(chunks).toString("utf8") };
}

function failureText(error: unknown): string {
  if (!(error instanceof Error)) return "the call failed";
  if (error.name === "TimeoutError" || error.name.endsWith("TimeoutError")) return "no answer in time";
  return "code" in error && typeof error.code === "string"
    ? `the call failed: ${error.code}`
    : `the call failed: ${error.message}`;
}
