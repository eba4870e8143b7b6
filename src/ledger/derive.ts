import { eventRecipient } from "../event-recipient.ts";
import { AUDIT_EVENTS_FETCHED_MAX } from "../limits.ts";
import type { Connection } from "../postgres/pool.ts";
import type { ParsedEvent } from "./event.ts";
import type { JsonObject } from "./json.ts";
import { mergeStates, stateOf, type MessageState } from "./merge.ts";
import { DECIDING_KEYS, likenessOf } from "./plan.ts";

/** What the events of a message come to. */
export interface Derived {
  /** All but args and categories, which only the receipts know. undefined: there is no event. */
  state: MessageState | undefined;
  /** Events whose twin flag must change, so that of n alike n - 1 have it. */
  twins: { eventId: string; twin: boolean }[];
  /** Whether an event was repaired, so that what it says of args and categories stands in no receipt but in its repair. */
  hasOtherOrigin: boolean;
}

interface HeldRow {
  message: number;
  eventId: string;
  type: string;
  occurredAtMs: number;
  recipient: string | null;
  source: number;
  twin: boolean;
  isWebhook: boolean;
  detail: JsonObject;
}

/**
 * Works out from their events what these messages must look like, by the rules that filed them. Fetches the events bit by
 * bit; all that is kept of each is its likeness. The caller's transaction must be one that sees the messages unchanged: a
 * snapshot, or one that holds their locks.
 */
export async function deriveMessages(tx: Connection, messages: readonly number[]): Promise<Map<number, Derived>> {
  const derived = new Map<number, Derived>(
    messages.map((message) => [message, { state: undefined, twins: [], hasOtherOrigin: false }]),
  );
  if (messages.length === 0) return derived;
  // A cursor takes no parameters; these are numbers.
  await tx.query(`DECLARE held NO SCROLL CURSOR FOR
    SELECT message, event_id AS "eventId", type, (extract(epoch FROM occurred_at) * 1000)::float8 AS "occurredAtMs",
      ${eventRecipient("events")} AS recipient, source, twin, origin = 'webhook' AS "isWebhook",
      jsonb_build_object(${DECIDING_KEYS.map((key) => `'${key}', detail->'${key}'`).join(", ")}) AS detail
    FROM events WHERE message = ANY ('{${messages.join(",")}}'::bigint[])`);
  const likenesses = new Map<string, Alike>();
  for (;;) {
    const { rows } = await tx.query<HeldRow>(`FETCH ${AUDIT_EVENTS_FETCHED_MAX} FROM held`);
    for (const row of rows) addEvent(derived, likenesses, row);
    if (rows.length < AUDIT_EVENTS_FETCHED_MAX) break;
  }
  await tx.query("CLOSE held");
  for (const alike of likenesses.values()) if (!alike.hasFirst) flag(derived, alike.message, alike.eventId, false);
  return derived;
}

/** Events of a message that look the same. One of them, whichever, must be without the flag. */
interface Alike {
  message: number;
  eventId: string;
  hasFirst: boolean;
}

function addEvent(derived: Map<number, Derived>, likenesses: Map<string, Alike>, row: HeldRow): void {
  const { message, eventId, source, twin, isWebhook } = row;
  const known = derived.get(message);
  if (known === undefined) return;
  known.hasOtherOrigin ||= !isWebhook;
  const likeness = `${message} ${likenessOf(row)}`;
  const alike = likenesses.get(likeness);
  const state = stateOf(asEvent(row), source, alike !== undefined);
  known.state = known.state === undefined ? state : mergeStates(known.state, state);
  if (alike === undefined) {
    likenesses.set(likeness, { message, eventId, hasFirst: !twin });
  } else if (!twin) {
    if (alike.hasFirst) flag(derived, message, eventId, true);
    alike.hasFirst = true;
  }
}

function flag(derived: Map<number, Derived>, message: number, eventId: string, twin: boolean): void {
  derived.get(message)?.twins.push({ eventId, twin });
}

function asEvent(row: HeldRow): ParsedEvent {
  const { eventId, type, occurredAtMs, recipient, detail } = row;
  return { ordinal: 0, messageId: null, eventId, type, occurredAtMs, recipient, detail, args: {}, categories: [] };
}
