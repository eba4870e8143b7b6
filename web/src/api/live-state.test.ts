import { describe, expect, test } from "vitest";
import type { LiveEvent } from "../../../src/views/contract-live.ts";
import type { Balance } from "../../../src/views/contract.ts";
import {
  EMPTY_LIVE_STATE,
  LIVE_EVENTS_MAX,
  type LiveState,
  mergeEvents,
  shownConnection,
  takeBalance,
  takeMessage,
} from "./live-state.ts";
import type { SseMessage } from "./sse.ts";

function event(eventId: string): LiveEvent {
  return {
    message: "m",
    eventId,
    type: "open",
    occurredAt: "2026-03-03T13:02:00Z",
    recipient: null,
    subject: null,
    source: "default",
    simulated: false,
    twin: false,
    detail: {},
  };
}

function balance(accepted: number): Balance {
  return {
    receipts: { accepted: 1, pending: 0 },
    events: { accepted, stored: accepted, duplicate: 0, twin: 0, quarantined: 0, lost: 0 },
    retries: { attempted: 0, rescued: 0, exhausted: 0 },
  };
}

const names = (state: LiveState): string[] => (state.events ?? []).map(({ eventId }) => eventId);
const batch = (ids: readonly string[], reset = false, skipped = 0) => ({ reset, skipped, events: ids.map(event) });

describe("the live state", () => {
  test("the newest event stands first, and each has a number that only grows", () => {
    const first = mergeEvents(EMPTY_LIVE_STATE, batch(["a", "b"], true));
    const second = mergeEvents(first, batch(["c"]));
    expect(names(second)).toEqual(["c", "b", "a"]);
    expect(second.events?.map(({ seq }) => seq)).toEqual([3, 2, 1]);
  });

  test("an event that comes again after a reconnect is not shown twice", () => {
    const state = mergeEvents(mergeEvents(EMPTY_LIVE_STATE, batch(["a", "b"])), batch(["b", "c"]));
    expect(names(state)).toEqual(["c", "b", "a"]);
  });

  test("a reset begins a new list, but numbers go on", () => {
    const state = mergeEvents(mergeEvents(EMPTY_LIVE_STATE, batch(["a"], false, 4)), batch(["a", "z"], true));
    expect(names(state)).toEqual(["z", "a"]);
    expect(state.events?.at(-1)?.seq).toBe(2);
    expect(state.skipped).toBe(0);
  });

  test("the list is bounded, and what was never sent is counted", () => {
    const many = Array.from({ length: LIVE_EVENTS_MAX + 10 }, (_, index) => `e${index}`);
    const state = mergeEvents(mergeEvents(EMPTY_LIVE_STATE, batch(many, false, 7)), batch(["last"], false, 3));
    expect(state.events).toHaveLength(LIVE_EVENTS_MAX);
    expect(names(state)[0]).toBe("last");
    expect(state.skipped).toBe(10);
  });

  test("the rate is what was accepted between two balances", () => {
    const first = takeBalance(EMPTY_LIVE_STATE, balance(100), 1_000);
    expect(first.rate).toBeUndefined();
    expect(takeBalance(first, balance(300), 3_000).rate).toBe(100);
    expect(takeBalance(first, balance(300), 1_100).rate).toBeUndefined();
    expect(takeBalance(first, balance(5), 3_000).rate).toBeUndefined();
  });

  test("a connection that is down for more than a moment makes the figures old", () => {
    expect(shownConnection({ connection: "reconnecting", downSince: 1_000 }, 9_000)).toBe("reconnecting");
    expect(shownConnection({ connection: "reconnecting", downSince: 1_000 }, 12_000)).toBe("stale");
    expect(shownConnection({ connection: "live", downSince: undefined }, 12_000)).toBe("live");
    expect(shownConnection({ connection: "full", downSince: 1_000 }, 99_000)).toBe("full");
  });

  test("the buckets of the stream are collected", () => {
    const rates = { stepSeconds: 10, from: "2026-03-01T09:00:00.000Z", to: "2026-03-01T09:00:30.000Z", points: [] };
    const state = takeMessage(EMPTY_LIVE_STATE, { event: "rates", data: JSON.stringify(rates), id: undefined }, 0);
    expect(state.rates).toEqual(rates);
  });

  test("what waits is observed from when it began to get less", () => {
    const status = (pending: number): SseMessage => ({
      event: "status",
      data: JSON.stringify({ enrichment: { pending } }),
      id: undefined,
    });
    let state = EMPTY_LIVE_STATE;
    for (const [now, pending] of [
      [1_000, 50],
      [2_000, 90],
      [3_000, 80],
      [4_000, 70],
    ] as const)
      state = takeMessage(state, status(pending), now);
    expect(state.pendingSince).toEqual({ at: 2_000, count: 90 });
    expect(takeMessage(state, status(60), 3_000_000).pendingSince).toEqual({ at: 3_000_000, count: 60 });
  });

  test("a kind of message that only a newer server sends changes nothing", () => {
    expect(takeMessage(EMPTY_LIVE_STATE, { event: "weather", data: "not json", id: undefined }, 0)).toBe(
      EMPTY_LIVE_STATE,
    );
  });
});
