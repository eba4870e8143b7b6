import { createHash } from "node:crypto";
import {
  ARG_KEY_CHARS_MAX,
  ARGS_BYTES_MAX,
  CATEGORIES_MAX,
  CATEGORY_CHARS_MAX,
  EVENT_ID_CHARS_MAX,
  EVENT_TYPE_CHARS_MAX,
  ITEM_DEPTH_MAX,
  MESSAGE_ID_CHARS_MAX,
  RECIPIENT_CHARS_MAX,
} from "../limits.ts";
import { SYSTEM_KEYS } from "../sendgrid/wire.ts";
import { bareObject, canonicalJson, isDeeperThan, isJsonObject, type Json, type JsonObject } from "./json.ts";

/** An item of a receipt, read. What is a column stands here; the rest of the item is in `detail`, `args` or `categories`. */
export interface ParsedEvent {
  ordinal: number;
  /** null: the item names no message. */
  messageId: string | null;
  eventId: string;
  /** The wire name in lower case; any name is taken. */
  type: string;
  occurredAtMs: number;
  recipient: string | null;
  detail: JsonObject;
  args: Record<string, string>;
  categories: string[];
}

/** Why bytes could not become an event. Shown to people, so each has its sentence on the page. */
export type QuarantineReason =
  | "empty"
  | "not_json"
  | "not_array"
  | "no_events"
  | "item_not_json"
  | "not_object"
  | "no_type"
  | "bad_type"
  | "no_timestamp"
  | "bad_timestamp"
  | "too_deep";

export type ReadItem = { event: ParsedEvent } | { reason: QuarantineReason };

/** Reads one item. Total: any JSON value gives an event or a reason. Its strings must be sanitised already. */
export function readItem(item: Json, ordinal: number): ReadItem {
  if (!isJsonObject(item)) return { reason: "not_object" };
  if (isDeeperThan(item, ITEM_DEPTH_MAX)) return { reason: "too_deep" };
  const { event: type, timestamp } = item;
  if (type === undefined || type === null || type === "") return { reason: "no_type" };
  if (typeof type !== "string" || type.length > EVENT_TYPE_CHARS_MAX) return { reason: "bad_type" };
  if (timestamp === undefined || timestamp === null) return { reason: "no_timestamp" };
  const occurredAtMs = readTimestamp(timestamp);
  if (occurredAtMs === undefined) return { reason: "bad_timestamp" };

  const { detail, args } = readMembers(item);
  const recipient = readText(item, detail, RECIPIENT);
  const messageId = readText(item, detail, MESSAGE_ID);
  const eventId = readText(item, detail, EVENT_ID) ?? fingerprint(item);
  const categories = readCategories(item, detail);
  return {
    event: { ordinal, messageId, eventId, type: type.toLowerCase(), occurredAtMs, recipient, detail, args, categories },
  };
}

/** Read into columns of their own; kept in `detail` only when the column cannot hold them as they came. */
const COLUMN_KEYS: ReadonlySet<string> = new Set([
  "email",
  "timestamp",
  "event",
  "sg_event_id",
  "sg_message_id",
  "category",
]);

/** 2001-09-09 and 2100-01-01 in Unix seconds: outside of them a number is no time of an e-mail event. */
const SECONDS_MIN = 1_000_000_000;
const SECONDS_MAX = 4_102_444_800;

/** Unix seconds as documented; milliseconds and quoted numbers stand in SendGrid's own samples. */
function readTimestamp(value: Json): number | undefined {
  const number = typeof value === "string" && /^\d{10,13}(\.\d+)?$/.test(value) ? Number(value) : value;
  if (typeof number !== "number") return undefined;
  if (number >= SECONDS_MIN && number < SECONDS_MAX) return Math.floor(number * 1000);
  if (number >= SECONDS_MIN * 1000 && number < SECONDS_MAX * 1000) return Math.floor(number);
  return undefined;
}

interface TextColumn {
  key: string;
  charsMax: number;
  shorten: (text: string) => string;
}

const RECIPIENT: TextColumn = {
  key: "email",
  charsMax: RECIPIENT_CHARS_MAX,
  shorten: (text) => text.slice(0, RECIPIENT_CHARS_MAX).toWellFormed(),
};
const MESSAGE_ID: TextColumn = { key: "sg_message_id", charsMax: MESSAGE_ID_CHARS_MAX, shorten: hashed };
const EVENT_ID: TextColumn = { key: "sg_event_id", charsMax: EVENT_ID_CHARS_MAX, shorten: hashed };

/** Absent, null, "" and other types give null; what is too long is shortened, and the original stays in detail. */
function readText(item: JsonObject, detail: JsonObject, column: TextColumn): string | null {
  const { key, charsMax, shorten } = column;
  const value = item[key];
  if (value === undefined || value === null || value === "") return null;
  // An id that became a number on its way is still that id.
  if (typeof value === "number") return String(value);
  if (typeof value === "string" && value.length <= charsMax) return value;
  detail[key] = value;
  return typeof value === "string" ? shorten(value) : null;
}

function hashed(text: string): string {
  return `sha256:${createHash("sha256").update(text).digest("base64url")}`;
}

/**
 * The identity of an event without sg_event_id: a hash of all it says, so that a re-delivery is the same event and two
 * truly identical events are one.
 */
function fingerprint(item: JsonObject): string {
  return `fp:${createHash("sha256").update(canonicalJson(item)).digest("base64url")}`;
}

/** SendGrid echoes categories as they were sent: one string, a list, or not at all. */
function readCategories(item: JsonObject, detail: JsonObject): string[] {
  const { category } = item;
  if (category === undefined || category === null) return [];
  const list = Array.isArray(category) ? category : [category];
  const taken = list.filter((entry) => typeof entry === "string" && entry !== "" && entry.length <= CATEGORY_CHARS_MAX);
  const categories = distinct(taken as string[]).slice(0, CATEGORIES_MAX);
  if (categories.length !== list.length) detail["category"] = category;
  return categories;
}

/** Sorted, and each once. */
export function distinct(texts: string[]): string[] {
  const isSorted = texts.every((text, index) => index === 0 || compareBytes(texts[index - 1] ?? "", text) < 0);
  return isSorted ? texts : [...new Set(texts)].sort(compareBytes);
}

/**
 * The members that have no column. Custom args are whatever SendGrid does not write itself, each as text: that is what they
 * are searched by.
 */
function readMembers(item: JsonObject): { detail: JsonObject; args: Record<string, string> } {
  const detail: JsonObject = bareObject();
  const args = bareObject<string>();
  let argsBytes = 0;
  for (const key in item) {
    const value = item[key] ?? null;
    if (SYSTEM_KEYS.has(key)) {
      if (!COLUMN_KEYS.has(key)) detail[key] = value;
      continue;
    }
    const text = typeof value === "string" ? value : JSON.stringify(value);
    argsBytes += Buffer.byteLength(key) + Buffer.byteLength(text);
    if (argsBytes > ARGS_BYTES_MAX || key.length > ARG_KEY_CHARS_MAX) detail[key] = value;
    else args[key] = text;
  }
  return { detail, args };
}

/** Order of the UTF-8 bytes, which is that of the code points: PostgreSQL's collation "C". */
export function compareBytes(a: string, b: string): number {
  const end = Math.min(a.length, b.length);
  for (let at = 0; at < end; at += 1) {
    const one = a.codePointAt(at) ?? 0;
    const other = b.codePointAt(at) ?? 0;
    if (one !== other) return one - other;
  }
  return a.length - b.length;
}
