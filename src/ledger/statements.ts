import { isEventId } from "../event-id.ts";
import { withMessageIds } from "../message-id.ts";
import { int2Array, int4Array, int8Array, textArray } from "../postgres/binary-array.ts";
import { hidden } from "../postgres/hidden-parameter.ts";
import type { Connection } from "../postgres/pool.ts";
import type { PackedBody } from "../receipt-body.ts";
import { COUNTS, EARLIEST, LATEST, NO_EXTRAS, type MessageState } from "./merge.ts";
import type { QuarantinedItem } from "./parse.ts";
import { messageKey, type MessageGroup, type MessageKey, type PlannedEvent } from "./plan.ts";
import { STATE_ARRAYS, STATE_COLUMNS, stateArrays, stateRows } from "./state-rows.ts";

/**
 * The statements of the projecting transaction, in the order in which it uses them. One function is one statement. Every
 * transaction that files is begun with the settings BY_INDEX.
 */

export interface ClaimedReceipt {
  receipt: number;
  receivedAt: Date;
  bytes: number;
  attempts: number;
}

/** Receipts that are due, oldest first, locked for this transaction; those that others hold are passed over. */
export async function claimDue(tx: Connection, receiptsMax: number): Promise<ClaimedReceipt[]> {
  const claimed = await tx.query<ClaimedReceipt>({
    name: "claim due",
    text: `SELECT receipt, received_at AS "receivedAt", bytes, attempts FROM inbox
      WHERE next_attempt_at <= now() ORDER BY receipt LIMIT ${hidden("$1", "int8")} FOR UPDATE SKIP LOCKED`,
    values: [receiptsMax],
  });
  return claimed.rows;
}

/** The receipts of these numbers that are still in the inbox and that nobody else holds. */
export async function claimThese(tx: Connection, receipts: readonly number[]): Promise<ClaimedReceipt[]> {
  const claimed = await tx.query<ClaimedReceipt>(
    `SELECT receipt, received_at AS "receivedAt", bytes, attempts FROM inbox
     WHERE receipt = ANY ($1) ORDER BY receipt FOR UPDATE SKIP LOCKED`,
    [receipts],
  );
  return claimed.rows;
}

export interface PackedReceipt extends PackedBody {
  id: number;
  receivedAt: Date;
  source: number;
}

export async function readBodies(tx: Connection, claimed: readonly ClaimedReceipt[]): Promise<PackedReceipt[]> {
  const bodies = await tx.query<PackedReceipt>({
    name: "read bodies",
    // The times let PostgreSQL look only into the partitions that can hold these receipts. Planned anew for each batch: a plan for
    // any times would lock and open all of them, and in ten years there are 120.
    text: `SELECT id, received_at AS "receivedAt", source, codec, bytes, body FROM receipts
      WHERE id = ANY ($1) AND received_at BETWEEN $2 AND $3 ORDER BY id`,
    values: [
      claimed.map(({ receipt }) => receipt),
      new Date(Math.min(...claimed.map(({ receivedAt }) => receivedAt.getTime()))),
      new Date(Math.max(...claimed.map(({ receivedAt }) => receivedAt.getTime()))),
    ],
  });
  return bodies.rows;
}

interface MessageRow {
  id: number;
  messageId: string | null;
  source: number;
}

const MESSAGE_ROW = 'id, message_id AS "messageId", source';

function idsByKey(rows: readonly MessageRow[]): Map<MessageKey, number> {
  return new Map(rows.map((row) => [messageKey(row), row.id]));
}

/** The ids of the messages that the ledger holds at this moment, by key. Locks nothing, so it promises nothing. */
export async function findSeen(tx: Connection, groups: readonly MessageGroup[]): Promise<Map<MessageKey, number>> {
  const found = await tx.query<MessageRow>({
    name: "find seen",
    text: `SELECT ${MESSAGE_ROW} ${withMessageIds("$1", "id, message_id, source")}
      UNION ALL SELECT ${MESSAGE_ROW} FROM messages WHERE message_id IS NULL AND source = ANY ($2::int2[])`,
    values: [
      textArray(groups.flatMap(({ messageId }) => messageId ?? [])),
      int2Array(groups.filter(({ messageId }) => messageId === null).map(({ source }) => source)),
    ],
  });
  return idsByKey(found.rows);
}

/**
 * Inserts the messages that the ledger has not seen, with the state that this batch gives them, and orders their
 * enrichment in the same statement (promise P5). Rows that exist are left alone. The rows come by key, as all locks do, but
 * their numbers by the time of their first event, since the list of messages is in the order of their numbers. The enrichments,
 * which nobody else can lock, come by number: their index is filled at its edge then, and a third smaller.
 *
 * @returns the ids of the new ones only, by key.
 */
