import { describe, expect, it } from "vitest";
import { UsageError } from "../errors.ts";
import { chooseLosses, lostEventIds } from "./losses.ts";
import { simulatePosts, type Post, type PostingOptions } from "./posts.ts";
import { simulateMessages, type SimulatedEvent, type TrafficOptions } from "./traffic.ts";

const TRAFFIC: TrafficOptions = {
  seed: "5",
  startSeconds: 1_770_000_000,
  periodSeconds: 7_200,
  events: 2_000,
  twins: true,
  missingIds: true,
  poison: true,
};
const POSTING: PostingOptions = { batch: 100, duplicates: 0.3, shuffle: true, lose: 37 };

function posts(traffic: Partial<TrafficOptions> = {}, posting: Partial<PostingOptions> = {}): Post[] {
  return [...simulatePosts({ ...TRAFFIC, ...traffic }, { ...POSTING, ...posting })];
}

function eventsOf(traffic: Partial<TrafficOptions> = {}): SimulatedEvent[] {
  return [...simulateMessages({ ...TRAFFIC, ...traffic })].flatMap(({ events }) => events);
}

describe("events that SendGrid's webhook loses", () => {
  it("are as many as asked for, the same for the same seed, and others for another", () => {
    const losses = chooseLosses(TRAFFIC, 37);
    expect(losses.size).toBe(37);
    expect(chooseLosses(TRAFFIC, 37)).toEqual(losses);
    expect(chooseLosses({ ...TRAFFIC, seed: "6" }, 37)).not.toEqual(losses);
    expect(chooseLosses(TRAFFIC, 0).size).toBe(0);
  });

  it("have both ids, and neither are twins nor have one", () => {
    const events = eventsOf();
    for (const index of chooseLosses(TRAFFIC, 400)) {
      expect(events[index]?.wire["sg_message_id"]).toMatch(/./);
      expect(events[index]?.wire["sg_event_id"]).toMatch(/./);
      expect(events[index]?.truth).toBeDefined();
      expect(events[index + 1]?.truth).toBeDefined();
    }
  });

  it("are news to SendGrid like all others, and in no POST, whatever is posted twice or broken", () => {
    const losses = chooseLosses(TRAFFIC, 37);
    const made = posts();
    expect(made.flatMap((post) => post.news)).toHaveLength(TRAFFIC.events);
    const posted = new Set(made.flatMap((post) => post.events));
    expect(eventsOf().filter(({ index }) => posted.has(index) === losses.has(index))).toEqual([]);
    const bytes = Buffer.concat(made.map((post) => post.body)).toString("latin1");
    const ids = lostEventIds(TRAFFIC, 37);
    expect(new Set(ids).size).toBe(37);
    expect(ids.filter((id) => bytes.includes(id))).toEqual([]);
  });

  it("may be all events of all messages, of which SendGrid still hears", () => {
    const plain = { twins: false, missingIds: false, poison: false, events: 50 };
    const made = posts(plain, { lose: 50 });
    expect(made.flatMap((post) => post.news)).toHaveLength(50);
    expect(made.map((post) => post.body.length)).toEqual([0]);
  });

  it("cannot be more than there are", () => {
    expect(() => chooseLosses({ ...TRAFFIC, events: 20 }, 21)).toThrow(UsageError);
  });
});
