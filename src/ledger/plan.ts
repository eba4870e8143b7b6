import { REPAIR_COPY } from "../repair-item.ts";
import { unsplit, type SplitDetail } from "./detail-parts.ts";
import { fixedColumns } from "./event-row.ts";
import { compareBytes, type ParsedEvent } from "./event.ts";
import { bareObject, canonicalJson, type Json, type JsonObject } from "./json.ts";
import { mergeStates, stateOf, type MessageState } from "./merge.ts";
import type { Seen } from "./same-event.ts";

/** An event of a batch, with the receipt it came in, or the order that wants it filed though no webhook brought it. */
export interface BatchEvent {
  event: ParsedEvent;
  source: number;
  /** null: of an order. */
  receipt: number | null;
  order?: OrderOf | undefined;
  /** What of its row stands fast before it is filed. */
  fixed: Buffer;
}

/**
 * An event that is to be filed. Of its detail only what filing looks at is kept beside the row: half of the projector's time
 * went into moving what waits for its turn about in memory, and now a quarter of less.
 */
export function batchEvent(
  entry: Omit<BatchEvent, "fixed">,
  splitDetail: SplitDetail = unsplit(entry.event.detail),
): BatchEvent {
  const { event, source, receipt, order } = entry;
  let detail: JsonObject = NO_DETAIL;
  for (const key of FILING_KEYS) {
    const value = event.detail[key];
    if (value === undefined) continue;
    if (detail === NO_DETAIL) detail = bareObject<Json>();
    detail[key] = value;
  }
  return { event: { ...event, detail }, source, receipt, order, fixed: fixedColumns(entry, splitDetail) };
}

const NO_DETAIL: JsonObject = Object.freeze(bareObject<Json>());

/** What is to be known of a repair order while its event is filed. */
export interface OrderOf {
  gap: number;
  origin: "logs" | "messages" | "csv";
}

/** What names a message: its id, or for a nameless one the number of its source. */
export type MessageKey = string | number;

/** All events of one message in a batch. `messageId` is null for a source's nameless message. */
export interface MessageGroup {
  key: MessageKey;
  messageId: string | null;
  source: number;
  events: BatchEvent[];
}

/** An event that the ledger already holds, as far as it can make a new one a duplicate or a twin. */
export interface HeldEvent {
  eventId: string;
  likeness: string;
  seen: Seen;
  /** Only where no webhook brought it. */
  repaired?: { twin: boolean; copy: number | undefined } | undefined;
}

export interface PlannedEvent extends BatchEvent {
  twin: boolean;
}

/** What is to be stored for one message, and what it changes there. */
export interface MessagePlan {
  events: PlannedEvent[];
  /** Events already held, or repeated within the batch. */
  duplicates: BatchEvent[];
  /** undefined when nothing new is to be stored. */
  state: MessageState | undefined;
  /** Only where repairs play a part. */
  repairs?: RepairsPlan | undefined;
}

/** What a plan does about repairs. */
export interface RepairsPlan {
  /** Held events that no webhook brought, and what takes their place. */
  replaced: { eventId: string; by: BatchEvent }[];
  /** Orders whose event is there already. */
  held: { gap: number; eventId: string }[];
}

export function messageKey({ messageId, source }: { messageId: string | null; source: number }): MessageKey {
  return messageId ?? source;
}

/** Groups a batch by message. The groups come in the order in which every transaction touches their rows. */
export function groupByMessage(events: readonly BatchEvent[]): MessageGroup[] {
  const groups = new Map<MessageKey, MessageGroup>();
  for (const entry of events) {
    const { source } = entry;
    const { messageId } = entry.event;
    const key = messageKey({ messageId, source });
    const group = groups.get(key);
    if (group !== undefined) group.events.push(entry);
    else groups.set(key, { key, messageId, source, events: [entry] });
  }
  return [...groups.values()].sort((a, b) => compareKeys(a.key, b.key));
}

/** Ids by their bytes, then what has none by its source. */
function compareKeys(a: MessageKey, b: MessageKey): number {
  if (typeof a === "string" && typeof b === "string") return compareBytes(a, b);
  if (typeof a === "number" && typeof b === "number") return a - b;
  return typeof a === "string" ? -1 : 1;
}

/**
 * Decides for one message which events of the batch are new, which are duplicates, and which of the new ones are twins:
 * alike in all that a re-delivery repeats, under another id. Whichever of two twins comes second is the flagged one, so
 * that of n alike events n - 1 are flagged, in any order.
 */
export function planMessage(group: MessageGroup, held: readonly HeldEvent[]): MessagePlan {
  const plan: MessagePlan = { events: [], duplicates: [], state: undefined };
  const [only] = group.events;
  // Most groups: nothing there can be a duplicate or a twin of it.
  if (held.length === 0 && group.events.length === 1 && only !== undefined) {
    addToPlan(plan, only, false);
    return plan;
  }
  const seenIds = new Set(held.map(({ eventId }) => eventId));
  const seenLikenesses = new Set(held.map(({ likeness }) => likeness));
  const shared = sharedMoments(group.events);
  for (const entry of group.events) {
    const { event } = entry;
    if (seenIds.has(event.eventId)) {
      plan.duplicates.push(entry);
      continue;
    }
    seenIds.add(event.eventId);
    // What nothing else can be like needs no likeness, which costs more than all the rest.
    const likeness = held.length > 0 || shared.has(event.occurredAtMs) ? likenessOf(event) : undefined;
    const twin = likeness !== undefined && seenLikenesses.has(likeness);
    if (likeness !== undefined) seenLikenesses.add(likeness);
    addToPlan(plan, entry, twin);
  }
  return plan;
}

/** Adds an event that is to be stored, with what it says of its message. */
export function addToPlan(plan: MessagePlan, entry: BatchEvent, twin: boolean): void {
  plan.events.push({ ...entry, twin });
  const state = stateOf(entry.event, entry.source, twin);
  plan.state = plan.state === undefined ? state : mergeStates(plan.state, state);
}

/** The moments at which more than one event of the batch happened: nearly none. */
function sharedMoments(events: readonly BatchEvent[]): Set<number> {
  const once = new Set<number>();
  const shared = new Set<number>();
  for (const { event } of events) (once.has(event.occurredAtMs) ? shared : once).add(event.occurredAtMs);
  return shared;
}

/**
 * What two twins have in common: type, time, recipient, url, attempt and reason; and whether a machine opened, since a
 * mail program's open and a person's in the same second are two things.
 */
export function likenessOf(event: Pick<ParsedEvent, "type" | "occurredAtMs" | "recipient" | "detail">): string {
  const { type, occurredAtMs, recipient, detail } = event;
  return canonicalJson([type, occurredAtMs, recipient, ...LIKENESS_KEYS.map((key) => detail[key] ?? null)]);
}

/** The keys of an event's detail that make its likeness. */
export const LIKENESS_KEYS = ["url", "attempt", "reason", "sg_machine_open"] as const;
/** Those that decide its meaning or its likeness. */
export const DECIDING_KEYS = [...LIKENESS_KEYS, "type"] as const;
/** Those that filing looks at. */
const FILING_KEYS = [...DECIDING_KEYS, REPAIR_COPY] as const;
