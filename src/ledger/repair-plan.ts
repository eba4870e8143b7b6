import { REPAIR_COPY } from "../repair-item.ts";
import {
  addToPlan,
  likenessOf,
  planMessage,
  type BatchEvent,
  type HeldEvent,
  type MessageGroup,
  type MessagePlan,
  type RepairsPlan,
} from "./plan.ts";
import { repairCopy } from "./repair-item.ts";
import { hasOwnId, isSameEvent } from "./same-event.ts";

/**
 * Plans a message, whether or not repairs play a part in it.
 *
 * Invariant: for each event that SendGrid sent there is one row at most, whatever of it comes first, and the webhook has
 * the last word. So
 * - an event of a webhook takes the place of a repaired one that is the same (`isSameEvent`), of one repaired one at most;
 * - an order with an id of SendGrid's is held when that id is there. Otherwise its event is filed, and takes the place of
 *   a repaired one without an id that is the same, since it says more of it;
 * - an order without an id is held when its content is there (two gaps with identical items are one event), or when a held
 *   event may be the one it means. Of n events that cannot be told apart SendGrid's records say only how many they are:
 *   the order of copy k is held when copy k was repaired, or when the held events that have no copy's number fill the free
 *   numbers up to k, the lowest first. An order that names no copy is held when any event that a webhook brought, or that
 *   has an id, may be the one. A repaired event never holds another gap's order otherwise.
 * So of n such events never more than n are there, and when webhooks have delivered all n, none of the repaired is left.
 * Tests: repair-plan.test.ts, repair-order.pg.test.ts (any order of webhooks and repairs).
 */
export function planGroup(group: MessageGroup, held: readonly HeldEvent[]): MessagePlan {
  const hasRepairs = held.some(({ repaired }) => repaired !== undefined);
  if (!hasRepairs && group.events.every(({ order }) => order === undefined)) return planMessage(group, held);
  const present = [...held];
  const repairs: RepairsPlan = { replaced: [], held: [] };
  const plan: MessagePlan = { events: [], duplicates: [], state: undefined, repairs };
  // What has an id of SendGrid's says more, so it comes first: then nothing of a batch has to give way to another part of it.
  for (const entry of [...group.events].sort((a, b) => Number(hasOwnId(b.event)) - Number(hasOwnId(a.event)))) {
    const verdict = judge(entry, present);
    if ("holder" in verdict) {
      plan.duplicates.push(entry);
      if (entry.order !== undefined) repairs.held.push({ gap: entry.order.gap, eventId: verdict.holder.eventId });
      continue;
    }
    addEvent(plan, entry, { present, replaced: verdict.replaced });
  }
  return plan;
}

function addEvent(
  plan: MessagePlan,
  entry: BatchEvent,
  { present, replaced }: { present: HeldEvent[]; replaced: HeldEvent | undefined },
): void {
  const { event, order } = entry;
  if (replaced !== undefined) {
    present.splice(present.indexOf(replaced), 1);
    plan.repairs?.replaced.push({ eventId: replaced.eventId, by: entry });
  }
  const likeness = likenessOf(event);
  // What takes another's place is no twin of it, but takes its part among those that look like it.
  const twin =
    replaced?.likeness === likeness && replaced.repaired !== undefined
      ? replaced.repaired.twin
      : present.some((other) => other.likeness === likeness);
  const repaired = order === undefined ? undefined : { twin, copy: copyOf(entry) };
  present.push({ eventId: event.eventId, likeness, seen: event, repaired });
  addToPlan(plan, entry, twin);
}

type Verdict = { holder: HeldEvent } | { replaced: HeldEvent | undefined };

function judge(entry: BatchEvent, present: readonly HeldEvent[]): Verdict {
  const { event, order } = entry;
  const known = present.find(({ eventId }) => eventId === event.eventId);
  if (known !== undefined) {
    return order === undefined && known.repaired !== undefined ? { replaced: known } : { holder: known };
  }
  const same = present.filter(({ seen }) => isSameEvent(seen, event));
  const repaired = same.filter((other) => other.repaired !== undefined);
  if (order === undefined) return { replaced: closest(event, repaired) };
  if (hasOwnId(event)) {
    const holder = same.find((other) => other.repaired === undefined);
    return holder === undefined ? { replaced: closest(event, repaired) } : { holder };
  }
  const holder = findHolder(copyOf(entry), same);
  return holder === undefined ? { replaced: undefined } : { holder };
}

/** Which of the events that may be the same as an order's accounts for it. */
function findHolder(copy: number | undefined, same: readonly HeldEvent[]): HeldEvent | undefined {
  if (copy === undefined) return same.find((other) => other.repaired === undefined || hasOwnId(other));
  const isNumbered = ({ repaired }: HeldEvent): boolean => repaired?.copy !== undefined;
  const own = same.find(({ repaired }) => repaired?.copy === copy);
  if (own !== undefined) return own;
  const before = new Set(same.flatMap(({ repaired }) => repaired?.copy ?? []).filter((other) => other < copy));
  // Those without a number fill the free numbers from the lowest on; the last of these would be this one's.
  return same.filter((other) => !isNumbered(other))[copy - before.size - 1];
}

function copyOf({ event }: BatchEvent): number | undefined {
  return hasOwnId(event) ? undefined : repairCopy(event.detail[REPAIR_COPY]);
}

/** Of several that may be the same, one that looks the same; then one with the same url; then the first by its copy and id. */
function closest(event: BatchEvent["event"], same: readonly HeldEvent[]): HeldEvent | undefined {
  const likeness = likenessOf(event);
  const distance = (other: HeldEvent): number => {
    if (other.likeness === likeness) return 0;
    return other.seen.detail["url"] === event.detail["url"] ? 1 : 2;
  };
  const copy = ({ repaired }: HeldEvent): number => repaired?.copy ?? 0;
  return [...same].sort(
    (a, b) => distance(a) - distance(b) || copy(a) - copy(b) || (a.eventId < b.eventId ? -1 : 1),
  )[0];
}
