import { API_ROWS_MAX } from "../limits.ts";
import { createApiHttp, type ApiCall, type ApiClientOptions } from "./api-http.ts";
import type { Answer, ApiList, ApiMessage, ProviderApi } from "./api-types.ts";
import { readList, readSingle } from "./responses.ts";

/** SendGrid's APIs about messages. No call throws for what a server or a network does. */
export interface ApiClient {
  /** Up to API_ROWS_MAX messages that match a query of `query.ts`. */
  list(api: ProviderApi, query: string): Promise<Answer<ApiList>>;
  /** One message. */
  get(api: ProviderApi, messageId: string): Promise<Answer<ApiMessage>>;
  /** Ends the call under way, which is then `unavailable`, and the connections. */
  close(): Promise<void>;
}

export function createApiClient(options: ApiClientOptions): ApiClient {
  const http = createApiHttp(options);
  return {
    list: (api, query) => http.call(listCall(api, query), (response, nowMs) => readList(api, response, nowMs)),
    get: (api, messageId) =>
      http.call(messageCall(api, messageId), (response, nowMs) => readSingle(api, response, nowMs)),
    close: () => http.close(),
  };
}

/** `subuserId`: the Email Logs API's own way to name a subuser, for a parent's key. */
export function listCall(api: ProviderApi, query: string, subuserId?: string): ApiCall {
  // POST for Email Logs is SendGrid's own way, so that no address stands in anyone's access log.
  if (api === "logs") {
    const subusers = subuserId === undefined ? {} : { subusers: [subuserId] };
    return { method: "POST", path: "/v3/logs", body: { query, limit: API_ROWS_MAX, ...subusers } };
  }
  return { method: "GET", path: `/v3/messages?limit=${API_ROWS_MAX}&query=${encodeURIComponent(query)}` };
}

export function messageCall(api: ProviderApi, messageId: string, subuserId?: string): ApiCall {
  const query = subuserId === undefined ? "" : `?subuser=${encodeURIComponent(subuserId)}`;
  return { method: "GET", path: `/v3/${api}/${encodeURIComponent(messageId)}${query}` };
}
