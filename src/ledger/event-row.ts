import type { SplitDetail } from "./detail-parts.ts";
import { isoTime } from "./iso-time.ts";
import type { BatchEvent } from "./plan.ts";
import type { NewEvent } from "./statements.ts";

/** The columns of an event's row in the order of `eventRows`: first those that filing decides. */
export const EVENT_COLUMNS =
  "message, twin, recipient, occurred_at, receipt, ordinal, origin, source, nameless, mailing_part, channel_part, event_id, type, detail";

const NULL = "\\N";

/**
 * The columns from the fourth on, as COPY takes them. Bytes, and so outside of V8's heap: as texts and objects they would be
 * moved about in it until their batch is filed.
 */
export function fixedColumns(entry: Omit<BatchEvent, "fixed">, { own, mailing, channel }: SplitDetail): Buffer {
  const { event, source, receipt, order } = entry;
  const { occurredAtMs, ordinal, messageId, eventId, type } = event;
  const origin = order?.origin ?? "webhook";
  const texts = `${escape(eventId)}\t${escape(type)}\t${escape(JSON.stringify(own))}`;
  const parts = `${mailing ?? NULL}\t${channel ?? NULL}`;
  return Buffer.from(
    `${isoTime(occurredAtMs)}\t${receipt ?? NULL}\t${ordinal}\t${origin}\t${source}\t${messageId === null}\t${parts}\t${texts}\n`,
  );
}

/** Lines of COPY. */
export function eventRows(events: readonly NewEvent[]): Buffer {
  const decided = events.map(({ message, twin, event, isToRecipient }) => {
    const recipient = event.recipient === null ? NULL : escape(event.recipient);
    // '' stands for the message's own.
    return `${message}\t${twin}\t${isToRecipient ? "" : recipient}\t`;
  });
  const bytes = events.reduce(
    (sum, { fixed }, index) => sum + Buffer.byteLength(decided[index] ?? "") + fixed.length,
    0,
  );
  const rows = Buffer.allocUnsafe(bytes);
  let end = 0;
  for (const [index, { fixed }] of events.entries()) {
    end += rows.write(decided[index] ?? "", end);
    end += fixed.copy(rows, end);
  }
  return rows;
}

const SPECIAL = /[\\\t\n\r]/;
const ESCAPES: Readonly<Record<string, string>> = { "\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r" };

/** What COPY would take for the end of a column or a line, or for an escape. */
function escape(text: string): string {
  return SPECIAL.test(text) ? text.replaceAll(/[\\\t\n\r]/g, (character) => ESCAPES[character] ?? character) : text;
}
