import { describe, expect, it } from "vitest";
import { simulateMessages, type SimulatedEvent, type TrafficOptions } from "./traffic.ts";

const OPTIONS: TrafficOptions = {
  seed: "7",
  startSeconds: 1_770_000_000,
  periodSeconds: 7_200,
  events: 5_000,
  twins: false,
  missingIds: false,
  poison: false,
};

function eventsOf(options: Partial<TrafficOptions> = {}): SimulatedEvent[] {
  return [...simulateMessages({ ...OPTIONS, ...options })].flatMap((message) => message.events);
}

let many: SimulatedEvent[] | undefined;
/** Enough for the rarest kinds, with missing ids; made once. */
function manyEvents(): SimulatedEvent[] {
  many ??= eventsOf({ missingIds: true, events: 50_000 });
  return many;
}

function text(event: SimulatedEvent, key: string): string {
  return String(event.wire[key]);
}

describe("simulated traffic", () => {
  it("is the same for the same options and shares no id with any other", () => {
    expect(eventsOf()).toEqual(eventsOf());
    const ids = new Set(eventsOf().map((event) => text(event, "sg_message_id")));
    for (const other of [
      { seed: "8" },
      { startSeconds: 1_770_000_001 },
      { events: 4_999 },
      { twins: true },
      { poison: true },
    ]) {
      expect(eventsOf(other).some((event) => ids.has(text(event, "sg_message_id")))).toBe(false);
    }
  });

  it("is alike in all but its ids and times when only the start differs", () => {
    const later = eventsOf({ startSeconds: OPTIONS.startSeconds + 86_400 });
    const kinds = eventsOf().map((event) => text(event, "event"));
    expect(later.map((event) => text(event, "event"))).toEqual(kinds);
    expect(later.map((event) => event.atSeconds - 86_400)).toEqual(eventsOf().map((event) => event.atSeconds));
    expect(later.map((event) => text(event, "email"))).toEqual(eventsOf().map((event) => text(event, "email")));
  });

  it("has exactly as many events as asked for, numbered in order, all within the period", () => {
    for (const events of [1, 2, 3, 10, 777, 5_000]) {
      const made = eventsOf({ events });
      expect(made).toHaveLength(events);
      expect(made.map(({ index }) => index)).toEqual(made.map((_event, index) => index));
    }
    for (const { atSeconds, wire } of eventsOf()) {
      expect(wire["timestamp"]).toBe(atSeconds);
      expect(atSeconds).toBeGreaterThanOrEqual(OPTIONS.startSeconds);
      expect(atSeconds).toBeLessThanOrEqual(OPTIONS.startSeconds + OPTIONS.periodSeconds);
    }
  });

  it("knows every kind of event, in the shares a shop would see", () => {
    const counts = new Map<string, number>();
    for (const event of manyEvents()) counts.set(text(event, "event"), (counts.get(text(event, "event")) ?? 0) + 1);
    const kinds = [
      "processed",
      "delivered",
      "deferred",
      "bounce",
      "dropped",
      "open",
      "click",
      "spamreport",
      "unsubscribe",
      "group_unsubscribe",
      "group_resubscribe",
    ];
    expect([...counts.keys()].sort()).toEqual(kinds.sort());
    const share = (kind: string): number => (counts.get(kind) ?? 0) / (counts.get("processed") ?? 1);
    expect(share("delivered")).toBeGreaterThan(0.9);
    expect(share("bounce")).toBeLessThan(0.08);
  });

  it("gives each event an id of its own; those of delivery say what they are about", () => {
    const events = eventsOf();
    expect(new Set(events.map((event) => text(event, "sg_event_id"))).size).toBe(events.length);
    const [opaque, telling] = [
      ["open", "click"],
      ["processed", "delivered", "bounce"],
    ].map((kinds) => events.filter((event) => kinds.includes(text(event, "event"))));
    expect(opaque?.every((event) => /^[\w-]{22}$/.test(text(event, "sg_event_id")))).toBe(true);
    for (const event of telling ?? []) {
      const messageId = text(event, "sg_message_id");
      expect(messageId).toMatch(/^[\w-]{22}\.recvd-[0-9a-f]{10}-\w{5}-\d-[0-9A-F]{8}-[0-9A-F]{2}\.\d$/);
      const about = `${messageId.slice(0, 22)}-${messageId.at(-1)}`;
      const decoded = Buffer.from(text(event, "sg_event_id"), "base64url").toString();
      expect(decoded).toMatch(new RegExp(`^(processed|delivered-\\d|bounce-\\d)-\\d+-${about}$`));
    }
  });

  it("names no address and no server outside of the ranges reserved for examples", () => {
    const valuesOf = (key: string): unknown[] => eventsOf().flatMap(({ wire }) => wire[key] ?? []);
    const address = /@([a-z-]+\.)?example\.(com|net|org)$/;
    expect(valuesOf("email").filter((email) => !address.test(String(email)))).toEqual([]);
    const server = /^(192\.0\.2\.\d+|198\.51\.100\.\d+|203\.0\.113\.\d+|2001:db8::[0-9a-f]+|unknown)$/;
    expect(valuesOf("ip").filter((ip) => !server.test(String(ip)))).toEqual([]);
    expect(new Set(valuesOf("url").map((url) => new URL(String(url)).hostname))).toEqual(
      new Set(["market.example.com"]),
    );
  });

  it("keeps every event in its place in a life: nothing before processed, nothing after a refusal", () => {
    for (const { events } of simulateMessages(OPTIONS)) {
      const types = events.map((event) => text(event, "event"));
      expect(["processed", "dropped"]).toContain(types[0]);
      // Nothing follows a drop or a bounce.
      expect(types.slice(0, -1).filter((type) => ["dropped", "bounce"].includes(type))).toEqual([]);
      const times = events.map((event) => event.atSeconds);
      expect(times).toEqual(times.toSorted((a, b) => a - b));
    }
  });

  it("leaves out exactly the ids that SendGrid leaves out", () => {
    const events = manyEvents();
    const nameless = events.filter(
      (event) => typeof event.wire["sg_message_id"] !== "string" || event.wire["sg_message_id"] === "",
    );
    expect(new Set(nameless.map((event) => text(event, "event")))).toEqual(new Set(["bounce"]));
    expect(new Set(nameless.map((event) => JSON.stringify(event.wire["sg_message_id"])))).toEqual(
      new Set([undefined, "null", '""']),
    );
    expect(nameless.every((event) => typeof event.truth?.["sg_message_id"] === "string")).toBe(true);
    const unnumbered = events.filter((event) => event.wire["sg_event_id"] === undefined);
    expect(new Set(unnumbered.map((event) => text(event, "event")))).toEqual(
      new Set(["unsubscribe", "group_unsubscribe", "group_resubscribe"]),
    );
  });

  it("makes twins that differ from their originals in nothing but the id, and that are no new fact", () => {
    const events = eventsOf({ twins: true });
    const twins = events.filter((event) => event.truth === undefined);
    expect(twins.length).toBeGreaterThan(20);
    expect(events).toHaveLength(OPTIONS.events + twins.length);
    for (const twin of twins) {
      const original = events[twin.index - 1];
      expect({ ...twin.wire, sg_event_id: undefined }).toEqual({ ...original?.wire, sg_event_id: undefined });
      expect(twin.wire["sg_event_id"]).not.toBe(original?.wire["sg_event_id"]);
    }
  });
});
