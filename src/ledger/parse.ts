import { isUtf8 } from "node:buffer";
import { ITEM_DEPTH_MAX } from "../limits.ts";
import { mayRepeatKeys, repeatedKeys } from "./duplicate-keys.ts";
import { readItem, type ParsedEvent, type QuarantineReason } from "./event.ts";
import { isJsonObject, mayNeedSanitising, parseJson, sanitise, isDeeperThan, type Json } from "./json.ts";
import { splitItems } from "./split.ts";

/** What could not become an event. `ordinal` is -1 when the whole body is meant. */
export interface QuarantinedItem {
  ordinal: number;
  reason: QuarantineReason;
  bytes: Buffer;
}

export interface ParsedReceipt {
  /** Items found, counted before anything is decided about them: the left side of the balance. */
  accepted: number;
  events: ParsedEvent[];
  quarantined: QuarantinedItem[];
  /** Items in which characters had to be replaced for PostgreSQL. */
  sanitised: number;
}

/** The ordinal that means a whole body. */
export const WHOLE_BODY = -1;

/**
 * Turns a receipt's bytes into events and quarantined items. Total: any bytes give a result, nothing throws, and every
 * item is in exactly one of the two lists (promise P4). Tests: parse.test.ts, with property tests over any bytes.
 */
export function parseReceipt(body: Buffer): ParsedReceipt {
  const text = decode(body);
  if (text.trim() === "") return wholeBody(body, "empty");
  const needsSanitising = mayNeedSanitising(text) || !isUtf8(body);
  const parsed = parseJson(text);
  if (parsed === undefined) return parseBroken(body);
  const { value: items } = parsed;
  if (!Array.isArray(items)) return wholeBody(body, "not_array");
  if (items.length > 0 && !items.some(hasType)) return wholeBody(body, "no_events");

  let ranges: ReturnType<typeof splitItems>;
  const result: ParsedReceipt = { accepted: 0, events: [], quarantined: [], sanitised: 0 };
  const mayRepeat = mayRepeatKeys(text, items);
  for (const [ordinal, item] of items.entries()) {
    const bytesOf = (): Buffer => {
      ranges ??= splitItems(body, false);
      const range = ranges?.[ordinal];
      if (range === undefined) throw new Error("a valid array has fewer items when split than when parsed");
      return body.subarray(range.start, range.end);
    };
    readInto(result, { item, ordinal, needsSanitising, bytesOf });
    if (mayRepeat && isJsonObject(item)) noteRepeatedKeys(result, ordinal, bytesOf());
  }
  return result;
}

/** What repeats a deciding key is filed as its last value says, and says so itself: the bytes have both. */
function noteRepeatedKeys(result: ParsedReceipt, ordinal: number, bytes: Buffer): void {
  const event = result.events.at(-1);
  if (event === undefined || event.ordinal !== ordinal) return;
  const repeated = repeatedKeys(decode(bytes));
  if (repeated.length > 0) event.detail["holdfast_repeated_keys"] = repeated;
}

/** Reads the bytes of one item alone, as they were cut out of their body. */
export function parseItem(bytes: Buffer, ordinal: number): ParsedReceipt {
  const text = decode(bytes);
  const result: ParsedReceipt = { accepted: 0, events: [], quarantined: [], sanitised: 0 };
  const parsed = parseJson(text);
  if (parsed === undefined) {
    return { ...result, accepted: 1, quarantined: [{ ordinal, reason: "item_not_json", bytes }] };
  }
  const needsSanitising = mayNeedSanitising(text) || !isUtf8(bytes);
  readInto(result, { item: parsed.value, ordinal, needsSanitising, bytesOf: () => bytes });
  if (isJsonObject(parsed.value) && mayRepeatKeys(text, [parsed.value])) noteRepeatedKeys(result, ordinal, bytes);
  return result;
}

/** The bytes that quarantine keeps of this item; undefined when the body holds no such item. */
export function bytesOfItem(body: Buffer, ordinal: number): Buffer | undefined {
  if (ordinal === WHOLE_BODY) return body;
  const range = splitItems(body, parseJson(decode(body)) === undefined)?.[ordinal];
  return range === undefined ? undefined : body.subarray(range.start, range.end);
}

/** A body that is not JSON as a whole may still hold good items: each is tried alone. */
function parseBroken(body: Buffer): ParsedReceipt {
  const ranges = splitItems(body, true);
  if (ranges === undefined) return wholeBody(body, "not_json");
  const result: ParsedReceipt = { accepted: 0, events: [], quarantined: [], sanitised: 0 };
  for (const [ordinal, { start, end }] of ranges.entries()) {
    const item = parseItem(body.subarray(start, end), ordinal);
    result.accepted += item.accepted;
    result.events.push(...item.events);
    result.quarantined.push(...item.quarantined);
    result.sanitised += item.sanitised;
  }
  return result.events.length === 0 ? wholeBody(body, "not_json") : result;
}

interface ItemToRead {
  item: Json;
  ordinal: number;
  needsSanitising: boolean;
  bytesOf: () => Buffer;
}

function readInto(result: ParsedReceipt, { item, ordinal, needsSanitising, bytesOf }: ItemToRead): void {
  result.accepted += 1;
  let clean = item;
  // The depth first: sanitising walks the tree recursively.
  if (needsSanitising && !isDeeperThan(item, ITEM_DEPTH_MAX)) {
    clean = sanitise(item);
    if (clean !== item || JSON.stringify(item).includes("\uFFFD")) result.sanitised += 1;
  }
  const read = readItem(clean, ordinal);
  if ("event" in read) result.events.push(read.event);
  else result.quarantined.push({ ordinal, reason: read.reason, bytes: bytesOf() });
}

function hasType(item: Json): boolean {
  return isJsonObject(item) && Object.hasOwn(item, "event");
}

function wholeBody(body: Buffer, reason: QuarantineReason): ParsedReceipt {
  return { accepted: 1, events: [], quarantined: [{ ordinal: WHOLE_BODY, reason, bytes: body }], sanitised: 0 };
}

/** As UTF-8, with U+FFFD for what is not, and without a byte order mark. */
function decode(bytes: Buffer): string {
  const text = bytes.toString("utf8");
  return text.startsWith("\uFEFF") ? text.slice(1) : text;
}
