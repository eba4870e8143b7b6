import { RECIPIENT_CHARS_MAX, SUPPRESSION_ROWS_MAX } from "../limits.ts";
import type { Answer, ProviderApi } from "./api-types.ts";
import {
  STATS_METRICS,
  type RecordedEvent,
  type RecordedMessage,
  type StatsDay,
  type StatsMetric,
  type SuppressionEntry,
  type SuppressionList,
  type SuppressionPage,
} from "./record-types.ts";
import { isPlausible, parseArgs, readActivityEvent, readLogEvent, type MessageFields } from "./recorded-events.ts";
import {
  EVENTS_SHOWN_MAX,
  isObject,
  readAnswer,
  readCount,
  readMessage,
  readText,
  readTime,
  type JsonObject,
  type RawResponse,
} from "./responses.ts";

/** The answer to GET /v3/stats. A day that cannot be understood spoils it all: a total must not silently be smaller. */
export function readStats(response: RawResponse, nowMs?: number): Answer<StatsDay[]> {
  return readAnswer(response, nowMs, (body) => {
    if (!Array.isArray(body)) return undefined;
    const days = body.map(readDay);
    return days.every((day) => day !== undefined) ? days : undefined;
  });
}

function readDay(value: unknown): StatsDay | undefined {
  if (!isObject(value)) return undefined;
  const { date, stats } = value;
  if (typeof date !== "string" || !/^\d{4}-\d\d-\d\d$/.test(date) || !Array.isArray(stats)) return undefined;
  const metrics = Object.fromEntries(STATS_METRICS.map((name) => [name, 0])) as Record<StatsMetric, number>;
  for (const entry of stats as unknown[]) {
    const counted = isObject(entry) ? entry["metrics"] : undefined;
    if (!isObject(counted)) return undefined;
    for (const name of STATS_METRICS) {
      const count = counted[name] ?? 0;
      if (!Number.isSafeInteger(count) || Number(count) < 0) return undefined;
      metrics[name] += Number(count);
    }
  }
  return { day: date, metrics };
}

/** The answer to GET /v3/suppression/…. */
export function readSuppressions(
  list: SuppressionList,
  response: RawResponse,
  nowMs?: number,
): Answer<SuppressionPage> {
  return readAnswer(response, nowMs, (body) => {
    if (!Array.isArray(body)) return undefined;
    const entries = body.flatMap((row: unknown) => readSuppression(list, row) ?? []);
    // A list of nothing but unreadable rows is not this API's list.
    if (body.length > 0 && entries.length === 0) return undefined;
    return { entries, full: body.length >= SUPPRESSION_ROWS_MAX, unreadable: body.length - entries.length };
  });
}

function readSuppression(list: SuppressionList, value: unknown): SuppressionEntry | undefined {
  if (!isObject(value)) return undefined;
  const email = readText(value["email"]);
  const created = value["created"];
  if (email === undefined || email.length > RECIPIENT_CHARS_MAX) return undefined;
  if (typeof created !== "number" || !isPlausible(created * 1000)) return undefined;
  return {
    list,
    email,
    createdAt: new Date(created * 1000),
    reason: readText(value["reason"]),
    status: readText(value["status"]),
  };
}

/** The answer to the call for one message, with its events. */
export function readRecordedMessage(api: ProviderApi, response: RawResponse, nowMs?: number): Answer<RecordedMessage> {
  return readAnswer(response, nowMs, (body) => {
    const message = readMessage(api, body);
    if (message === undefined || !isObject(body)) return undefined;
    const rows: unknown = body["events"] ?? [];
    if (!Array.isArray(rows)) return undefined;
    const read = api === "logs" ? logReader(body, message.messageId) : activityReader(body, message.messageId);
    const events: RecordedEvent[] = [];
    let unreadable = 0;
    for (const row of rows as unknown[]) {
      const event = isObject(row) ? read(row) : undefined;
      if (event === undefined) unreadable += 1;
      else if (event !== "other") events.push(event);
    }
    return { ...message, events, truncated: rows.length >= EVENTS_SHOWN_MAX, unreadable };
  });
}

type EventReader = (row: JsonObject) => RecordedEvent | "other" | undefined;

function logReader(body: JsonObject, messageId: string): EventReader {
  const message: MessageFields = {
    messageId,
    recipient: readText(body["to_email"]),
    categories: body["category"],
    args: body["custom_args"],
    common: {
      asm_group_id: body["asm_group_id"],
      marketing_campaign_id: body["marketing_campaign_id"],
      marketing_campaign_name: body["marketing_campaign_name"],
      marketing_campaign_split_id: body["marketing_campaign_split_id"],
      marketing_campaign_version: body["marketing_campaign_version"],
    },
  };
  return (row) => readLogEvent(row, message);
}

function activityReader(body: JsonObject, messageId: string): EventReader {
  const message: MessageFields = {
    messageId,
    recipient: readText(body["to_email"]),
    categories: body["categories"],
    args: parseArgs(body["unique_args"]),
    common: { asm_group_id: body["asm_group_id"] },
  };
  return (row) =>
    readActivityEvent(
      {
        name: row["event_name"],
        occurredAtMs: readTime(row["processed"])?.getTime(),
        reason: row["reason"],
        response: row["server_response"],
        attempt: readCount(row["attempt_num"]),
        bounceType: row["bounce_type"],
        url: row["url"],
        useragent: row["http_user_agent"],
        outboundIp: body["outbound_ip"],
      },
      message,
    );
}

/** The number of a subuser by its name, from GET /v3/subusers; undefined when there is none of that name. */
export function readSubuserId(name: string, response: RawResponse, nowMs?: number): Answer<string | undefined> {
  const answer = readAnswer(response, nowMs, (body): { id: string | undefined } | undefined => {
    if (!Array.isArray(body)) return undefined;
    const row = body.filter(isObject).find(({ username }) => username === name);
    if (row === undefined) return { id: undefined };
    const { id } = row;
    const text = typeof id === "number" ? String(id) : id;
    return typeof text === "string" && /^\d{1,20}$/.test(text) ? { id: text } : undefined;
  });
  return answer.kind === "ok" ? { ...answer, value: answer.value.id } : answer;
}
