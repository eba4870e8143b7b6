import { isEventIdOf } from "../event-id.ts";
import type { Connection } from "../postgres/pool.ts";
import { REPAIR_COPY } from "../repair-item.ts";
import type { Json, JsonObject } from "./json.ts";
import { likenessOf, LIKENESS_KEYS, type HeldEvent, type MessageGroup } from "./plan.ts";
import { repairCopy } from "./repair-item.ts";
import { hasOwnId } from "./same-event.ts";

type Candidates = readonly { message: number; group: MessageGroup }[];

/** As it stands there. */
export interface HeldRow {
  message: number;
  eventId: string;
  type: string;
  occurredAt: Date;
  recipient: string | null;
  detail: JsonObject;
  repaired: { twin: boolean; copy: Json } | null;
}

/**
 * The held events that can make one of the batch a duplicate (same id) or a twin (same type and time). Where no
 * webhook brought one of the two, also those of the same second, since they may be one and the same. Some more that share
 * an id or a time with another message's events are among them, which does no harm.
 */
export async function readHeldEvents(tx: Connection, candidates: Candidates): Promise<HeldRow[]> {
  const named = candidates.filter(({ group }) => group.messageId !== null);
  const nameless = candidates.filter(({ group }) => group.messageId === null);
  return [
    ...(named.length === 0 ? [] : await readHeldNamed(tx, named)),
    ...(nameless.length === 0 ? [] : await readHeldNameless(tx, nameless)),
  ];
}

/** By message. `recipients` of the messages, which '' in a row stands for: put in here, since that makes the statement quicker to plan. */
export function heldByMessage(
  rows: readonly HeldRow[],
  recipients: ReadonlyMap<number, string | null>,
): Map<number, HeldEvent[]> {
  const byMessage = new Map<number, HeldEvent[]>();
  for (const { message, eventId, type, occurredAt, recipient: own, detail, repaired } of rows) {
    const held = byMessage.get(message) ?? [];
    const recipient = own === "" ? (recipients.get(message) ?? null) : own;
    const seen = { eventId, type, occurredAtMs: occurredAt.getTime(), recipient, detail };
    held.push({
      eventId,
      likeness: likenessOf(seen),
      seen,
      ...(repaired === null
        ? {}
        : { repaired: { twin: repaired.twin, copy: hasOwnId(seen) ? undefined : repairCopy(repaired.copy) } }),
    });
    byMessage.set(message, held);
  }
  return byMessage;
}

const HELD_COLUMNS = `held.message, held.event_id AS "eventId", held.type, held.occurred_at AS "occurredAt", held.recipient,
  jsonb_build_object(${LIKENESS_KEYS.map((key) => `'${key}', held.detail->'${key}'`).join(", ")}) AS detail,
  CASE WHEN held.origin <> 'webhook' THEN jsonb_build_object('twin', held.twin, 'copy', held.detail->'${REPAIR_COPY}') END AS repaired`;

/**
 * Each message's entries of the index are walked once, and its events looked up in lists. A join with the batch's events
 * reads the whole table as long as PostgreSQL has no statistics of it: 85 ms for a batch of 3,500 with a million stored, and
 * growing; this 1.5. Without a name, so that it is planned with these very lists: only of a constant list does PostgreSQL
 * make a hash table.
 */
async function readHeldNamed(tx: Connection, candidates: Candidates): Promise<HeldRow[]> {
  const events = candidates.flatMap(({ group }) => group.events);
  const times = [...new Set(events.map(({ event }) => event.occurredAtMs))];
  const seconds = [...new Set(times.map((milliseconds) => Math.floor(milliseconds / 1000) * 1000))];
  const hasOrders = events.some(({ order }) => order !== undefined);
  const found = await tx.query<HeldRow>({
    text: `SELECT ${HELD_COLUMNS} FROM unnest($1::bigint[]) AS known
      JOIN LATERAL (SELECT * FROM events WHERE message = known AND (event_id = ANY ($2) OR occurred_at = ANY ($3)
          OR ((origin <> 'webhook' OR $5) AND date_trunc('second', occurred_at) = ANY ($4))) OFFSET 0)
        AS held ON true`,
    values: [
      candidates.map(({ message }) => message),
      events.map(({ event }) => event.eventId),
      times.map((milliseconds) => new Date(milliseconds)),
      seconds.map((milliseconds) => new Date(milliseconds)),
      hasOrders,
    ],
  });
  return found.rows;
}

/**
 * A nameless message can hold millions of events: they are looked up one by one, by id, and by person and time. None of
 * them is a repaired one: an order names its message.
 */
async function readHeldNameless(tx: Connection, candidates: Candidates): Promise<HeldRow[]> {
  const events = candidates.flatMap(({ group }) => group.events.map(({ event }) => event));
  const found = await tx.query<HeldRow>({
    name: "read held nameless events",
    text: `SELECT ${HELD_COLUMNS} FROM events AS held WHERE held.message = ANY ($1) AND ${isEventIdOf("held.event_id", "$2")}
      UNION ALL
      SELECT ${HELD_COLUMNS} FROM unnest($3::text[], $4::timestamptz[]) AS new (recipient, occurred_at)
        JOIN events AS held ON held.nameless AND held.message = ANY ($1) AND held.occurred_at = new.occurred_at
          AND lower(held.recipient) = lower(new.recipient COLLATE "C")
      UNION ALL
      SELECT ${HELD_COLUMNS} FROM unnest($3::text[], $4::timestamptz[]) AS new (recipient, occurred_at)
        JOIN events AS held ON held.nameless AND held.message = ANY ($1) AND held.occurred_at = new.occurred_at
          AND lower(held.recipient) IS NULL AND new.recipient IS NULL`,
    values: [
      candidates.map(({ message }) => message),
      events.map(({ eventId }) => eventId),
      events.map(({ recipient }) => recipient),
      events.map(({ occurredAtMs }) => new Date(occurredAtMs)),
    ],
  });
  return found.rows;
}
