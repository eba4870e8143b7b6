import { randomUUID } from "node:crypto";

type Revive = (key: string, value: unknown, context?: { source?: string }) => unknown;

/**
 * `JSON.parse`, but for a fault of V8 (nodejs/node#63785): where an object of the same shape once had a key that begins with a
 * backslash, a key that is written with an escape is read as that one. Its shortest form is `{"\\":0}` before `{"\"":0}`. Whoever
 * writes such keys could make two events' custom args look different each time they are read. So escaped keys are read apart, as
 * plain strings, which V8 reads right. Test: json-text.test.ts.
 *
 * @throws SyntaxError when the text is not JSON.
 */
export function parseJsonText(text: string, revive?: Revive): unknown {
  const named = nameEscapedKeys(text);
  if (named === undefined) return revive === undefined ? JSON.parse(text) : JSON.parse(text, revive);
  const { keys } = named;
  return JSON.parse(named.text, (key, value: unknown, context?: { source?: string }) => {
    const revived = revive === undefined ? value : revive(key, value, context);
    return isPlainObject(revived) ? renamed(revived, keys) : revived;
  });
}

interface NamedKeys {
  text: string;
  /** What stands for each escaped key, and the key. */
  keys: ReadonlyMap<string, string>;
}

/** Puts a name without escapes in the place of each key that is written with one. @returns undefined where there is none. */
function nameEscapedKeys(text: string): NamedKeys | undefined {
  let escape = text.indexOf("\\");
  if (escape === -1) return undefined;
  const pieces: string[] = [];
  const keys = new Map<string, string>();
  // Nobody can have written a key of this name.
  const mark = randomUUID();
  let copied = 0;
  for (let start = text.indexOf('"'); start !== -1 && escape !== -1;) {
    const quote = text.indexOf('"', start + 1);
    const end = quote < escape ? quote + 1 : stringEnd(text, start);
    if (quote === -1 || end > text.length) break;
    if (escape < end) {
      if (isKey(text, end)) {
        const name = `${mark}${keys.size}`;
        keys.set(name, JSON.parse(text.slice(start, end)) as string);
        pieces.push(text.slice(copied, start), `"${name}"`);
        copied = end;
      }
      escape = text.indexOf("\\", end);
    }
    start = text.indexOf('"', end);
  }
  if (keys.size === 0) return undefined;
  return { text: pieces.join("") + text.slice(copied), keys };
}

/** The place after the string that begins at `start`; after the text's end where the string has none. */
export function stringEnd(text: string, start: number): number {
  let position = start + 1;
  while (position < text.length && text[position] !== '"') position += text[position] === "\\" ? 2 : 1;
  return position + 1;
}

function isKey(text: string, end: number): boolean {
  let at = end;
  while (text[at] === " " || text[at] === "\n" || text[at] === "\r" || text[at] === "\t") at += 1;
  return text[at] === ":";
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The object with its keys' own names, in their order. */
function renamed(value: Record<string, unknown>, keys: ReadonlyMap<string, string>): object {
  const names = Object.keys(value);
  if (!names.some((name) => keys.has(name))) return value;
  // Defined, not set: a key may be __proto__.
  return Object.fromEntries(names.map((name) => [keys.get(name) ?? name, value[name]]));
}