export async function insertUnseenMessages(
  tx: Connection,
  messages: readonly { group: MessageGroup; state: MessageState | undefined }[],
  settleSeconds: number,
): Promise<Map<MessageKey, number>> {
  const states = messages.map(({ group, state }) =>
    // A nameless message has no state of its own.
    group.messageId === null || state === undefined ? { ...NO_STATE, source: group.source } : state,
  );
  const places = placesByTime(states.map(({ times }) => times.first_event_at ?? 0));
  const inserted = await tx.query<MessageRow>({
    name: "insert unseen messages",
    text: `WITH numbers AS MATERIALIZED (
        SELECT array_agg(number ORDER BY number) AS list
        FROM (SELECT nextval('messages_id_seq') AS number FROM generate_series(1, cardinality($1::int4[]))) AS drawn
      ), unseen AS (
        INSERT INTO messages (id, message_id, ${STATE_COLUMNS}) OVERRIDING SYSTEM VALUE
        SELECT (SELECT list FROM numbers)[place], message_id, ${STATE_COLUMNS}
        FROM ${stateRows({ place: "int4", message_id: "text" })} AS row
        ON CONFLICT DO NOTHING
        RETURNING id, message_id, source
      ), ordered AS (
        INSERT INTO enrichments (message, next_attempt_at)
        SELECT id, now() + make_interval(secs => $${STATE_ARRAYS + 3}) FROM unseen WHERE message_id IS NOT NULL ORDER BY id
      )
      SELECT ${MESSAGE_ROW} FROM unseen`,
    values: [
      int4Array(places),
      textArray(messages.map(({ group }) => group.messageId)),
      ...stateArrays(states),
      settleSeconds,
    ],
  });
  return idsByKey(inserted.rows);
}

const NO_STATE: Omit<MessageState, "source"> = {
  recipient: null,
  delivery: "unknown",
  times: {},
  counts: { opens: 0, machine_opens: 0, clicks: 0 },
  ...NO_EXTRAS,
};

/** Which place each of these times takes among them, from 1. */
function placesByTime(times: readonly number[]): number[] {
  const places: number[] = [];
  const byTime = times.map((time, index) => ({ time, index })).sort((a, b) => a.time - b.time);
  for (const [place, { index }] of byTime.entries()) places[index] = place + 1;
  return places;
}

/**
 * Locks these messages, in the order of their ids.
 *
 * Invariant: whoever stores an event of a message or changes the message holds this lock, and every transaction takes its
 * locks in the same order: first new rows by key, then old rows by id. So projectors never deadlock with each other, and
 * what is read about a held message stays true until the commit. Test: projector.pg.test.ts (storm of opposite orders).
 *
 * @returns those that are there.
 */
export async function lockMessages(tx: Connection, messages: readonly number[]): Promise<LockedMessage[]> {
  const locked = await tx.query<LockedMessage>({
    name: "lock messages",
    text: `SELECT ${MESSAGE_ROW}, recipient FROM messages WHERE id = ANY (${hidden("$1", "int8[]")}) ORDER BY id FOR NO KEY UPDATE`,
    values: [int8Array(messages)],
  });
  return locked.rows;
}

export interface LockedMessage extends MessageRow {
  recipient: string | null;
}

export interface Replacement {
  message: number;
  /** The repaired event. */
  eventId: string;
  by: { eventId: string; receipt: number | null };
}

/** Removes repaired events whose place others take, and writes down which. Their messages are locked. */
export async function removeReplaced(tx: Connection, replaced: readonly Replacement[]): Promise<void> {
  const rows = replaced.map(({ message, eventId, by }) => ({
    message,
    event_id: eventId,
    by: by.eventId,
    receipt: by.receipt,
  }));
  await tx.query({
    name: "remove replaced",
    text: `WITH replaced AS (
        SELECT * FROM jsonb_to_recordset($1::jsonb) AS row (message bigint, event_id text, by text, receipt bigint)
      ), noted AS (
        UPDATE repairs AS r SET replaced_at = now(), replaced_by = row.by, replaced_by_receipt = row.receipt
        FROM replaced AS row WHERE r.message = row.message AND r.event_id = row.event_id
          AND r.outcome = 'filed' AND r.replaced_at IS NULL
      )
      DELETE FROM events AS e USING replaced AS row WHERE e.message = row.message AND ${isEventId("e.event_id", "row.event_id")}`,
    values: [JSON.stringify(rows)],
  });
}

