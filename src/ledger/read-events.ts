import { isEventId } from "../event-id.ts";
import { SSE_DETAIL_BYTES_MAX, SSE_LATEST_MESSAGES_SCANNED_MAX } from "../limits.ts";
import type { Connection } from "../postgres/pool.ts";

/** What identifies an event in the ledger: its message's number and its own id. */
export type EventKey = readonly [message: number, eventId: string];

export interface FiledEventRow {
  message: number;
  messageId: string | null;
  eventId: string;
  type: string;
  occurredAt: Date;
  recipient: string | null;
  subject: string | null;
  source: number;
  twin: boolean;
  /** Empty when it is larger than SSE_DETAIL_BYTES_MAX. */
  detail: Record<string, unknown>;
}

const COLUMNS = `
  e.message, m.message_id AS "messageId", e.event_id AS "eventId", e.type, e.occurred_at AS "occurredAt",
  e.recipient, n.subject, e.source, e.twin,
  CASE WHEN octet_length(e.detail::text) > ${SSE_DETAIL_BYTES_MAX} THEN '{}' ELSE e.detail END AS detail`;

/** These events, in no particular order; those that are no longer there are left out. */
export async function readEvents(tx: Connection, keys: readonly EventKey[]): Promise<FiledEventRow[]> {
  const result = await tx.query<FiledEventRow>({
    name: "read events",
    text: `SELECT ${COLUMNS}
     FROM unnest($1::bigint[], $2::text[]) AS key (message, event_id)
     JOIN whole_events e ON e.message = key.message AND ${isEventId("e.event_id", "key.event_id")}
     JOIN messages m ON m.id = e.message LEFT JOIN enrichments n ON n.message = m.id`,
    values: [keys.map(([message]) => message), keys.map(([, eventId]) => eventId)],
  });
  return result.rows;
}

/** The latest events of the newest messages of these sources, oldest first. Looks at a bounded number of messages. */
export async function readLatestEvents(
  tx: Connection,
  sources: readonly number[],
  limit: number,
): Promise<FiledEventRow[]> {
  const result = await tx.query<FiledEventRow>(
    `SELECT ${COLUMNS}
     FROM (SELECT id, message_id FROM
             (SELECT id, message_id, source FROM messages ORDER BY id DESC LIMIT ${SSE_LATEST_MESSAGES_SCANNED_MAX}) AS scanned
           WHERE source = ANY ($1::smallint[]) AND message_id IS NOT NULL ORDER BY id DESC LIMIT $2) AS m
     JOIN whole_events e ON e.message = m.id LEFT JOIN enrichments n ON n.message = m.id
     ORDER BY e.occurred_at DESC, e.message DESC, e.event_id LIMIT $2`,
    [sources, limit],
  );
  return result.rows.reverse();
}
