import { DETAIL_BYTES_MAX, PROBABLE_LINK_DAYS, TIMELINE_EVENTS_MAX } from "../limits.ts";
import { isMessageId } from "../message-id.ts";
import type { Connection } from "../postgres/pool.ts";
import { MESSAGE_COLUMNS, type MessageRow } from "./read-messages.ts";

/** The times of a message, by column. */
export interface MessageTimes {
  processed: Date | null;
  deferred: Date | null;
  delivered: Date | null;
  failed: Date | null;
  firstOpen: Date | null;
  lastOpen: Date | null;
  firstMachineOpen: Date | null;
  lastMachineOpen: Date | null;
  firstClick: Date | null;
  lastClick: Date | null;
  firstComplaint: Date | null;
  lastComplaint: Date | null;
  firstUnsubscribe: Date | null;
  lastUnsubscribe: Date | null;
}

/** `state` is null when nothing was ever to be asked (a nameless message). */
export interface EnrichmentRow {
  state: "pending" | "enriched" | "failed" | null;
  askedAt: Date | null;
  api: string | null;
  status: string | null;
  apiOpens: number | null;
  apiClicks: number | null;
  sender: string | null;
  template: string | null;
  error: string | null;
}

export interface EventRow {
  eventId: string;
  type: string;
  occurredAt: Date;
  recipient: string | null;
  source: number;
  origin: string;
  /** When an event was filed here that no webhook had brought: this one, or the one whose place it took. */
  repairedAt: Date | null;
  twin: boolean;
  probable: boolean;
  receipt: number | null;
  ordinal: number;
  detail: Record<string, unknown>;
  /** The detail is larger than DETAIL_BYTES_MAX, and empty here. */
  detailLeftOut: boolean;
}

export interface ReceiptRow {
  id: number;
  receivedAt: Date;
  source: number;
  bytes: number;
  sha256: Buffer;
  signed: boolean;
}

/** What is known of a message but its events. */
export type MessageHead = MessageRow & MessageTimes & EnrichmentRow;

export interface WholeMessage {
  head: MessageHead;
  /** Oldest first, at most TIMELINE_EVENTS_MAX. */
  events: EventRow[];
  eventsLeftOut: number;
  receipts: ReceiptRow[];
}

/** `nameless:SOURCE` names what has no id of its own: the events of a source that name no message. */
const NAMELESS_PREFIX = "nameless:";

/** The public id of a message. */
export function publicMessageId(messageId: string | null, sourceName: string): string {
  return messageId ?? `${NAMELESS_PREFIX}${sourceName}`;
}

/** A message by its public id, or undefined when no event has named it. */
export async function readHead(tx: Connection, publicId: string): Promise<MessageHead | undefined> {
  const named = await tx.query<MessageHead>({ name: "message by id", text: HEAD_BY_ID, values: [publicId] });
  const [row] = named.rows;
  // SendGrid's ids come first: should one begin with our prefix, it is that message.
  if (row !== undefined || !publicId.startsWith(NAMELESS_PREFIX)) return row;
  const nameless = await tx.query<MessageHead>(NAMELESS_HEAD, [publicId.slice(NAMELESS_PREFIX.length)]);
  return nameless.rows[0];
}

/** A message whole: its state, its timeline, and the receipts behind it. */
export async function readMessage(tx: Connection, head: MessageHead): Promise<WholeMessage> {
  const { rows } = await tx.query<EventRow & { total: number | null }>({
    name: "timeline",
    text: TIMELINE,
    values: [head.id, TIMELINE_EVENTS_MAX, PROBABLE_LINK_DAYS],
  });
  const events = rows.map(({ total: _total, ...event }): EventRow => event).sort(byTime);
  const own = rows.find(({ probable }) => !probable);
  const receipts = new Set(events.flatMap(({ receipt }) => receipt ?? []));
  return {
    head,
    events,
    eventsLeftOut: (own?.total ?? 0) - events.filter(({ probable }) => !probable).length,
    receipts: receipts.size === 0 ? [] : await readReceipts(tx, [...receipts]),
  };
}

async function readReceipts(tx: Connection, ids: readonly number[]): Promise<ReceiptRow[]> {
  const result = await tx.query<ReceiptRow>({
    name: "receipts of a timeline",
    text: `SELECT id, received_at AS "receivedAt", source, coalesce(bytes, octet_length(body)) AS bytes, sha256,
       signature IS NOT NULL AND key IS NOT NULL AS signed
     FROM receipts WHERE id = ANY ($1) ORDER BY received_at, id`,
    values: [ids],
  });
  return result.rows;
}

