import type { Sample } from "./sample.ts";

/** How the traffic is cut into POSTs. */
export interface Cut {
  /** Events in a POST: at least and at most. Between them every size comes equally often, in a fixed order. */
  eventsMin: number;
  eventsMax: number;
  /** The number of the first event. */
  firstEvent: number;
}

export interface BenchPost {
  body: Buffer;
  /** Events in it. */
  events: number;
}

/** How many events POST `post` has. */
function eventsIn(cut: Cut, post: number): number {
  const sizes = cut.eventsMax - cut.eventsMin + 1;
  // Seven has no common divisor with the usual numbers of sizes, so neighbours differ.
  return cut.eventsMin + ((post * 7) % sizes);
}

/** How many events the first `posts` POSTs have. */
export function eventsInFirst(cut: Cut, posts: number): number {
  let events = 0;
  for (let post = 0; post < posts; post += 1) events += eventsIn(cut, post);
  return events;
}

/** POSTs without end, from number `from`: the same cut gives the same bodies, in every process. */
export function* makePosts(sample: Sample, cut: Cut, from = 0): Generator<BenchPost> {
  let next = cut.firstEvent + eventsInFirst(cut, from);
  for (let post = from; ; post += 1) {
    const events = eventsIn(cut, post);
    yield { body: sample.body(next, events), events };
    next += events;
  }
}

/** The ids of a body's events. */
export function eventIds(body: Buffer): { messageId: string; eventId: string }[] {
  const items = JSON.parse(body.toString()) as { sg_message_id: string; sg_event_id: string }[];
  return items.map((item) => ({ messageId: item.sg_message_id, eventId: item.sg_event_id }));
}
