import { isEventId } from "../event-id.ts";
import { isMessageId } from "../message-id.ts";
import type { Pool, Queryable } from "../postgres/pool.ts";
import { REPAIR_COPY } from "../repair-item.ts";
import type { RecordedEvent } from "../sendgrid/record-types.ts";
import type { Kind } from "./kinds.ts";
import type { MissingEvent } from "./match.ts";

/** A record of SendGrid's that tells whole events. */
export type GapOrigin = "logs" | "messages" | "csv";

/** An event that SendGrid's records tell and the ledger does not hold. */
export interface FoundGap {
  messageId: string;
  kind: Kind;
  account: string;
  timeZone: string;
  origin: GapOrigin;
  /** The message's row, and its source or the account's; null where the ledger does not know it. */
  message: number | null;
  source: number;
  recipient: string | undefined;
  run: number;
  found: MissingEvent;
}

interface KnownGap {
  id: number;
  identity: string;
  kind: string;
  second: number | null;
  eventId: string | null;
}

/** What makes a gap this one, whatever finds it again. */
function identityOf({ messageId, found }: FoundGap): string {
  const { event, second, n } = found;
  return event.eventId === undefined
    ? `event:${messageId}:${event.type}:${second}:${n}`
    : `event:${messageId}:${event.eventId}`;
}

/**
 * Writes down gaps of one message, each once: a gap that is known is confirmed again. One found by a record without ids
 * before gets its id when a record with ids finds it.
 *
 * @returns how many were not known as open before.
 */
export async function recordGaps(db: Queryable, gaps: readonly FoundGap[]): Promise<FoundGap[]> {
  const [first] = gaps;
  if (first === undefined) return [];
  const known = await db.query<KnownGap>(
    `SELECT id, identity, kind, extract(epoch FROM occurred_at)::bigint AS second, event_id AS "eventId"
     FROM gaps WHERE message_id = $1 AND confidence = 'confirmed' AND state IN ('open', 'ordered')`,
    [first.messageId],
  );
  const free = new Map(known.rows.map((gap) => [gap.identity, gap]));
  const fresh: FoundGap[] = [];
  const left: FoundGap[] = [];
  for (const gap of gaps) if (!free.delete(identityOf(gap))) left.push(gap);
  for (const gap of left) {
    const alike = [...free.values()].find(
      ({ kind, second, eventId }) =>
        kind === gap.kind && second === gap.found.second && (eventId === null || gap.found.event.eventId === undefined),
    );
    if (alike === undefined) {
      fresh.push(gap);
      await upsertGap(db, gap);
      continue;
    }
    free.delete(alike.identity);
    if (alike.eventId === null && gap.found.event.eventId !== undefined) await renameGap(db, alike.id, gap);
  }
  return fresh;
}

async function upsertGap(db: Queryable, gap: FoundGap): Promise<void> {
  const { kind, account, timeZone, origin, message, source, recipient, messageId, found } = gap;
  await db.query(
    `INSERT INTO gaps (occurred_at, message, source, day, account, identity, kind, rule, confidence, message_id, event_id, recipient, item, evidence)
     VALUES ($1::timestamptz, $2, $3, ($1::timestamptz AT TIME ZONE $4)::date, $5, $6, $7, $8, 'confirmed', $9, $10, $11, $12, $13)
     ON CONFLICT (identity) DO UPDATE SET state = 'open', closed_at = NULL, found_at = now(), message = excluded.message,
       source = excluded.source, item = excluded.item, rule = excluded.rule, evidence = excluded.evidence`,
    [
      new Date(found.event.occurredAtMs),
      message,
      source,
      timeZone,
      account,
      identityOf(gap),
      kind,
      origin,
      messageId,
      found.event.eventId ?? null,
      recipient ?? null,
      itemOf(found),
      { copy: found.n, run: gap.run },
    ],
  );
}

/** Of alike events without ids, the ledger must know which one is meant. */
function itemOf({ event, n }: MissingEvent): RecordedEvent["item"] {
  return event.eventId === undefined ? { ...event.item, [REPAIR_COPY]: n } : event.item;
}

async function renameGap(db: Queryable, id: number, gap: FoundGap): Promise<void> {
  await db.query(
    `UPDATE gaps SET identity = $2, event_id = $3, item = $4, rule = $5 WHERE id = $1
       AND NOT EXISTS (SELECT FROM gaps WHERE identity = $2)`,
    [id, identityOf(gap), gap.found.event.eventId, itemOf(gap.found), gap.origin],
  );
}

