import { describe, expect, it } from "vitest";
import { eventIds, eventsInFirst, makePosts, type Cut } from "./posts.ts";
import { COPY_SECONDS, makeSample } from "./sample.ts";

const EVENTS = 400;
const sample = makeSample(EVENTS);

function bodies(cut: Cut, posts: number, from = 0): Buffer[] {
  const made: Buffer[] = [];
  for (const { body } of makePosts(sample, cut, from)) {
    if (made.length === posts) break;
    made.push(body);
  }
  return made;
}

describe("the benchmark's traffic", () => {
  it("has every event once, over many copies of the sample", () => {
    const cut = { eventsMin: 100, eventsMax: 100, firstEvent: 0 };
    const ids = bodies(cut, 12).flatMap(eventIds);
    expect(ids).toHaveLength(3 * EVENTS);
    expect(new Set(ids.map(({ messageId, eventId }) => `${messageId} ${eventId}`)).size).toBe(3 * EVENTS);
    // Peers know an event by its own id alone.
    expect(new Set(ids.map(({ eventId }) => eventId)).size).toBe(3 * EVENTS);
  });

  it("has the same life in every copy, for other people, later", () => {
    const at = (firstEvent: number): Record<string, unknown>[] => {
      const [body] = bodies({ eventsMin: EVENTS, eventsMax: EVENTS, firstEvent }, 1);
      return JSON.parse(body?.toString() ?? "[]") as Record<string, unknown>[];
    };
    const first = at(0);
    const second = at(EVENTS);
    expect(second.map((event) => event["event"])).toEqual(first.map((event) => event["event"]));
    const [one, other] = [first[7], second[7]];
    expect(Number(other?.["timestamp"])).toBe(Number(one?.["timestamp"]) + COPY_SECONDS);
    for (const key of ["email", "customer_id", "sg_message_id"]) {
      expect(String(one?.[key])).toContain("0000");
      expect(other?.[key]).toBe(String(one?.[key]).replace("0000", "0001"));
    }
  });

  it("keeps a message's events together: as many messages in a copy as in the sample", () => {
    const [first = [], second = []] = [0, EVENTS].map((firstEvent) =>
      bodies({ eventsMin: EVENTS, eventsMax: EVENTS, firstEvent }, 1).flatMap(eventIds),
    );
    const messages = (ids: { messageId: string }[]): Set<string> => new Set(ids.map(({ messageId }) => messageId));
    expect(messages(second).size).toBe(messages(first).size);
    expect([...messages(first)].filter((id) => messages(second).has(id))).toEqual([]);
  });

  it("begins again in the middle with the very same bodies", () => {
    const cut = { eventsMin: 1, eventsMax: 20, firstEvent: 5 };
    const all = bodies(cut, 30);
    expect(bodies(cut, 10, 20)).toEqual(all.slice(20));
    const counts = all.map((body) => eventIds(body).length);
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(eventsInFirst(cut, 30));
    expect(new Set(counts.slice(0, 20)).size).toBe(20);
  });
});
