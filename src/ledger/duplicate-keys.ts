import { stringEnd } from "../json-text.ts";
import { isJsonObject, type Json } from "./json.ts";

/**
 * JSON lets an object name a key twice, and a parser keeps the last one. A custom arg named like one of SendGrid's own
 * keys can arrive that way, and would then silently stand in for it.
 */

/** The keys that decide what an event is. */
const DECIDING_KEYS = ["email", "event", "timestamp", "sg_event_id", "sg_message_id"] as const;
/** Their ends are looked for first, which stand in a text less often than quotes: half the time. */
const DECIDING_KEY = new RegExp(`(?:ail|ent|amp|_id)"(?<="(?:${DECIDING_KEYS.join("|")})")`, "g");

/**
 * Whether deciding keys stand in the text more often than the parsed items have them. Fast (one pass over the text), and
 * never wrongly false: inside a string the quotes would be escaped, so only whole strings are counted, which are these
 * keys, or now and then a value or a nested object's key of that name.
 */
export function mayRepeatKeys(text: string, items: readonly Json[]): boolean {
  let kept = 0;
  for (const item of items) {
    if (isJsonObject(item)) for (const key of DECIDING_KEYS) if (Object.hasOwn(item, key)) kept += 1;
  }
  DECIDING_KEY.lastIndex = 0;
  for (let found = 0; found <= kept; found += 1) if (!DECIDING_KEY.test(text)) return false;
  return true;
}

/** The deciding keys that this object names more than once. The text must be a valid JSON object. */
export function repeatedKeys(objectText: string): string[] {
  const counts = new Map<string, number>();
  let depth = 0;
  for (let position = 0; position < objectText.length; position += 1) {
    const character = objectText[position];
    if (character === "{" || character === "[") depth += 1;
    else if (character === "}" || character === "]") depth -= 1;
    else if (character === '"') {
      const end = stringEnd(objectText, position);
      if (depth === 1 && /^\s*:/.test(objectText.slice(end, end + 20))) {
        const key: unknown = JSON.parse(objectText.slice(position, end));
        if (typeof key === "string") counts.set(key, (counts.get(key) ?? 0) + 1);
      }
      position = end - 1;
    }
  }
  return DECIDING_KEYS.filter((key) => (counts.get(key) ?? 0) > 1);
}
