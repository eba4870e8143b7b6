import type { Language } from "./query.ts";
import type { TruthEvent, TruthMessage } from "./truth.ts";

/** The Email Activity ("Messages") API's forms of a message, as tsg_email_activity_v3.yaml describes them. */

export const MESSAGES_LANGUAGE: Language = {
  nesting: true,
  fields: {
    msg_id: { type: "STRING" },
    from_email: { type: "STRING" },
    subject: { type: "STRING" },
    to_email: { type: "STRING" },
    status: { type: "STRING" },
    template_id: { type: "STRING" },
    template_name: { type: "STRING" },
    campaign_name: { type: "STRING" },
    marketing_campaign_name: { type: "STRING" },
    campaign_id: { type: "STRING" },
    marketing_campaign_id: { type: "STRING" },
    api_key_id: { type: "STRING" },
    teammate: { type: "STRING" },
    originating_ip: { type: "STRING" },
    outbound_ip: { type: "STRING" },
    asm_group_id: { type: "NUMBER" },
    clicks: { type: "NUMBER" },
    last_event_time: { type: "DATETIME" },
    events: { type: "ARRAY<STRING>" },
    categories: { type: "ARRAY<STRING>" },
    unique_args: { type: "MAP<STRING,STRING>" },
  },
};

/** The webhook's word for an event and this API's word for it; the others are the same in both. */
const EVENT_NAMES: Readonly<Record<string, string>> = {
  bounce: "bounced",
  open: "opened",
  click: "clicked",
  spamreport: "spam_report",
};

export const API_KEY_ID = "simulatedApiKeyId";
export const ORIGINATING_IP = "192.0.2.10";
export const OUTBOUND_IP = "198.51.100.25";

/** ISO 8601 without a fraction, as both APIs write times. */
export function isoSeconds(unixSeconds: number): string {
  return new Date(unixSeconds * 1000).toISOString().replace(".000Z", "Z");
}

/** processed, delivered or not_delivered: this API has no others. A bounce after the delivery wins, as at SendGrid. */
function messageStatus(message: TruthMessage): "processed" | "delivered" | "not_delivered" {
  const types = new Set(message.events.map((event) => event.type));
  if (types.has("bounce") || types.has("dropped")) return "not_delivered";
  return types.has("delivered") || types.has("open") || types.has("click") ? "delivered" : "processed";
}

function count(message: TruthMessage, type: string): number {
  return message.events.filter((event) => event.type === type).length;
}

/** What a query's field holds in a message. */
export function readMessageField(
  message: TruthMessage,
  field: string,
  key: string | undefined,
): string | number | readonly string[] | undefined {
  switch (field) {
    case "msg_id":
      return message.id;
    case "from_email":
      return message.from;
    case "subject":
      return message.subject;
    case "to_email":
      return message.to;
    case "status":
      return messageStatus(message);
    case "template_id":
      return message.templateId;
    case "api_key_id":
      return API_KEY_ID;
    case "originating_ip":
      return ORIGINATING_IP;
    case "outbound_ip":
      return OUTBOUND_IP;
    case "asm_group_id":
      return message.asmGroupId;
    case "clicks":
      return count(message, "click");
    case "last_event_time":
      return message.lastEventAt * 1000;
    case "events":
      return message.events.map(eventName);
    case "categories":
      return message.categories;
    case "unique_args":
      return key === undefined || !Object.hasOwn(message.args, key) ? undefined : message.args[key];
    default:
      return undefined;
  }
}

function eventName(event: TruthEvent): string {
  return EVENT_NAMES[event.type] ?? event.type;
}

/** A row of the list. */
export function messageRow(message: TruthMessage): Record<string, unknown> {
  return {
    from_email: message.from,
    msg_id: message.id,
    subject: message.subject,
    to_email: message.to,
    status: messageStatus(message),
    opens_count: count(message, "open"),
    clicks_count: count(message, "click"),
    last_event_time: isoSeconds(message.lastEventAt),
  };
}

/** A single message with its events; `unique_args` is a text that holds JSON, as at SendGrid. */
export function messageDetail(message: TruthMessage): Record<string, unknown> {
  return {
    from_email: message.from,
    msg_id: message.id,
    subject: message.subject,
    to_email: message.to,
    status: messageStatus(message),
    template_id: message.templateId,
    ...(message.asmGroupId === undefined ? {} : { asm_group_id: message.asmGroupId }),
    teammate: "",
    api_key_id: API_KEY_ID,
    events: message.events.toSorted((a, b) => a.at - b.at).map(activityEvent),
    originating_ip: ORIGINATING_IP,
    categories: message.categories,
    unique_args: JSON.stringify(message.args),
    outbound_ip: OUTBOUND_IP,
    outbound_ip_type: "dedicated",
  };
}

/** An event in this API's words. */
export function activityEvent(event: TruthEvent): Record<string, unknown> {
  const { wire, type } = event;
  const reason = wire["reason"] ?? wire["response"];
  const domain = typeof wire["email"] === "string" ? wire["email"].split("@")[1] : undefined;
  return {
    event_name: eventName(event),
    processed: isoSeconds(event.at),
    ...(typeof reason === "string" && type !== "delivered" ? { reason: reason.slice(0, 1024) } : {}),
    ...(typeof reason === "string" && type === "delivered" ? { server_response: reason } : {}),
    // The webhook counts attempts from 0, this API from 1 to 10.
    ...(type === "deferred" ? { attempt_num: Math.min(Number(wire["attempt"] ?? 0) + 1, 10) } : {}),
    ...(type === "click" ? { url: wire["url"] } : {}),
    ...(type === "bounce" ? { bounce_type: wire["type"] === "blocked" ? "soft" : "hard" } : {}),
    ...(typeof wire["useragent"] === "string" ? { http_user_agent: wire["useragent"] } : {}),
    ...(domain !== undefined && ["delivered", "deferred", "bounce"].includes(type)
      ? { mx_server: `mx.${domain}` }
      : {}),
  };
}