/*
 * Prepared, since PostgreSQL takes longer to plan these than to run them: together 3.2 ms of a message's page, planned
 * anew each time, and 0.6 so.
 */

const HEAD = `
  SELECT ${MESSAGE_COLUMNS},
    m.processed_at AS processed, m.deferred_at AS deferred, m.delivered_at AS delivered, m.failed_at AS failed,
    m.first_open_at AS "firstOpen", m.last_open_at AS "lastOpen",
    m.first_machine_open_at AS "firstMachineOpen", m.last_machine_open_at AS "lastMachineOpen",
    m.first_click_at AS "firstClick", m.last_click_at AS "lastClick",
    m.first_complaint_at AS "firstComplaint", m.last_complaint_at AS "lastComplaint",
    m.first_unsubscribe_at AS "firstUnsubscribe", m.last_unsubscribe_at AS "lastUnsubscribe",
    n.state, n.asked_at AS "askedAt", n.api, n.status, n.opens AS "apiOpens", n.clicks AS "apiClicks",
    n.sender, n.template, n.error
  FROM messages m LEFT JOIN enrichments n ON n.message = m.id`;

const HEAD_BY_ID = `${HEAD} WHERE ${isMessageId("m.message_id", "$1")}`;

const NAMELESS_HEAD = `${HEAD} JOIN sources s ON s.id = m.source WHERE m.message_id IS NULL AND s.name = $1`;

const EVENT_COLUMNS = `
  e.event_id AS "eventId", e.type, e.occurred_at AS "occurredAt", e.recipient, e.source, e.origin, e.twin,
  (SELECT min(r.repaired_at) FROM repairs AS r WHERE r.message = e.message AND r.outcome = 'filed'
    AND (r.event_id = e.event_id OR r.replaced_by = e.event_id)) AS "repairedAt",
  e.receipt, e.ordinal, octet_length(e.detail::text) > ${DETAIL_BYTES_MAX} AS "detailLeftOut",
  CASE WHEN octet_length(e.detail::text) > ${DETAIL_BYTES_MAX} THEN '{}' ELSE e.detail END AS detail`;

/** What decides a message's state is never left out for the sake of opens and clicks, of which a scanner makes thousands. */
const OWN_EVENTS = `
  SELECT ${EVENT_COLUMNS}, false AS probable, count(*) OVER () AS total
  FROM whole_events e WHERE e.message = $1
  ORDER BY e.type IN ('open', 'click'), e.occurred_at DESC, e.event_id LIMIT $2`;

/**
 * Events that named no message but this address, after this message and before the next one to it: most likely about
 * this one. Only of the same source, since another account's mails are other mails.
 */
const PROBABLE_EVENTS = `
  SELECT ${EVENT_COLUMNS}, true AS probable, NULL::bigint AS total
  FROM messages m JOIN whole_events e ON lower(e.own_recipient) = lower(m.recipient) AND e.source = m.source
  WHERE m.id = $1 AND m.message_id IS NOT NULL AND e.nameless
    AND e.occurred_at >= m.first_event_at AND e.occurred_at < m.first_event_at + make_interval(days => $3)
    AND NOT EXISTS (
      SELECT FROM messages later
      WHERE lower(later.recipient) = lower(m.recipient) AND later.source = m.source AND later.message_id IS NOT NULL
        AND (later.first_event_at, later.id) > (m.first_event_at, m.id) AND later.first_event_at <= e.occurred_at)
  ORDER BY e.occurred_at DESC LIMIT $2`;

const TIMELINE = `(${OWN_EVENTS}) UNION ALL (${PROBABLE_EVENTS})`;

/** SendGrid's times are whole seconds, so a mail that is delivered at once has several events of one time. */
const ORDER_WITHIN_A_SECOND = [
  "processed",
  "deferred",
  "delivered",
  "dropped",
  "bounce",
  "open",
  "click",
  "spamreport",
  "unsubscribe",
  "group_unsubscribe",
  "group_resubscribe",
];

function byTime(a: EventRow, b: EventRow): number {
  return (
    a.occurredAt.getTime() - b.occurredAt.getTime() ||
    orderOf(a.type) - orderOf(b.type) ||
    (a.receipt ?? 0) - (b.receipt ?? 0) ||
    a.ordinal - b.ordinal
  );
}

function orderOf(type: string): number {
  const index = ORDER_WITHIN_A_SECOND.indexOf(type);
  return index === -1 ? ORDER_WITHIN_A_SECOND.length : index;
}
