import { SEND_ID_CHARS_MAX, SEND_LINE_CHARS_MAX } from "../limits.ts";

/** One line of a log. */
export interface LogLine {
  number: number;
  text: string;
  /** It was longer than is read. */
  isCut: boolean;
}

/**
 * The lines of a text that comes in pieces: with each piece those that it ends, so that nothing waits for what comes next.
 * Of a line without an end no more than SEND_LINE_CHARS_MAX is in memory.
 */
export async function* logLines(pieces: AsyncIterable<string>): AsyncGenerator<LogLine[]> {
  let number = 1;
  let text = "";
  let isCut = false;
  for await (const piece of pieces) {
    const lines: LogLine[] = [];
    let from = 0;
    for (;;) {
      const end = piece.indexOf("\n", from);
      const part = piece.slice(from, end === -1 ? undefined : end);
      const room = SEND_LINE_CHARS_MAX - text.length;
      text += part.slice(0, room);
      isCut ||= part.length > room;
      if (end === -1) break;
      lines.push({ number, text, isCut });
      number += 1;
      text = "";
      isCut = false;
      from = end + 1;
    }
    yield lines;
  }
  if (text !== "") yield [{ number, text, isCut }];
}

/** What a line says: ids, and when; or that it names the header and no id can be read. */
export interface SendLine {
  ids: string[];
  at: Date | undefined;
  /** What of it could not be read. */
  problem: string | undefined;
}

const NAME = /x[-_]message[-_]id/gi;
/** `X-Message-Id: abc`, `x-message-id=abc`, `"x-message-id":"abc"`, `'x-message-id': [ 'abc' ]`, also in escaped JSON. */
const VALUE = new RegExp(
  `^[\\\\"'\\]]*\\s*(?:=>|[:=])[\\\\"'\\s[]*([A-Za-z0-9_-]{1,${SEND_ID_CHARS_MAX}})(?![A-Za-z0-9_.-])`,
);
/** What programs write where there is none. */
const NO_ID = /^(?:null|undefined|none|nil|-+)$/i;
const ISO = /\b(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d(?:[.,]\d{1,9})?) ?(Z|[+-]\d\d:?\d\d)\b/;
/** As pino writes it: milliseconds since 1970. */
const EPOCH_MS = /"time":(\d{13})\b/;

/** Reads one line of an application's log. A line that does not name the header says nothing, and is no problem. */
export function readSendLine({ text, isCut }: LogLine): SendLine {
  const ids: string[] = [];
  let problem: string | undefined;
  for (const { index, 0: name } of text.matchAll(NAME)) {
    const [, id] = VALUE.exec(text.slice(index + name.length, index + name.length + 2 * SEND_ID_CHARS_MAX)) ?? [];
    if (id === undefined || NO_ID.test(id)) problem = "X-Message-Id without an id";
    else ids.push(id);
  }
  if (isCut) problem ??= `longer than ${SEND_LINE_CHARS_MAX} characters: the rest was not read`;
  return { ids, at: ids.length === 0 ? undefined : readTime(text), problem };
}

function readTime(text: string): Date | undefined {
  const [, day, time, zone] = ISO.exec(text) ?? [];
  const [, epoch] = EPOCH_MS.exec(text) ?? [];
  let at = Number.NaN;
  if (zone !== undefined)
    at = Date.parse(`${day}T${time?.replace(",", ".")}${zone.replace(/^([+-]\d\d)(\d\d)$/, "$1:$2")}`);
  else if (epoch !== undefined) at = Number(epoch);
  return Number.isNaN(at) ? undefined : new Date(at);
}
