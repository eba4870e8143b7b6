import { parseJsonText } from "../json-text.ts";

/** JSON as it comes from the wire, made fit for PostgreSQL. Bytes are never changed: this is about the parsed tree. */

export type Json = null | boolean | number | string | Json[] | JsonObject;
export interface JsonObject {
  [key: string]: Json;
}

/**
 * Makes objects in which `__proto__` is a key like any other. `Object.create(null)` does that too, but V8 keeps those as hash
 * tables: one of seven keys takes 481 bytes, one of these 89.
 */
const Bare = function () {} as unknown as { new (): object; prototype: unknown };
Bare.prototype = Object.create(null);

/** An object without keys, and without any that it would inherit. */
export function bareObject<T>(): Record<string, T> {
  return new Bare() as Record<string, T>;
}

/**
 * A number that loses digits in a double is written with so many of them, or with an exponent. A colon counts after a quote only:
 * `:3e5` inside of an IPv6 address made the slow way of one body in four, which takes six times as long.
 */
const DELICATE_NUMBER = /(?:(?<="\s*):|[[,])\s*-?(?:[\d.]{16}|\d[\d.]*[eE])/;
/** What jsonb refuses: U+0000 and halves of surrogate pairs, which only an escape can bring. */
const REFUSED_ESCAPE = /\\u(?:0000|[dD][89a-fA-F])/;

/**
 * Parses JSON text. A number that a double cannot hold is kept as its digits in a string.
 *
 * @returns undefined when the text is not JSON.
 */
export function parseJson(text: string): { value: Json } | undefined {
  try {
    const value = DELICATE_NUMBER.test(text) ? parseJsonText(text, keepDigits) : parseJsonText(text);
    return { value: value as Json };
  } catch {
    return undefined;
  }
}

function keepDigits(_key: string, value: unknown, context?: { source?: string }): unknown {
  if (typeof value !== "number" || context?.source === undefined) return value;
  const { source } = context;
  if (Number.isSafeInteger(value) && !/[.eE]/.test(source)) return value;
  return String(value) === source ? value : source;
}

/** Whether the parsed tree of this text may hold strings that PostgreSQL refuses. */
export function mayNeedSanitising(text: string): boolean {
  return REFUSED_ESCAPE.test(text);
}

/**
 * Replaces U+0000 and lone surrogates, in keys and values, by U+FFFD. The depth must have been checked before.
 *
 * @returns the value itself when nothing had to be replaced, so that `sanitise(value) !== value` says whether it had.
 */
export function sanitise(value: Json): Json {
  if (typeof value === "string") return sanitiseText(value);
  if (Array.isArray(value)) {
    const items = value.map(sanitise);
    return items.some((item, index) => item !== value[index]) ? items : value;
  }
  if (value === null || typeof value !== "object") return value;
  let changed = false;
  const clean: JsonObject = bareObject();
  for (const [key, member] of Object.entries(value)) {
    const cleanKey = sanitiseText(key);
    const cleanMember = sanitise(member);
    changed ||= cleanKey !== key || cleanMember !== member;
    clean[cleanKey] = cleanMember;
  }
  return changed ? clean : value;
}

function sanitiseText(text: string): string {
  const clean = text.toWellFormed();
  return clean.includes("\0") ? clean.replaceAll("\0", "\uFFFD") : clean;
}

/** Whether objects and arrays stand in each other deeper than `max`. Stops looking there, so any depth is safe. */
export function isDeeperThan(value: Json, max: number): boolean {
  if (value === null || typeof value !== "object") return false;
  if (max === 0) return true;
  if (Array.isArray(value)) {
    for (const member of value) if (isDeeperThan(member, max - 1)) return true;
    return false;
  }
  for (const key in value) if (isDeeperThan(value[key] ?? null, max - 1)) return true;
  return false;
}

/** JSON text that is the same for equal values: keys sorted, no spaces. */
export function canonicalJson(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  const members = Object.keys(value)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonicalJson(value[key] ?? null)}`);
  return `{${members.join(",")}}`;
}

export function isJsonObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
