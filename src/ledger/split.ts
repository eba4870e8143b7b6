/** Where an item stands in a body: bytes from `start` up to, not including, `end`. */
export interface ItemRange {
  start: number;
  end: number;
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const LINE_FEED = 0x0a;

/**
 * Finds the items of a top-level JSON array without parsing them, so that one broken item can be told from its
 * neighbours and kept with exactly its bytes. Works on any bytes and never throws.
 *
 * In a body that is not valid JSON (`broken`), an item whose braces or quotes do not close would swallow all that
 * follows. SendGrid writes a line break between items and nowhere else, and JSON allows none inside a string: so
 * `},` line break `{` ends a broken item, wherever its own structure seems to stand.
 *
 * @returns undefined when the body does not begin with `[`.
 */
export function splitItems(body: Buffer, broken: boolean): ItemRange[] | undefined {
  let position = skipSpace(body, startsWithBom(body) ? 3 : 0);
  if (body[position] !== OPEN_BRACKET) return undefined;
  position += 1;
  const items: ItemRange[] = [];
  for (;;) {
    while (position < body.length && (isSpace(body[position]) || body[position] === COMMA)) position += 1;
    if (position >= body.length) return items;
    if (body[position] === CLOSE_BRACKET) {
      const rest = skipSpace(body, position + 1);
      if (rest < body.length) items.push({ start: rest, end: trimEnd(body, rest, body.length) });
      return items;
    }
    const end = itemEnd(body, position, broken);
    items.push({ start: position, end: trimEnd(body, position, end) });
    // An item that has no length (a stray closing brace) must not stop the walk.
    position = end > position ? end : end + 1;
  }
}

/** The first position after the item that begins at `start`. */
function itemEnd(body: Buffer, start: number, broken: boolean): number {
  let depth = 0;
  let inString = false;
  for (let position = start; position < body.length; position += 1) {
    const byte = body[position];
    if (byte === LINE_FEED && broken && (inString || depth > 0)) {
      const end = boundaryAround(body, start, position);
      if (end !== undefined) return end;
    }
    if (inString) {
      if (byte === BACKSLASH) position += 1;
      else if (byte === QUOTE) inString = false;
    } else if (byte === QUOTE) {
      inString = true;
    } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      depth += 1;
    } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
      // A closing bracket at depth 0 ends the list; a closing brace there belongs to a broken item.
      if (depth === 0 && byte === CLOSE_BRACKET) return position;
      depth = Math.max(0, depth - 1);
    } else if (byte === COMMA && depth === 0) {
      return position;
    }
  }
  return body.length;
}

/** Where the item ends if the line break at `lineFeed` stands between `},` and `{`. */
function boundaryAround(body: Buffer, start: number, lineFeed: number): number | undefined {
  if (body[skipSpace(body, lineFeed)] !== OPEN_BRACE) return undefined;
  let before = lineFeed - 1;
  while (before > start && isSpace(body[before])) before -= 1;
  if (body[before] !== COMMA || body[before - 1] !== CLOSE_BRACE) return undefined;
  return before;
}

function startsWithBom(body: Buffer): boolean {
  return body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf;
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === LINE_FEED || byte === 0x0d || byte === 0x09;
}

function skipSpace(body: Buffer, from: number): number {
  let position = from;
  while (position < body.length && isSpace(body[position])) position += 1;
  return position;
}

function trimEnd(body: Buffer, start: number, end: number): number {
  let position = end;
  while (position > start && isSpace(body[position - 1])) position -= 1;
  return position;
}
