import { randomUUID } from "node:crypto";
import { errors, type ActivityExport, type Answer, type Asked, type Context } from "./api-context.ts";
import { findMessages } from "./api-lists.ts";
import {
  activityEvent,
  isoSeconds,
  MESSAGES_LANGUAGE,
  API_KEY_ID,
  ORIGINATING_IP,
  OUTBOUND_IP,
} from "./messages-api.ts";
import { parseQuery } from "./query.ts";
import type { TruthEvent, TruthMessage } from "./truth.ts";

/**
 * The CSV export of the Email Activity, as tsg_email_activity_v3.yaml describes it: ordered once in 12 hours, its link
 * comes by mail and is good for three days, and what it holds are the events of the last 30 days, a million at most.
 */

const HOUR_MS = 3_600_000;
const ORDER_EVERY_MS = 12 * HOUR_MS;
const LINK_MS = 72 * HOUR_MS;
const PRESIGNED_MS = 300_000;
const EVENTS_MAX = 1_000_000;
const EVENTS_MS = 30 * 24 * HOUR_MS;

const COLUMNS = [
  "processed",
  "message_id",
  "event",
  "api_key_id",
  "recv_message_id",
  "credential_id",
  "subject",
  "from",
  "email",
  "asm_group_id",
  "template_id",
  "originating_ip",
  "reason",
  "outbound_ip",
  "outbound_ip_type",
  "mx",
  "url",
  "attempt",
  "user_agent",
  "type",
  "is_unique",
  "username",
  "categories",
  "marketing_campaign_id",
  "marketing_campaign_name",
  "marketing_campaign_split_id",
  "marketing_campaign_version",
  "unique_args",
] as const;

/** POST /v3/messages/download */
export function orderExport({ context, account, parameters }: Asked): Answer {
  const query = parameters.get("query") ?? "";
  const parsed = query.trim() === "" ? undefined : parseQuery(query, MESSAGES_LANGUAGE);
  if (parsed?.ok === false) return errors(400, parsed.message, "query");
  const nowMs = context.options.now();
  const isEarly = [...context.exports.values()].some(
    (made) => made.account === account && nowMs < made.madeAtMs + ORDER_EVERY_MS,
  );
  if (isEarly) return errors(429, "too many requests", "");
  context.exports.set(randomUUID(), { account, query, madeAtMs: nowMs });
  const message = "An email will be sent to jane_doe@example.com when the CSV is ready to download.";
  return { status: 202, body: { status: "pending", message } };
}

/** GET /v3/messages/download/{uuid} */
export function exportLink({ context, account }: Asked, uuid: string): Answer {
  const made = context.exports.get(uuid);
  const nowMs = context.options.now();
  if (made?.account !== account || nowMs >= made.madeAtMs + LINK_MS)
    return errors(404, "download token is invalid or expired", "");
  return {
    status: 200,
    body: { presigned_url: `${context.url()}/exports/${uuid}.csv?expires=${nowMs + PRESIGNED_MS}` },
  };
}

/** What the presigned address leads to, line by line; it asks for no key. undefined when the address is not good. */
export function exportFile(context: Context, uuid: string, expires: string | null): Iterable<string> | undefined {
  const made = context.exports.get(uuid);
  return made === undefined || !(context.options.now() < Number(expires)) ? undefined : exportLines(context, made);
}

type Cell = string | number | undefined;

function* exportLines(context: Context, { account, query, madeAtMs }: ActivityExport): Generator<string> {
  yield line(COLUMNS);
  const parsed = query.trim() === "" ? undefined : parseQuery(query, MESSAGES_LANGUAGE);
  let left = EVENTS_MAX;
  for (const message of findMessages(context, account, parsed?.ok === true ? parsed.query : undefined)) {
    for (const event of message.events.toSorted((a, b) => b.at - a.at)) {
      if (left === 0) return;
      if (event.at * 1000 < madeAtMs - EVENTS_MS) continue;
      left -= 1;
      const cells = cellsOf(message, event, account.name);
      yield line(COLUMNS.map((column) => cells[column]));
    }
  }
}

function cellsOf(
  message: TruthMessage,
  event: TruthEvent,
  username: string,
): Partial<Record<(typeof COLUMNS)[number], Cell>> {
  const told = activityEvent(event) as Partial<Record<string, string | number>>;
  return {
    processed: isoSeconds(event.at),
    message_id: message.id,
    event: told["event_name"],
    api_key_id: API_KEY_ID,
    recv_message_id: message.id.split(".")[0],
    subject: message.subject,
    from: message.from,
    email: message.to,
    asm_group_id: message.asmGroupId,
    template_id: message.templateId,
    originating_ip: ORIGINATING_IP,
    reason: told["reason"] ?? told["server_response"],
    outbound_ip: OUTBOUND_IP,
    outbound_ip_type: "dedicated",
    mx: told["mx_server"],
    url: told["url"],
    attempt: told["attempt_num"],
    user_agent: told["http_user_agent"],
    type: told["bounce_type"],
    username,
    categories: JSON.stringify(message.categories),
    unique_args: JSON.stringify(message.args),
  };
}

function line(cells: readonly Cell[]): string {
  const texts = cells.map((cell) => {
    const text = cell === undefined ? "" : String(cell);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  });
  return `${texts.join(",")}\n`;
}
