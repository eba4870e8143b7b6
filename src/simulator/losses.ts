import { UsageError } from "../errors.ts";
import { createRandom } from "./random.ts";
import { simulateMessages, type SimulatedEvent, type SimulatedMessage, type TrafficOptions } from "./traffic.ts";

/**
 * Chooses the events that SendGrid's webhook loses: SendGrid itself knows them, and they are never posted. Only events
 * that SendGrid's records can name afterwards are chosen: they have both ids, and neither are twins nor have one, since a
 * twin that arrives stands for its original. The same options give the same choice.
 *
 * @throws UsageError when the traffic has fewer such events.
 */
export function chooseLosses(traffic: TrafficOptions, lose: number): ReadonlySet<number> {
  if (lose === 0) return new Set();
  const random = createRandom(JSON.stringify(["losses", traffic.seed, traffic.events, lose]));
  const chosen: number[] = [];
  let seen = 0;
  // Each of those seen so far stands among the chosen with the same probability.
  for (const { events } of simulateMessages(traffic)) {
    for (const [place, event] of events.entries()) {
      if (!canBeLost(event, events[place + 1])) continue;
      seen += 1;
      if (chosen.length < lose) {
        chosen.push(event.index);
        continue;
      }
      const at = random.between(0, seen - 1);
      if (at < lose) chosen[at] = event.index;
    }
  }
  if (chosen.length < lose) throw new UsageError(`only ${seen} events of this traffic can be lost`);
  return new Set(chosen);
}

/** The sg_event_ids of what is lost. */
export function lostEventIds(traffic: TrafficOptions, lose: number): string[] {
  const losses = chooseLosses(traffic, lose);
  if (losses.size === 0) return [];
  return [...simulateMessages(traffic)].flatMap(({ events }) =>
    events.filter(({ index }) => losses.has(index)).map(({ wire }) => String(wire["sg_event_id"])),
  );
}

function canBeLost({ wire, truth }: SimulatedEvent, next: SimulatedEvent | undefined): boolean {
  const { sg_message_id: messageId, sg_event_id: eventId } = wire;
  const isNamed = typeof messageId === "string" && messageId !== "" && typeof eventId === "string";
  const hasTwin = next !== undefined && next.truth === undefined;
  return isNamed && truth !== undefined && !hasTwin;
}

/** The messages with what is left of their events, without those that have lost them all. */
export function* withoutLosses(
  messages: Iterable<SimulatedMessage>,
  losses: ReadonlySet<number>,
): Generator<SimulatedMessage> {
  for (const message of messages) {
    const events = message.events.filter(({ index }) => !losses.has(index));
    if (events.length > 0) yield { ...message, events };
  }
}
