import { compareBytes, distinct, type ParsedEvent } from "./event.ts";
import { bareObject } from "./json.ts";

/** Delivery states by rank: the highest one reached is a message's state, whenever its event arrived. */
export const DELIVERY_RANK = [
  "unknown",
  "processed",
  "deferred",
  "delivered",
  "dropped",
  "blocked",
  "bounced",
] as const;
export type Delivery = (typeof DELIVERY_RANK)[number];

/** Times of a message, by column: the earliest or the latest of the events that have one. Milliseconds. */
export const EARLIEST = [
  "first_event_at",
  "processed_at",
  "delivered_at",
  "failed_at",
  "first_open_at",
  "first_machine_open_at",
  "first_click_at",
  "first_complaint_at",
  "first_unsubscribe_at",
] as const;
export const LATEST = [
  "last_event_at",
  "deferred_at",
  "last_open_at",
  "last_machine_open_at",
  "last_click_at",
  "last_complaint_at",
  "last_unsubscribe_at",
  "last_resubscribe_at",
] as const;
export const COUNTS = ["opens", "machine_opens", "clicks"] as const;

type Earliest = (typeof EARLIEST)[number];
type Latest = (typeof LATEST)[number];
type Count = (typeof COUNTS)[number];

/** What events say about their message: a whole state, or what is to be merged into one. */
export interface MessageState {
  source: number;
  recipient: string | null;
  delivery: Delivery;
  times: Partial<Record<Earliest | Latest, number>>;
  counts: Record<Count, number>;
  args: Record<string, string>;
  categories: string[];
}

/** What one event says. A twin says all but its count: it is counted once, with the event it repeats. */
export function stateOf(event: ParsedEvent, source: number, twin: boolean): MessageState {
  const { delivery = "unknown", columns = [], count } = meaningOf(event) ?? {};
  const { recipient, occurredAtMs, args, categories } = event;
  const times: MessageState["times"] = { first_event_at: occurredAtMs, last_event_at: occurredAtMs };
  for (const column of columns) times[column] = occurredAtMs;
  const counts = { opens: 0, machine_opens: 0, clicks: 0 };
  if (count !== undefined && !twin) counts[count] = 1;
  return { source, recipient, delivery, times, counts, args, categories };
}

interface Meaning {
  delivery?: Delivery;
  columns: readonly (Earliest | Latest)[];
  count?: Count;
}

/** The meaning of each kind of event for its message. A kind that is not known says only that something happened. */
const MEANINGS: ReadonlyMap<string, Meaning> = new Map<string, Meaning>([
  ["processed", { delivery: "processed", columns: ["processed_at"] }],
  ["deferred", { delivery: "deferred", columns: ["deferred_at"] }],
  ["delivered", { delivery: "delivered", columns: ["delivered_at"] }],
  ["dropped", { delivery: "dropped", columns: ["failed_at"] }],
  ["bounce", { delivery: "bounced", columns: ["failed_at"] }],
  ["open", { columns: ["first_open_at", "last_open_at"], count: "opens" }],
  ["click", { columns: ["first_click_at", "last_click_at"], count: "clicks" }],
  ["spamreport", { columns: ["first_complaint_at", "last_complaint_at"] }],
  ["unsubscribe", { columns: ["first_unsubscribe_at", "last_unsubscribe_at"] }],
  ["group_unsubscribe", { columns: ["first_unsubscribe_at", "last_unsubscribe_at"] }],
  ["group_resubscribe", { columns: ["last_resubscribe_at"] }],
]);
const BLOCK: Meaning = { delivery: "blocked", columns: ["failed_at"] };
const MACHINE_OPEN: Meaning = { columns: ["first_machine_open_at", "last_machine_open_at"], count: "machine_opens" };

function meaningOf(event: ParsedEvent): Meaning | undefined {
  if (event.type === "bounce" && isBlock(event)) return BLOCK;
  if (event.type === "open" && isMachineOpen(event)) return MACHINE_OPEN;
  return MEANINGS.get(event.type);
}

/** A mail that was given up after 72 h of deferrals is a block: the address itself was never refused. */
function isBlock(event: ParsedEvent): boolean {
  const { type } = event.detail;
  return type === "blocked" || type === "expired";
}

function isMachineOpen(event: ParsedEvent): boolean {
  const { sg_machine_open: machine } = event.detail;
  return machine === true || machine === "true";
}

/**
 * Merges two states of one message.
 *
 * Invariant (promise P3): commutative and associative, so the order of arrival never changes the result; idempotent but
 * for the counts, which only ever take events that were stored now. The UPDATE in `statements.ts` is the same merge in
 * SQL. Tests: merge.test.ts, and project.pg.test.ts which compares the two.
 */
export function mergeStates(a: MessageState, b: MessageState): MessageState {
  const times: MessageState["times"] = { ...a.times };
  for (const column of EARLIEST) {
    const time = b.times[column];
    if (time !== undefined) times[column] = Math.min(times[column] ?? time, time);
  }
  for (const column of LATEST) {
    const time = b.times[column];
    if (time !== undefined) times[column] = Math.max(times[column] ?? time, time);
  }
  return {
    source: Math.min(a.source, b.source),
    recipient:
      a.recipient === null || b.recipient === null
        ? (a.recipient ?? b.recipient)
        : leastBytes(a.recipient, b.recipient),
    delivery: rank(a.delivery) >= rank(b.delivery) ? a.delivery : b.delivery,
    times,
    counts: {
      opens: a.counts.opens + b.counts.opens,
      machine_opens: a.counts.machine_opens + b.counts.machine_opens,
      clicks: a.counts.clicks + b.counts.clicks,
    },
    ...mergeExtras(a, b),
  };
}

/** What items say of their message that the rows of events do not keep. */
export type MessageExtras = Pick<MessageState, "args" | "categories">;

export const NO_EXTRAS: MessageExtras = { args: {}, categories: [] };

/** The part of the merge that needs the items themselves. */
export function mergeExtras(a: MessageExtras, b: MessageExtras): MessageExtras {
  return { args: mergeArgs(a.args, b.args), categories: mergeCategories(a.categories, b.categories) };
}

function rank(delivery: Delivery): number {
  return DELIVERY_RANK.indexOf(delivery);
}

/** One copy goes to one recipient; where two spellings are seen, any fixed choice serves. */
function leastBytes(a: string, b: string): string {
  return compareBytes(a, b) <= 0 ? a : b;
}

/** Where both know a key, the greater text wins. The same rule stands in SQL as merge_args. */
function mergeArgs(a: Record<string, string>, b: Record<string, string>): Record<string, string> {
  // The events of a message nearly always say the same.
  if (hasAll(a, b)) return a;
  const merged = Object.assign(bareObject<string>(), a);
  for (const [key, value] of Object.entries(b)) {
    const known = merged[key];
    merged[key] = known === undefined || compareBytes(known, value) < 0 ? value : known;
  }
  return merged;
}

function hasAll(args: Record<string, string>, wanted: Record<string, string>): boolean {
  for (const key in wanted) if (args[key] !== wanted[key]) return false;
  return true;
}

function mergeCategories(a: string[], b: string[]): string[] {
  if (b.every((category) => a.includes(category))) return a;
  if (a.length === 0) return b;
  return distinct([...a, ...b]);
}
