import type { RecordedEvent } from "../sendgrid/record-types.ts";

/** An event of a message in the ledger, as far as it can be one that SendGrid's records tell. */
export interface HeldEvent {
  eventId: string;
  type: string;
  second: number;
  twin: boolean;
  /** Of a click. */
  url: string | null;
}

export interface MissingEvent {
  event: RecordedEvent;
  second: number;
  /** Which of the events alike (of this type, second and, for clicks, url) it is, from 1: those held come first. */
  n: number;
}

export interface Matched {
  missing: MissingEvent[];
  /** Recorded as events of their own, while the ledger takes them for twins. */
  counted: RecordedEvent[];
}

const SECOND_MS = 1000;

/**
 * Finds the ledger's row for each recorded event: first by its id, then by type, second and url, each row once. The second step
 * serves records without ids, webhooks without ids, and ids that changed.
 *
 * Invariant: an event is missing only when the ledger holds fewer alike than the record tells.
 * Test: match.test.ts.
 */
export function matchEvents(recorded: readonly RecordedEvent[], held: readonly HeldEvent[]): Matched {
  const byId = new Map(held.map((row) => [row.eventId, row]));
  const free = new Set(held);
  const counted: RecordedEvent[] = [];
  const left: RecordedEvent[] = [];
  for (const event of recorded) {
    const row = event.eventId === undefined ? undefined : byId.get(event.eventId);
    if (row === undefined || !free.delete(row)) left.push(event);
    else if (row.twin) counted.push(event);
  }
  const missing: MissingEvent[] = [];
  for (const [key, events] of Map.groupBy(left, keyOfRecorded)) {
    const alike = held.filter((row) => keyOf(row.type, row.second, row.url) === key);
    // A twin stands in last: it is there because another event is.
    const rows = alike.filter((row) => free.has(row)).sort((a, b) => Number(a.twin) - Number(b.twin));
    for (const [index, event] of events.entries()) {
      const row = rows[index];
      if (row === undefined) {
        missing.push({ event, second: secondOf(event), n: alike.length + missingAlike(missing, key) + 1 });
      } else if (row.twin) {
        counted.push(event);
      }
    }
  }
  return { missing, counted };
}

function missingAlike(missing: readonly MissingEvent[], key: string): number {
  return missing.filter(({ event }) => keyOfRecorded(event) === key).length;
}

function secondOf(event: RecordedEvent): number {
  return Math.floor(event.occurredAtMs / SECOND_MS);
}

function keyOfRecorded(event: RecordedEvent): string {
  return keyOf(event.type, secondOf(event), event.item["url"]);
}

function keyOf(type: string, second: number, url: unknown): string {
  return `${type} ${second} ${type === "click" && typeof url === "string" ? url : ""}`;
}
