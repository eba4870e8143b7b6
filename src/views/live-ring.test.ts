import { describe, expect, it } from "vitest";
import type { EventKey } from "../ledger/read-events.ts";
import { createRing } from "./live-ring.ts";

const announced = (...ids: string[]) => ({ keys: ids.map((id): EventKey => [1, id]), skipped: 0 });

describe("the ring of announcements", () => {
  it("knows what came since any number it still holds", () => {
    const ring = createRing(10);
    expect(ring.since(0)).toEqual([]);
    ring.add(announced("a"));
    ring.add(announced("b", "c"));
    expect(ring.last).toBe(2);
    expect(ring.since(0)).toEqual([announced("a"), announced("b", "c")]);
    expect(ring.since(1)).toEqual([announced("b", "c")]);
    expect(ring.since(2)).toEqual([]);
    expect(ring.latest(2)).toEqual([
      [1, "b"],
      [1, "c"],
    ]);
  });

  it("says that it does not know what is too old, or was never given out", () => {
    const ring = createRing(3);
    ring.add(announced("a", "b"));
    ring.add(announced("c", "d"));
    expect(ring.since(0)).toBeUndefined();
    expect(ring.since(1)).toEqual([announced("c", "d")]);
    expect(ring.since(3)).toBeUndefined();
  });

  it("forgets all at once, and every number given out before", () => {
    const ring = createRing(10);
    ring.add(announced("a"));
    ring.clear();
    expect(ring.since(1)).toBeUndefined();
    expect(ring.since(ring.last)).toEqual([]);
    expect(ring.latest(5)).toEqual([]);
  });

  it("stays small when announcements name no events", () => {
    const ring = createRing(2);
    for (let count = 0; count < 5; count += 1) ring.add({ keys: [], skipped: 100 });
    expect(ring.since(2)).toBeUndefined();
    expect(ring.since(3)).toHaveLength(2);
  });
});