/** The days whose gaps are looked at, of one account. */
export interface GapRange {
  account: string;
  fromDay: string;
  toDay: string;
}

const IN_RANGE = "g.account = $1 AND g.day BETWEEN $2 AND $3";

/**
 * Looks at the gaps of a range again: those whose event is there by now are `arrived` when a webhook brought it, and
 * `repaired` when it was filed from SendGrid's records.
 */
export async function lookAgain(pool: Pool, { account, fromDay, toDay }: GapRange): Promise<void> {
  const range = [account, fromDay, toDay];
  await pool.query(
    `UPDATE gaps AS g SET state = found.state, closed_at = now(), message = coalesce(found.message, g.message)
     FROM (
       SELECT g.id, m.id AS message,
         CASE WHEN e.origin = 'webhook' THEN 'arrived' ELSE 'repaired' END AS state
       FROM gaps AS g LEFT JOIN messages AS m ON ${isMessageId("m.message_id", "g.message_id")}
         CROSS JOIN LATERAL (
           SELECT origin FROM events WHERE message = m.id AND ${isEventId("events.event_id", "g.event_id")}
           UNION ALL
           SELECT origin FROM events
           WHERE message = ANY (ARRAY(SELECT id FROM messages WHERE message_id IS NULL)) AND ${isEventId("events.event_id", "g.event_id")}
           LIMIT 1
         ) AS e
       WHERE ${IN_RANGE} AND g.confidence = 'confirmed' AND g.event_id IS NOT NULL AND g.state IN ('open', 'ordered', 'repaired')
     ) AS found
     WHERE g.id = found.id AND g.state <> found.state`,
    range,
  );
  // Without an id: as many of this type and second as this is the n-th of, or the repaired one has given way to a webhook's,
  // or the ledger took another event for this one (a click whose url only one of the two records tells).
  await pool.query(
    `UPDATE gaps AS g SET state = found.state, closed_at = now(), message = coalesce(found.message, g.message)
     FROM (
       SELECT g.id, m.id AS message,
         CASE WHEN r.replaced_by_receipt IS NOT NULL OR holder.origin = 'webhook' OR held.brought >= (g.evidence->>'copy')::int
             THEN 'arrived'
           WHEN holder.origin IS NOT NULL OR held.all >= (g.evidence->>'copy')::int THEN 'repaired' ELSE g.state END AS state
       FROM gaps AS g JOIN messages AS m ON ${isMessageId("m.message_id", "g.message_id")} LEFT JOIN repairs AS r ON r.gap = g.id
         LEFT JOIN events AS holder ON r.outcome = 'held' AND holder.message = r.message AND ${isEventId("holder.event_id", "r.event_id")}
         CROSS JOIN LATERAL (
           SELECT count(*) AS all, count(*) FILTER (WHERE e.origin = 'webhook') AS brought FROM events AS e
           WHERE e.message = m.id AND e.type = g.item->>'event' AND date_trunc('second', e.occurred_at) = date_trunc('second', g.occurred_at)
             AND (e.type <> 'click' OR e.detail->'url' IS NOT DISTINCT FROM g.item->'url')
         ) AS held
       WHERE ${IN_RANGE} AND g.confidence = 'confirmed' AND g.event_id IS NULL AND g.state IN ('open', 'ordered', 'repaired')
     ) AS found
     WHERE g.id = found.id AND g.state <> found.state`,
    range,
  );
}

/** Confirmed gaps of a day by kind: all that no webhook has brought, and of those the ones still open. */
export interface NamedGaps {
  missing: number;
  open: number;
  /** The records that named them. */
  means: string[];
}

export async function countNamed(db: Queryable, account: string, day: string): Promise<Map<Kind, NamedGaps>> {
  const found = await db.query<NamedGaps & { kind: Kind }>(
    `SELECT kind, count(*) AS missing, count(*) FILTER (WHERE state <> 'repaired') AS open, array_agg(DISTINCT rule) AS means FROM gaps
     WHERE account = $1 AND day = $2 AND confidence = 'confirmed' AND state IN ('open', 'ordered', 'repaired') GROUP BY kind`,
    [account, day],
  );
  return new Map(found.rows.map(({ kind, ...named }) => [kind, named]));
}

/** Suspected gaps of a day that are still open. */
export async function countSuspected(db: Queryable, account: string, day: string): Promise<number> {
  const found = await db.query<{ count: number }>(
    `SELECT count(*) FROM gaps WHERE account = $1 AND day = $2 AND confidence = 'suspected' AND state = 'open'`,
    [account, day],
  );
  return found.rows[0]?.count ?? 0;
}
