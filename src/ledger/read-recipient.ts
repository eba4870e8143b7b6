import { RECIPIENT_MESSAGES_MAX, RECIPIENT_REASONS_SCANNED_MAX } from "../limits.ts";
import type { Connection } from "../postgres/pool.ts";

/** The newest messages to one address, summed up. */
export interface RecipientSummary {
  messages: number;
  /** There are more than RECIPIENT_MESSAGES_MAX. */
  hasMore: boolean;
  unknown: number;
  processed: number;
  deferred: number;
  delivered: number;
  dropped: number;
  blocked: number;
  bounced: number;
  opened: number;
  clicked: number;
  firstEventAt: Date | null;
  lastEventAt: Date | null;
  lastDeliveredAt: Date | null;
  lastOpenAt: Date | null;
}

/** An event that may make SendGrid stop sending to its recipient, or start again. */
export interface ReasonRow {
  message: string | null;
  source: number;
  type: string;
  occurredAt: Date;
  detail: Record<string, unknown>;
}

export interface RecipientFilter {
  address: string;
  /** Numbers of the sources to look at. */
  sources: readonly number[];
}

const SAME_ADDRESS = `lower(m.recipient) = lower($1::text COLLATE "C")`;

/** The newest messages that are mails to this address. One more than is summed up shows that there are more. */
const NEWEST = `
  SELECT * FROM messages m
  WHERE ${SAME_ADDRESS} AND m.message_id IS NOT NULL AND m.source = ANY ($2::smallint[])
  ORDER BY m.id DESC`;

const SUMMARY = `
  WITH newest AS (${NEWEST} LIMIT ${RECIPIENT_MESSAGES_MAX + 1}), counted AS (SELECT * FROM newest LIMIT ${RECIPIENT_MESSAGES_MAX})
  SELECT count(*) AS messages, (SELECT count(*) FROM newest) > ${RECIPIENT_MESSAGES_MAX} AS "hasMore",
    ${["unknown", "processed", "deferred", "delivered", "dropped", "blocked", "bounced"]
      .map((state) => `count(*) FILTER (WHERE delivery = '${state}') AS ${state}`)
      .join(", ")},
    count(first_open_at) AS opened, count(first_click_at) AS clicked,
    min(first_event_at) AS "firstEventAt", max(last_event_at) AS "lastEventAt",
    max(delivered_at) AS "lastDeliveredAt", max(last_open_at) AS "lastOpenAt"
  FROM counted`;

export async function readRecipient(tx: Connection, filter: RecipientFilter): Promise<RecipientSummary> {
  const result = await tx.query<RecipientSummary>(SUMMARY, [filter.address, filter.sources]);
  const [row] = result.rows;
  if (row === undefined) throw new Error("the summary of a recipient returned no row");
  return row;
}

const REASON_TYPES = "('bounce', 'dropped', 'spamreport', 'unsubscribe', 'group_unsubscribe', 'group_resubscribe')";
const COLUMNS = "e.source, e.type, e.occurred_at, e.detail";

/**
 * What decided whether SendGrid still sends to this address, newest first: its own events, and those that named no
 * message. Only messages that can hold such an event are looked into. Twins say nothing new.
 */
const REASONS = `
  WITH newest AS (${NEWEST} LIMIT ${RECIPIENT_MESSAGES_MAX}),
  suspects AS (
    SELECT id, message_id FROM newest
    WHERE failed_at IS NOT NULL OR first_complaint_at IS NOT NULL OR last_unsubscribe_at IS NOT NULL
      OR last_resubscribe_at IS NOT NULL
  )
  SELECT message, source, type, occurred_at AS "occurredAt", detail FROM (
    (SELECT m.message_id AS message, ${COLUMNS} FROM suspects m JOIN whole_events e ON e.message = m.id
     WHERE e.type IN ${REASON_TYPES} AND NOT e.twin AND lower(e.recipient) = lower($1::text COLLATE "C"))
    UNION ALL
    (SELECT NULL, ${COLUMNS} FROM whole_events e
     WHERE e.nameless AND lower(e.own_recipient) = lower($1::text COLLATE "C") AND e.type IN ${REASON_TYPES}
       AND NOT e.twin AND e.source = ANY ($2::smallint[])
     ORDER BY e.occurred_at DESC LIMIT ${RECIPIENT_REASONS_SCANNED_MAX})
  ) AS reasons ORDER BY occurred_at DESC LIMIT ${RECIPIENT_REASONS_SCANNED_MAX}`;

export async function readReasons(tx: Connection, filter: RecipientFilter): Promise<ReasonRow[]> {
  const result = await tx.query<ReasonRow>(REASONS, [filter.address, filter.sources]);
  return result.rows;
}

/** The latest delivery of a mail that was itself sent after a moment: by then SendGrid sent to this address again. */
export async function readDeliveredSince(tx: Connection, filter: RecipientFilter, since: Date): Promise<Date | null> {
  const result = await tx.query<{ at: Date | null }>(
    `WITH newest AS (${NEWEST} LIMIT ${RECIPIENT_MESSAGES_MAX})
     SELECT min(delivered_at) AS at FROM newest WHERE first_event_at > $3 AND delivered_at > $3`,
    [filter.address, filter.sources, since],
  );
  return result.rows[0]?.at ?? null;
}
