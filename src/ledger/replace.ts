import { isEventId } from "../event-id.ts";
import type { Connection } from "../postgres/pool.ts";
import { correctMessages } from "./correct.ts";
import { mergeExtras, type MessageExtras } from "./merge.ts";
import type { NewEvent, Replacement, TwinChange } from "./statements.ts";
import { tallyOf, type Tallies } from "./tally.ts";

/** A twin flag that changed of an event that had been filed, and counted, before. */
export interface Reflagged {
  receivedAt: Date;
  source: number;
  twin: boolean;
}

/**
 * After events took the place of repaired ones: sets their messages to what their events give now. What the repaired ones
 * said (another time, a count, custom args) cannot be subtracted from a merge, so it is worked out anew.
 *
 * @returns the new events with their flags as they are now, and the flags of older events of webhooks that changed.
 */
export async function settleReplaced(
  tx: Connection,
  replaced: readonly Replacement[],
  newEvents: readonly NewEvent[],
): Promise<{ newEvents: NewEvent[]; reflagged: Reflagged[] }> {
  const messages = [...new Set(replaced.map(({ message }) => message))];
  const { twins } = await correctMessages(tx, messages, extrasOfNew(newEvents));
  const changed = new Map(twins.map((twin) => [keyOf(twin.message, twin.eventId), twin]));
  const settled = newEvents.map((entry) => {
    const key = keyOf(entry.message, entry.event.eventId);
    const twin = changed.get(key)?.twin ?? entry.twin;
    changed.delete(key);
    return { ...entry, twin };
  });
  return { newEvents: settled, reflagged: changed.size === 0 ? [] : await findReceipts(tx, [...changed.values()]) };
}

/** What the events of a batch say of their messages' args and categories. */
export function extrasOfNew(
  newEvents: readonly NewEvent[],
  known: ReadonlyMap<number, MessageExtras> = new Map(),
): Map<number, MessageExtras> {
  const extras = new Map(known);
  for (const { message, event } of newEvents) {
    const other = extras.get(message);
    extras.set(message, other === undefined ? event : mergeExtras(other, event));
  }
  return extras;
}

function keyOf(message: number, eventId: string): string {
  return `${message} ${eventId}`;
}

async function findReceipts(tx: Connection, changes: readonly TwinChange[]): Promise<Reflagged[]> {
  const found = await tx.query<Reflagged>(
    `SELECT r.received_at AS "receivedAt", r.source, e.twin
     FROM jsonb_to_recordset($1::jsonb) AS row (message bigint, "eventId" text)
     JOIN events AS e ON e.message = row.message AND ${isEventId("e.event_id", 'row."eventId"')}
     JOIN receipts AS r ON r.id = e.receipt`,
    [JSON.stringify(changes)],
  );
  return found.rows;
}

/** The hours in which those events arrived count their twins: the flags and the tallies must agree (promise P7). */
export function countReflagged(tallies: Tallies, reflagged: readonly Reflagged[]): void {
  for (const { receivedAt, source, twin } of reflagged) tallyOf(tallies, receivedAt, source).twin += twin ? 1 : -1;
}
