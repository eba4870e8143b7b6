import type { SplitDetail } from "./detail-parts.ts";
import { isoTime } from "./iso-time.ts";
import type { BatchEvent } from "./plan.ts";

/** The columns of an event's row in the order of `eventRows`: first those that filing decides. */
export const EVENT_COLUMNS =
  "message, twin, occurred_at, receipt, ordinal, origin, source, nameless, mailing_part, channel_part, event_id, type, recipient, detail";

const NULL = "\\N";

/**
 * The columns from the third on, as COPY takes them. Bytes, and so outside of V8's heap: as texts and objects they would be
 * moved about in it until their batch is filed.
 */
export function fixedColumns(entry: Omit<BatchEvent, "fixed">, { own, mailing, channel }: SplitDetail): Buffer {
  const { event, source, receipt, order } = entry;
  const { occurredAtMs, ordinal, messageId, eventId, type, recipient } = event;
  const origin = order?.origin ?? "webhook";
  const to = recipient === null ? NULL : escape(recipient);
  const texts = `${escape(eventId)}\t${escape(type)}\t${to}\t${escape(JSON.stringify(own))}`;
  const parts = `${mailing ?? NULL}\t${channel ?? NULL}`;
  return Buffer.from(
    `${isoTime(occurredAtMs)}\t${receipt ?? NULL}\t${ordinal}\t${origin}\t${source}\t${messageId === null}\t${parts}\t${texts}\n`,
  );
}

/** What the first two columns take at most, with their tabs. */
const DECIDED_BYTES_MAX = String(Number.MAX_SAFE_INTEGER).length + "\tfalse\t".length;

/** Lines of COPY. */
export function eventRows(events: readonly { message: number; twin: boolean; fixed: Buffer }[]): Buffer {
  const rows = Buffer.allocUnsafe(events.reduce((sum, { fixed }) => sum + DECIDED_BYTES_MAX + fixed.length, 0));
  let end = 0;
  for (const { message, twin, fixed } of events) {
    end += rows.write(`${message}\t${twin}\t`, end, "latin1");
    end += fixed.copy(rows, end);
  }
  return rows.subarray(0, end);
}

const SPECIAL = /[\\\t\n\r]/;
const ESCAPES: Readonly<Record<string, string>> = { "\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r" };

/** What COPY would take for the end of a column or a line, or for an escape. */
function escape(text: string): string {
  return SPECIAL.test(text) ? text.replaceAll(/[\\\t\n\r]/g, (character) => ESCAPES[character] ?? character) : text;
}
