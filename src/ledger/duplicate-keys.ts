/**
 * JSON lets an object name a key twice, and a parser keeps the last one. A custom arg named like one of SendGrid's own
 * keys can arrive that way, and would then silently stand in for it.
 */

/** The keys that decide what an event is. */
const DECIDING_KEYS = ["email", "event", "timestamp", "sg_event_id", "sg_message_id"] as const;

/** Whether any deciding key stands in the text more often than there are items. Fast, and never wrongly false. */
export function mayRepeatKeys(text: string, items: number): boolean {
  // Inside a string the quotes would be escaped, so only real keys are counted (and those of nested objects, rarely).
  return DECIDING_KEYS.some((key) => countUpTo(text, `"${key}"`, items + 1) > items);
}

function countUpTo(text: string, part: string, max: number): number {
  let count = 0;
  for (let at = text.indexOf(part); at !== -1 && count < max; at = text.indexOf(part, at + part.length)) count += 1;
  return count;
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

/** The position after the string that begins at `start`. */
function stringEnd(text: string, start: number): number {
  let position = start + 1;
  while (position < text.length && text[position] !== '"') position += text[position] === "\\" ? 2 : 1;
  return position + 1;
}
