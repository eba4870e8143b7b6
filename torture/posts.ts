import { createHash } from "node:crypto";
import { simulatePosts, type Post } from "../src/simulator/posts.ts";
import { createRandom, type Random } from "../src/simulator/random.ts";
import { simulateMessages, type TrafficOptions } from "../src/simulator/traffic.ts";
import type { WireEvent } from "../src/simulator/truth.ts";
import { encodeBody, encodeItem } from "../src/simulator/wire.ts";

/** One POST of a run. */
export interface TorturePost {
  id: number;
  body: Buffer;
  /** Of the body, in hexadecimal. */
  sha256: string;
  /** The elements (distinct events) in it. */
  elements: readonly number[];
  /** Items that must end in quarantine. */
  broken: number;
  /** Signed with a key that nobody knows: it must be refused. */
  forged: boolean;
  /** Sent once and never again, as if SendGrid's 24 hours were over: what becomes of it is Holdfast's alone. */
  isLastTry: boolean;
  /** An event of it by which a read can tell whether it is visible: message id and event id. */
  sample: readonly [messageId: string, eventId: string] | undefined;
  news: readonly WireEvent[];
}

export interface PostSource {
  /** The next POST of the traffic; undefined when there is no more. */
  next(): TorturePost | undefined;
  /** A POST of events made by hand. The same event given twice is one element. */
  make(events: readonly WireEvent[], options?: { isLastTry?: boolean }): TorturePost;
  /** The ledger's key of each element so far. */
  readonly keys: readonly string[];
  readonly elementsOf: ReadonlyMap<number, readonly number[]>;
}

export interface PostSourceOptions {
  seed: string;
  /** How many events to have in store. */
  events: number;
  /** Events in a POST. */
  batch: number;
}

/** Long past, so that nothing of it depends on when a run is made: the same seed gives the same bytes for ever. */
const START_SECONDS = Date.UTC(2025, 0, 6, 8) / 1000;
const PERIOD_SECONDS = 4 * 3_600;
const LAST_TRY_SHARE = 0.03;

/** Everything the simulator can do at once: duplicates, disorder, twins, missing ids, broken items, forgeries. */
export function createPostSource(options: PostSourceOptions): PostSource {
  const { seed, events, batch } = options;
  const traffic: TrafficOptions = {
    seed,
    startSeconds: START_SECONDS,
    periodSeconds: PERIOD_SECONDS,
    events,
    twins: true,
    missingIds: true,
    poison: true,
  };
  const keys: string[] = [];
  for (const { events: ofMessage } of events === 0 ? [] : simulateMessages(traffic)) {
    for (const event of ofMessage) keys[event.index] = keyOfWire(event.wire);
  }
  const madeByHand = new Map<string, number>();
  const elementsOf = new Map<number, readonly number[]>();
  const random = createRandom(`${seed} posts`);
  const generator: Iterator<Post> =
    events === 0 ? [].values() : simulatePosts(traffic, { batch, duplicates: 0.2, shuffle: true });

  const register = (post: Omit<TorturePost, "id" | "sha256">): TorturePost => {
    const id = elementsOf.size;
    // A forgery's event must never be seen, so it is nobody's element: in the ledger it would be a phantom.
    elementsOf.set(id, post.elements);
    return { id, sha256: createHash("sha256").update(post.body).digest("hex"), ...post };
  };

  return {
    next() {
      const next = generator.next();
      if (next.done === true) return undefined;
      const post = next.value;
      const { body, broken, forged, news, events: elements } = post;
      const sample = post.ids.find(isSample);
      return register({ body, elements, broken, forged, sample, news, isLastTry: random.chance(LAST_TRY_SHARE) });
    },
    make(wires, { isLastTry = false } = {}) {
      const elements = wires.map((wire) => {
        const key = keyOfWire(wire);
        const known = madeByHand.get(key) ?? keys.push(key) - 1;
        madeByHand.set(key, known);
        return known;
      });
      const body = encodeBody(wires.map(encodeItem));
      const sample = wires.map((wire) => [wire["sg_message_id"], wire["sg_event_id"]] as const).find(isSample);
      return register({ body, elements, broken: 0, forged: false, sample, news: wires, isLastTry });
    },
    keys,
    elementsOf,
  };
}

function isSample(ids: readonly [unknown, unknown]): ids is readonly [string, string] {
  return ids.every((id) => typeof id === "string" && id !== "");
}

/** How the ledger names an event: by its ids; where SendGrid left its id out, by what it says. */
function keyOfWire(wire: WireEvent): string {
  const { sg_message_id: messageId, sg_event_id: eventId, event: type, timestamp, email } = wire;
  return ledgerKey({
    messageId: typeof messageId === "string" && messageId !== "" ? messageId : null,
    eventId: typeof eventId === "string" && eventId !== "" ? eventId : undefined,
    type: String(type),
    seconds: Number(timestamp),
    recipient: String(email),
  });
}

export interface NamedEvent {
  messageId: string | null;
  /** undefined: SendGrid gave none. */
  eventId: string | undefined;
  type: string;
  seconds: number;
  recipient: string | null;
}

export function ledgerKey({ messageId, eventId, type, seconds, recipient }: NamedEvent): string {
  const message = messageId ?? "nameless";
  return eventId === undefined ? `${message} ~ ${type} ${seconds} ${recipient ?? ""}` : `${message} ${eventId}`;
}

/** Events of one made-up message; `types` one event each. The ids come from the names alone. */
export function madeUpEvents(random: Random, name: string, types: readonly string[]): WireEvent[] {
  const order = random.between(0, 999_999);
  return types.map((type, index) => ({
    email: `${name}@example.com`,
    timestamp: START_SECONDS + index,
    event: type,
    sg_event_id: `${name}-${order}-${index}`,
    sg_message_id: `${name}-${order}.recvd-torture-1.0`,
    ...(type === "click" ? { url: "https://example.com/" } : {}),
  }));
}
