import { chooseLosses, withoutLosses } from "./losses.ts";
import { BROKEN_BODIES, BROKEN_ITEMS } from "./poison.ts";
import { createRandom, type Random } from "./random.ts";
import { simulateMessages, type SimulatedEvent, type SimulatedMessage, type TrafficOptions } from "./traffic.ts";
import type { WireEvent } from "./truth.ts";
import { encodeBody, encodeItem, encodeText } from "./wire.ts";

/** How the traffic is posted, and what of it is not. None of this changes an event. */
export interface PostingOptions {
  /** Events in a POST. */
  batch: number;
  /** The share of events that are posted a second time, from 0 to 1. */
  duplicates: number;
  /** Posts events out of their order. */
  shuffle: boolean;
  /** How many events are never posted, though SendGrid knows them; none when absent. */
  lose?: number;
}

export interface Post {
  /** Empty when there is nothing to post but news to tell: all that was left has been lost. */
  body: Buffer;
  /** The numbers of the good events in it. */
  events: number[];
  /** Their sg_message_id and sg_event_id, as far as they have any. */
  ids: EventIds[];
  /** What is new to SendGrid itself with this POST. */
  news: WireEvent[];
  /** Items that must end in quarantine. */
  broken: number;
  /** Signed with a key that nobody knows: it must be refused. */
  forged: boolean;
}

export type EventIds = readonly [messageId: unknown, eventId: unknown];

/** SendGrid posts when this much has come together, however few events it is. */
const POST_BYTES_MAX = 768 * 1024;
/** Events that wait for the time order to be certain; beyond this the oldest goes first, certain or not. */
const PENDING_EVENTS_MAX = 50_000;
/** How far an event can move when the order is shuffled. */
const SHUFFLE_EVENTS = 10_000;
/** A second copy comes in the same POST or up to so many later. */
const DUPLICATE_POSTS_LATER_MAX = 20;
const BROKEN_ITEM_EVERY = 200;
const BROKEN_BODY_EVERY_POSTS = 20;
const FORGED_EVERY_POSTS = 50;

/** The traffic as POSTs, in the order in which they are to be made. The same options give the same bodies. */
export function* simulatePosts(traffic: TrafficOptions, posting: PostingOptions): Generator<Post> {
  const random = createRandom(JSON.stringify([traffic.seed, traffic.events, posting]));
  const inOrder = orderByTime(simulateMessages(traffic), traffic.startSeconds, traffic.periodSeconds);
  const events = posting.shuffle ? shuffled(inOrder, random) : inOrder;
  const again = createAgain(random);
  const poison = traffic.poison ? createPoison() : undefined;
  const losses = chooseLosses(traffic, posting.lose ?? 0);
  let draft = newDraft();
  let postNumber = 0;

  function* finish(): Generator<Post> {
    poison?.spoil(draft);
    yield {
      body: encodeBody(draft.items),
      events: draft.events,
      ids: draft.ids,
      news: draft.news,
      broken: draft.broken,
      forged: false,
    };
    draft = newDraft();
    postNumber += 1;
    if (poison !== undefined) yield* poison.bodiesAfter(postNumber);
  }

  for (const event of events) {
    if (losses.has(event.index)) {
      if (event.truth !== undefined) draft.news.push(event.truth);
      continue;
    }
    // A twin is a re-delivery, so it comes later than what it repeats.
    if (event.truth === undefined) again.add(event, postNumber);
    else addItem(draft, event, event.truth);
    if (posting.duplicates > 0 && random.chance(posting.duplicates)) again.add(event, postNumber);
    for (const due of again.due(postNumber)) addItem(draft, due, undefined);
    if (draft.items.length >= posting.batch || draft.bytes >= POST_BYTES_MAX) yield* finish();
  }
  for (const due of again.due(Infinity)) {
    addItem(draft, due, undefined);
    if (draft.items.length >= posting.batch || draft.bytes >= POST_BYTES_MAX) yield* finish();
  }
  if (draft.items.length > 0) yield* finish();
  else if (draft.news.length > 0)
    yield { body: Buffer.alloc(0), events: [], ids: [], news: draft.news, broken: 0, forged: false };
  if (poison !== undefined) yield* poison.rest(withoutLosses(simulateMessages(traffic), losses));
}

interface Draft {
  items: string[];
  events: number[];
  ids: EventIds[];
  news: WireEvent[];
  broken: number;
  bytes: number;
}

function newDraft(): Draft {
  return { items: [], events: [], ids: [], news: [], broken: 0, bytes: 0 };
}

function addItem(draft: Draft, event: SimulatedEvent, news: WireEvent | undefined): void {
  const item = encodeItem(event.wire);
  draft.items.push(item);
  draft.events.push(event.index);
  draft.ids.push([event.wire["sg_message_id"] ?? null, event.wire["sg_event_id"] ?? null]);
  draft.bytes += item.length;
  if (news !== undefined) draft.news.push(news);
}

