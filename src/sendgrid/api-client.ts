import { Agent, request, type Dispatcher } from "undici";
import { API_REQUEST_MS_MAX, API_RESPONSE_BYTES_MAX, API_ROWS_MAX } from "../limits.ts";
import type { Answer, ApiList, ApiMessage, ProviderApi } from "./api-types.ts";
import { readList, readSingle, type RawResponse } from "./responses.ts";

export interface ApiClientOptions {
  apiKey: string;
  /** Without a slash at its end. The EU has a host of its own. */
  apiUrl: string;
  /** For the whole call, from connecting to the last byte. */
  timeoutMs?: number;
  /** Milliseconds since 1970, for tests; without it the API's clock is read from its answers. */
  now?: () => number;
}

/** SendGrid's APIs about messages. No call throws for what a server or a network does. */
export interface ApiClient {
  /** Up to API_ROWS_MAX messages that match a query of `query.ts`. */
  list(api: ProviderApi, query: string): Promise<Answer<ApiList>>;
  /** One message. */
  get(api: ProviderApi, messageId: string): Promise<Answer<ApiMessage>>;
  /** Ends the call under way, which is then `unavailable`, and the connections. */
  close(): Promise<void>;
}

type CallOptions = Pick<Dispatcher.RequestOptions, "method"> & { path: string; body?: string };

export function createApiClient(options: ApiClientOptions): ApiClient {
  const { apiKey, apiUrl, timeoutMs = API_REQUEST_MS_MAX, now } = options;
  const agent = new Agent({ connect: { timeout: timeoutMs } });
  const closing = new AbortController();

  async function call<T>(
    { path, ...rest }: CallOptions,
    read: (response: RawResponse) => Answer<T>,
  ): Promise<Answer<T>> {
    let response: RawResponse;
    try {
      response = await fetchWhole(`${apiUrl}${path}`, {
        ...rest,
        dispatcher: agent,
        headers: {
          authorization: `Bearer ${apiKey}`,
          accept: "application/json",
          ...(rest.body === undefined ? {} : { "content-type": "application/json" }),
        },
        headersTimeout: timeoutMs,
        bodyTimeout: timeoutMs,
        signal: AbortSignal.any([closing.signal, AbortSignal.timeout(timeoutMs)]),
      });
    } catch (error) {
      return { kind: "unavailable", reason: failureText(error) };
    }
    return read(response);
  }

  return {
    list(api, query) {
      const read = (response: RawResponse): Answer<ApiList> => readList(api, response, now?.());
      // POST for Email Logs is SendGrid's own way, so that no address stands in anyone's access log.
      if (api === "logs")
        return call({ method: "POST", path: "/v3/logs", body: JSON.stringify({ query, limit: API_ROWS_MAX }) }, read);
      return call(
        { method: "GET", path: `/v3/messages?limit=${API_ROWS_MAX}&query=${encodeURIComponent(query)}` },
        read,
      );
    },
    get(api, messageId) {
      const path = `/v3/${api}/${encodeURIComponent(messageId)}`;
      return call({ method: "GET", path }, (response) => readSingle(api, response, now?.()));
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
