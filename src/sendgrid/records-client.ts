import { SUBUSERS_MAX, SUPPRESSION_ROWS_MAX } from "../limits.ts";
import { listCall, messageCall } from "./api-client.ts";
import { createApiHttp, type ApiCall, type ApiClientOptions, type ApiHttp } from "./api-http.ts";
import type { Answer, ApiList, ProviderApi } from "./api-types.ts";
import type { RecordedMessage, StatsDay, SuppressionList, SuppressionPage } from "./record-types.ts";
import { readRecordedMessage, readStats, readSubuserId, readSuppressions } from "./records-responses.ts";
import { readList } from "./responses.ts";

/**
 * SendGrid's own records, to compare with the ledger. No call throws for what a server or a network does. `account` is ''
 * for the account of the key, else the name of a subuser.
 */
export interface RecordsClient {
  /** Totals of the days from … to, both included, as YYYY-MM-DD of the account's time zone. */
  stats(range: { from: string; to: string }, account: string): Promise<Answer<StatsDay[]>>;
  /** A page of up to SUPPRESSION_ROWS_MAX addresses that were put on a list in a time span, both ends included. */
  suppressions(page: SuppressionQuery, account: string): Promise<Answer<SuppressionPage>>;
  /** Up to API_ROWS_MAX messages that match a query of `query.ts`. */
  list(api: ProviderApi, query: string, account: string): Promise<Answer<ApiList>>;
  /** One message with its events. */
  message(api: ProviderApi, messageId: string, account: string): Promise<Answer<RecordedMessage>>;
  /** Ends the call under way, which is then `unavailable`, and the connections. */
  close(): Promise<void>;
}

export interface SuppressionQuery {
  list: SuppressionList;
  fromMs: number;
  toMs: number;
  offset: number;
}

export function createRecordsClient(options: ApiClientOptions): RecordsClient {
  const http = createApiHttp(options);
  const subuserId = createSubusers(http);

  /** Adds to a call of either API whose messages are meant: Messages takes a name in a header, Email Logs a number. */
  async function forAccount<T>(
    { api, account }: { api: ProviderApi; account: string },
    use: (chosen: { onBehalfOf?: string; subuserId?: string }) => Promise<Answer<T>>,
  ): Promise<Answer<T>> {
    if (account === "") return use({});
    if (api === "messages") return use({ onBehalfOf: account });
    const found = await subuserId(account);
    if (found.kind !== "ok") return found;
    if (found.value === undefined) return { kind: "bad_request", reason: "the account has no subuser of that name" };
    return use({ subuserId: found.value });
  }

  return {
    stats({ from, to }, account) {
      const parameters = new URLSearchParams({ start_date: from, end_date: to, aggregated_by: "day" });
      return http.call(behalf({ method: "GET", path: `/v3/stats?${parameters.toString()}` }, account), readStats);
    },
    suppressions({ list, fromMs, toMs, offset }, account) {
      const parameters = new URLSearchParams({
        start_time: String(Math.floor(fromMs / 1000)),
        end_time: String(Math.floor(toMs / 1000)),
        limit: String(SUPPRESSION_ROWS_MAX),
        offset: String(offset),
      });
      return http.call(
        behalf({ method: "GET", path: `/v3/suppression/${list}?${parameters.toString()}` }, account),
        (response, nowMs) => readSuppressions(list, response, nowMs),
      );
    },
    list: (api, query, account) =>
      forAccount({ api, account }, ({ subuserId: id, ...rest }) =>
        http.call({ ...listCall(api, query, id), ...rest }, (response, nowMs) => readList(api, response, nowMs)),
      ),
    message: (api, messageId, account) =>
      forAccount({ api, account }, ({ subuserId: id, ...rest }) =>
        http.call({ ...messageCall(api, messageId, id), ...rest }, (response, nowMs) =>
          readRecordedMessage(api, response, nowMs),
        ),
      ),
    close: () => http.close(),
  };
}

function behalf(call: ApiCall, account: string): ApiCall {
  return account === "" ? call : { ...call, onBehalfOf: account };
}

/** Finds the number of a subuser by its name, each name once. A name without a number is looked up again. */
function createSubusers(http: ApiHttp): (name: string) => Promise<Answer<string | undefined>> {
  const known = new Map<string, string>();
  return async (name) => {
    const id = known.get(name);
    if (id !== undefined) return { kind: "ok", value: id, waitSeconds: undefined };
    const answer = await http.call(
      { method: "GET", path: `/v3/subusers?username=${encodeURIComponent(name)}` },
      (response, nowMs) => readSubuserId(name, response, nowMs),
    );
    if (answer.kind === "ok" && answer.value !== undefined && known.size < SUBUSERS_MAX) known.set(name, answer.value);
    return answer;
  };
}