export interface NewEvent extends PlannedEvent {
  message: number;
  /** It is about its message's recipient, whom this batch does not change. */
  isToRecipient: boolean;
}

/**
 * Merges states into messages that are locked. The same merge as `mergeStates`.
 *
 * The ids once more as a list, since PostgreSQL would rather read the whole table than look up each row of a subquery.
 */
export async function mergeIntoMessages(
  tx: Connection,
  changes: readonly { message: number; state: MessageState }[],
): Promise<void> {
  await tx.query({
    name: "merge into messages",
    text: `UPDATE messages AS m SET
        ${EARLIEST.map((column) => `${column} = least(m.${column}, row.${column})`).join(", ")},
        ${LATEST.map((column) => `${column} = greatest(m.${column}, row.${column})`).join(", ")},
        ${COUNTS.map((column) => `${column} = m.${column} + row.${column}`).join(", ")},
        delivery = greatest(m.delivery, row.delivery),
        source = least(m.source, row.source),
        recipient = least(m.recipient, row.recipient COLLATE "C"),
        categories = CASE WHEN m.categories @> row.categories THEN m.categories
          ELSE ARRAY(SELECT DISTINCT c COLLATE "C" FROM unnest(m.categories || row.categories) AS c ORDER BY 1) END,
        args = CASE WHEN m.args @> row.args THEN m.args ELSE merge_args(m.args, row.args) END
      FROM ${stateRows({ id: "int8" })} AS row
      WHERE m.id = row.id AND m.id = ANY ($1)`,
    values: stateValues(changes),
  });
}

function stateValues(changes: readonly { message: number; state: MessageState }[]): Buffer[] {
  return [int8Array(changes.map(({ message }) => message)), ...stateArrays(changes.map(({ state }) => state))];
}

/** Sets locked messages to states worked out anew. */
export async function setMessages(
  tx: Connection,
  changes: readonly { message: number; state: MessageState }[],
): Promise<void> {
  await tx.query(
    `UPDATE messages AS m SET ${STATE_COLUMNS.split(", ")
      .map((column) => `${column} = row.${column}`)
      .join(", ")}
     FROM ${stateRows({ id: "int8" })} AS row WHERE m.id = row.id`,
    stateValues(changes),
  );
}

export interface TwinChange {
  message: number;
  eventId: string;
  twin: boolean;
}

/** Sets the twin flag of events whose messages are locked. */
export async function setTwins(tx: Connection, changes: readonly TwinChange[]): Promise<void> {
  await tx.query(
    `UPDATE events AS e SET twin = row.twin
     FROM jsonb_to_recordset($1::jsonb) AS row (message bigint, "eventId" text, twin boolean)
     WHERE e.message = row.message AND ${isEventId("e.event_id", 'row."eventId"')}`,
    [JSON.stringify(changes)],
  );
}

export interface ReceiptQuarantine {
  receipt: number;
  receivedAt: Date;
  source: number;
  item: QuarantinedItem;
}

/** @returns how many rows were really inserted; an item that is there already (a receipt projected again) is not. */
export async function insertQuarantined(tx: Connection, items: readonly ReceiptQuarantine[]): Promise<number> {
  let inserted = 0;
  // One row at a time, so that the bytes go as binary. Broken items are rare, and their receipts small in number.
  for (const { receipt, receivedAt, source, item } of items) {
    const result = await tx.query(
      `INSERT INTO quarantine (receipt, received_at, source, ordinal, reason, bytes) VALUES ($1, $2, $3, $4, $5, $6)
       ON CONFLICT (receipt, ordinal) DO NOTHING`,
      [receipt, receivedAt, source, item.ordinal, item.reason, item.bytes],
    );
    inserted += result.rowCount ?? 0;
  }
  return inserted;
}

export async function markReplayed(tx: Connection, quarantine: readonly number[]): Promise<void> {
  await tx.query("UPDATE quarantine SET state = 'replayed', replayed_at = now() WHERE id = ANY ($1)", [quarantine]);
}

export async function insertArgKeys(tx: Connection, keys: readonly string[], keysMax: number): Promise<void> {
  await tx.query(
    `INSERT INTO arg_keys (key) SELECT key FROM unnest($1::text[]) AS key WHERE key NOT IN (SELECT key FROM arg_keys)
     ORDER BY key LIMIT greatest($2 - (SELECT count(*) FROM arg_keys), 0) ON CONFLICT DO NOTHING`,
    [keys, keysMax],
  );
}
