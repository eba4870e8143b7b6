import { API_KEY_ID, isoSeconds, ORIGINATING_IP, OUTBOUND_IP } from "./messages-api.ts";
import type { Language } from "./query.ts";
import type { TruthEvent, TruthMessage } from "./truth.ts";

/** The Email Logs API's forms of a message, as tsg_logs_v3.yaml describes them. */

export const LOGS_LANGUAGE: Language = {
  nesting: false,
  fields: {
    sg_message_id: { type: "STRING", operators: ["="] },
    subject: { type: "STRING", operators: ["="] },
    to_email: { type: "STRING", operators: ["="] },
    status: { type: "STRING", operators: ["IN"] },
    reason: { type: "STRING", operators: ["="] },
    categories: { type: "ARRAY<STRING>", operators: ["IN"] },
    sg_message_id_created_at: { type: "DATETIME", operators: [">", "<", ">=", "<="] },
  },
};

/** A detail holds the newest events only. */
const EVENTS_MAX = 100;

type LogStatus = "processed" | "delivered" | "deferred" | "dropped" | "bounced" | "blocked";

function logStatus(message: TruthMessage): LogStatus {
  const has = (wanted: (event: TruthEvent) => boolean): boolean => message.events.some(wanted);
  if (has((event) => event.type === "bounce" && event.wire["type"] !== "blocked")) return "bounced";
  if (has((event) => event.type === "bounce")) return "blocked";
  if (has((event) => event.type === "dropped")) return "dropped";
  if (has((event) => ["delivered", "open", "click"].includes(event.type))) return "delivered";
  return has((event) => event.type === "deferred") ? "deferred" : "processed";
}

/** The text of the latest drop, bounce, deferral or delivery. */
function logReason(message: TruthMessage): string | undefined {
  const told = message.events.filter((event) => ["dropped", "bounce", "deferred", "delivered"].includes(event.type));
  const latest = told.toSorted((a, b) => a.at - b.at).at(-1)?.wire;
  const reason = latest?.["reason"] ?? latest?.["response"];
  return typeof reason === "string" ? reason : undefined;
}

/** What a query's field holds in a message. */
export function readLogField(message: TruthMessage, field: string): string | number | readonly string[] | undefined {
  switch (field) {
    case "sg_message_id":
      return message.id;
    case "subject":
      return message.subject;
    case "to_email":
      return message.to;
    case "status":
      return logStatus(message);
    case "reason":
      return logReason(message);
    case "categories":
      return message.categories;
    case "sg_message_id_created_at":
      return message.createdAt * 1000;
    default:
      return undefined;
  }
}

/** A row of the list. */
export function logRow(message: TruthMessage): Record<string, unknown> {
  const reason = logReason(message);
  return {
    from_email: message.from,
    sg_message_id: message.id,
    subject: message.subject,
    to_email: message.to,
    ...(reason === undefined ? {} : { reason }),
    status: logStatus(message),
    sg_message_id_created_at: isoSeconds(message.createdAt),
  };
}

/** A single message with its events, whose custom args stand apart from the system's fields. */
export function logDetail(message: TruthMessage): Record<string, unknown> {
  return {
    from_email: message.from,
    sg_message_id: message.id,
    subject: message.subject,
    to_email: message.to,
    status: logStatus(message),
    ...(message.templateId === "" ? {} : { template_id: message.templateId }),
    ...(message.asmGroupId === undefined ? {} : { asm_group_id: message.asmGroupId }),
    teammate: "",
    api_key_id: API_KEY_ID,
    events: [
      ...message.events.toSorted((a, b) => b.at - a.at).map((event) => logEvent(event, message)),
      receivedEvent(message),
    ].slice(0, EVENTS_MAX),
    client_ip: ORIGINATING_IP,
    category: message.categories,
    custom_args: message.args,
    outbound_ip: OUTBOUND_IP,
    outbound_ip_type: "dedicated",
  };
}

/** That SendGrid took the request, before anything happened to the message. The webhook has no such event. */
function receivedEvent(message: TruthMessage): Record<string, unknown> {
  const requestId = message.id.split(".")[0] ?? "";
  return {
    event: "received",
    email: message.to,
    recv_msgid: requestId,
    sg_event_id: Buffer.from(`received-${requestId}`).toString("base64url"),
    timestamp: message.createdAt,
    api_key_id: API_KEY_ID,
    api_version: "3",
    client_ip: ORIGINATING_IP,
    protocol: "HTTP",
    recipient_count: 1,
  };
}

function logEvent(event: TruthEvent, message: TruthMessage): Record<string, unknown> {
  const own = Object.entries(event.wire).filter(([key]) => !Object.hasOwn(message.args, key) && key !== "category");
  return { ...Object.fromEntries(own), category: message.categories, custom_args: message.args };
}