/** Sends come in the order of time, so everything before the next send is complete. */
function* orderByTime(
  messages: Iterable<SimulatedMessage>,
  startSeconds: number,
  periodSeconds: number,
): Generator<SimulatedEvent> {
  const seconds: (SimulatedEvent[] | undefined)[] = [];
  let pending = 0;
  let next = 0;

  function* flush(upTo: number): Generator<SimulatedEvent> {
    for (; next < upTo; next += 1) {
      const events = seconds[next];
      if (events === undefined) continue;
      seconds[next] = undefined;
      pending -= events.length;
      yield* events;
    }
  }

  for (const message of messages) {
    const sentAt = message.sentAtSeconds - startSeconds;
    yield* flush(Math.min(sentAt, periodSeconds));
    for (const event of message.events) {
      // What belongs to a second already passed comes late, as it does in reality.
      const second = Math.max(event.atSeconds - startSeconds, next);
      const events = seconds[second];
      if (events === undefined) seconds[second] = [event];
      else events.push(event);
      pending += 1;
    }
    while (pending > PENDING_EVENTS_MAX) yield* flush(next + 1);
  }
  yield* flush(seconds.length);
}

function* shuffled(events: Iterable<SimulatedEvent>, random: Random): Generator<SimulatedEvent> {
  const held: SimulatedEvent[] = [];
  for (const event of events) {
    if (held.length < SHUFFLE_EVENTS) {
      held.push(event);
      continue;
    }
    const at = random.between(0, held.length - 1);
    const chosen = held[at];
    held[at] = event;
    if (chosen !== undefined) yield chosen;
  }
  for (let left = held.length; left > 0; left -= 1) {
    const at = random.between(0, left - 1);
    const chosen = held[at];
    const last = held[left - 1];
    if (last !== undefined) held[at] = last;
    if (chosen !== undefined) yield chosen;
  }
}

/** Events that are to be posted once more, by the number of the POST that is to hold them. */
function createAgain(random: Random): {
  add(event: SimulatedEvent, postNumber: number): void;
  due(postNumber: number): SimulatedEvent[];
} {
  let waiting = new Map<number, SimulatedEvent[]>();
  return {
    add(event, postNumber) {
      const at = postNumber + random.between(0, DUPLICATE_POSTS_LATER_MAX);
      const events = waiting.get(at);
      if (events === undefined) waiting.set(at, [event]);
      else events.push(event);
    },
    due(postNumber) {
      if (postNumber === Infinity) {
        const all = [...waiting.values()].flat();
        waiting = new Map();
        return all;
      }
      const events = waiting.get(postNumber) ?? [];
      waiting.delete(postNumber);
      return events;
    },
  };
}

interface Poison {
  /** Puts a broken item into the draft now and then. */
  spoil(draft: Draft): void;
  bodiesAfter(postNumber: number): Generator<Post>;
  /** Whatever kind has not had its turn yet, so that even a short run has them all. */
  rest(messages: Iterable<SimulatedMessage>): Generator<Post>;
}

function createPoison(): Poison {
  let items = 0;
  let bodies = 0;
  let forged = 0;
  let seen = 0;

  const nextItem = (): string => BROKEN_ITEMS[items++ % BROKEN_ITEMS.length] ?? "7";
  const nextBody = (): Post => {
    const body = encodeText(BROKEN_BODIES[bodies % BROKEN_BODIES.length] ?? "1");
    bodies += 1;
    return { body, events: [], ids: [], news: [], broken: 1, forged: false };
  };
  const nextForged = (): Post => {
    forged += 1;
    const item = `{"email":"forged@example.com","event":"delivered","sg_event_id":"forged-${forged}","sg_message_id":"forged-${forged}.recvd.0","timestamp":1700000000}`;
    return { body: encodeBody([item]), events: [], ids: [], news: [], broken: 0, forged: true };
  };

  return {
    spoil(draft) {
      seen += draft.items.length;
      for (; seen >= BROKEN_ITEM_EVERY; seen -= BROKEN_ITEM_EVERY) {
        draft.items.splice(Math.floor(draft.items.length / 2), 0, nextItem());
        draft.broken += 1;
      }
    },
    *bodiesAfter(postNumber) {
      if (postNumber % BROKEN_BODY_EVERY_POSTS === 0) yield nextBody();
      if (postNumber % FORGED_EVERY_POSTS === 0) yield nextForged();
    },
    *rest(messages) {
      const draft = newDraft();
      while (items < BROKEN_ITEMS.length) {
        draft.items.push(nextItem());
        draft.broken += 1;
      }
      // Among good ones: a body without any event would be quarantined whole, as one.
      for (const message of messages) {
        for (const event of message.events) addItem(draft, event, undefined);
        break;
      }
      if (draft.broken > 0)
        yield {
          body: encodeBody(draft.items),
          events: draft.events,
          ids: draft.ids,
          news: [],
          broken: draft.broken,
          forged: false,
        };
      while (bodies < BROKEN_BODIES.length) yield nextBody();
      if (forged === 0) yield nextForged();
    },
  };
}
