import { parseJsonText } from "../json-text.ts";
import {
  ARGS_BYTES_MAX,
  EVENT_TYPE_CHARS_MAX,
  RECORD_ENTRIES_MAX,
  RECORD_KEY_CHARS_MAX,
  RECORD_NESTING_MAX,
  RECORD_TEXT_CHARS_MAX,
} from "../limits.ts";
import type { RecordedEvent } from "./record-types.ts";

/**
 * Turns what SendGrid's records say of an event into the form in which the webhook would have posted it. Total: whatever
 * comes gives an event or undefined. The texts are fit for PostgreSQL, and bounded.
 */

type JsonObject = Record<string, unknown>;

/** Other records' words for the webhook's events; any other name is the same everywhere. */
const WEBHOOK_NAMES: ReadonlyMap<string, string> = new Map([
  ["bounced", "bounce"],
  ["opened", "open"],
  ["clicked", "click"],
  ["spam_report", "spamreport"],
  ["drop", "dropped"],
]);

/** What only SendGrid's records have, about a request or a planned send: the webhook never posts these, so none can be missing. */
const NEVER_POSTED = new Set(["received", "cancel_drop"]);

const BOUNCE_TYPES: ReadonlyMap<string, string> = new Map([
  ["hard", "bounce"],
  ["soft", "blocked"],
  ["block", "blocked"],
]);

/** What the events of a message have in common. */
export interface MessageFields {
  messageId: string;
  recipient: string | undefined;
  categories: unknown;
  /** Custom args by name. */
  args: unknown;
  /** Further fields, by the webhook's names. */
  common?: JsonObject;
}

/** An event as the Messages API and the CSV export tell it. `attempt` counts from 1. */
export interface ActivityFields {
  name: unknown;
  occurredAtMs: number | undefined;
  reason: unknown;
  /** What the recipient's server said when it took the mail. */
  response: unknown;
  attempt: number | undefined;
  bounceType: unknown;
  url: unknown;
  useragent: unknown;
  outboundIp: unknown;
}

/** `other`: an event that the webhook does not have. */
export function readActivityEvent(fields: ActivityFields, message: MessageFields): RecordedEvent | "other" | undefined {
  const type = webhookName(fields.name);
  const { occurredAtMs } = fields;
  if (type !== undefined && NEVER_POSTED.has(type)) return "other";
  if (type === undefined || occurredAtMs === undefined || !isPlausible(occurredAtMs)) return undefined;
  const isDelivery = type === "delivered" || type === "deferred";
  const item = {
    ...(isDelivery
      ? { response: fields.response ?? fields.reason, ip: fields.outboundIp }
      : { reason: fields.reason, url: fields.url, useragent: fields.useragent }),
    ...(type === "deferred" && fields.attempt !== undefined
      ? // The webhook counts from 0, and writes a text.
        { attempt: String(Math.max(fields.attempt - 1, 0)) }
      : {}),
    ...(type === "bounce" ? { type: bounceType(fields.bounceType) } : {}),
  };
  return finish({ type, occurredAtMs, eventId: undefined, item, message });
}

/** `other`: an event that the webhook does not have. */
export function readLogEvent(value: JsonObject, message: MessageFields): RecordedEvent | "other" | undefined {
  const type = webhookName(value["event"]);
  if (type === undefined) return undefined;
  if (NEVER_POSTED.has(type)) return "other";
  const { timestamp, custom_args: args, category, sg_event_id: eventId, ...item } = value;
  if (typeof timestamp !== "number" || !isPlausible(timestamp * 1000)) return undefined;
  if (type === "bounce") item["type"] = bounceType(item["type"]);
  return finish({
    type,
    occurredAtMs: Math.floor(timestamp) * 1000,
    eventId: typeof eventId === "string" && eventId !== "" ? cleanText(eventId) : undefined,
    item,
    message: { ...message, args: args ?? message.args, categories: category ?? message.categories },
  });
}

interface Draft {
  type: string;
  occurredAtMs: number;
  eventId: string | undefined;
  item: JsonObject;
  message: MessageFields;
}

/** What SendGrid itself says stands over the custom args, so that none of these can disguise an event. */
function finish({ type, occurredAtMs, eventId, item, message }: Draft): RecordedEvent {
  const { messageId, recipient, categories, args, common } = message;
  const whole = {
    ...(isObject(args) ? bounded(args) : {}),
    ...common,
    category: Array.isArray(categories) && categories.length === 0 ? undefined : categories,
    email: recipient,
    ...item,
    event: type,
    timestamp: Math.floor(occurredAtMs / 1000),
    sg_message_id: messageId,
    sg_event_id: eventId,
  };
  return { type, occurredAtMs, eventId, item: cleanObject(whole, RECORD_NESTING_MAX) };
}

/** As many custom args as SendGrid allows a mail; each event of a message repeats them. */
function bounded(args: JsonObject): JsonObject {
  let chars = 0;
  return Object.fromEntries(
    // Cleaned first: what nests too deeply cannot be written as text either.
    Object.entries(cleanObject(args, RECORD_NESTING_MAX - 1)).filter(([key, value]) => {
      chars += key.length + (typeof value === "string" ? value.length : JSON.stringify(value).length);
      return chars <= ARGS_BYTES_MAX;
    }),
  );
}

function webhookName(value: unknown): string | undefined {
  if (typeof value !== "string" || value === "" || value.length > EVENT_TYPE_CHARS_MAX) return undefined;
  const name = cleanText(value).toLowerCase();
  return WEBHOOK_NAMES.get(name) ?? name;
}

function bounceType(value: unknown): unknown {
  return typeof value === "string" ? (BOUNCE_TYPES.get(value) ?? value) : value;
}

/** 2001-09-09 and 2100-01-01: the ledger takes no other times. */
const TIME_MS_MIN = 1_000_000_000_000;
const TIME_MS_MAX = 4_102_444_800_000;

export function isPlausible(ms: number): boolean {
  return ms >= TIME_MS_MIN && ms < TIME_MS_MAX;
}

/** Custom args where they are a text that holds JSON; whatever else it is, there are none. */
export function parseArgs(value: unknown): JsonObject | undefined {
  if (isObject(value)) return value;
  if (typeof value !== "string") return undefined;
  try {
    const parsed = parseJsonText(value);
    return isObject(parsed) ? parsed : undefined;
  } catch {
    return undefined;
  }
}

/** PostgreSQL holds neither NUL nor half a surrogate pair. */
function cleanText(text: string): string {
  return text.slice(0, RECORD_TEXT_CHARS_MAX).replaceAll("\u0000", "\uFFFD").toWellFormed();
}

/** Empty texts and nulls are left out: a record writes them where the webhook has no such field. */
function cleanObject(value: JsonObject, depth: number): JsonObject {
  // fromEntries defines its keys, so that one named __proto__ becomes a key like any other.
  return Object.fromEntries(
    Object.entries(value)
      .filter(
        ([key, member]) =>
          member !== undefined && member !== null && member !== "" && key !== "" && key.length <= RECORD_KEY_CHARS_MAX,
      )
      .slice(-RECORD_ENTRIES_MAX)
      .map(([key, member]) => [cleanText(key), clean(member, depth)]),
  );
}

function clean(value: unknown, depth: number): unknown {
  if (typeof value === "string") return cleanText(value);
  if (typeof value !== "object" || value === null) return value;
  if (depth === 0) return null;
  if (Array.isArray(value)) return value.slice(0, RECORD_ENTRIES_MAX).map((member) => clean(member, depth - 1));
  return cleanObject(value as JsonObject, depth - 1);
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
