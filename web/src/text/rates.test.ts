import { describe, expect, test } from "vitest";
import type { RatePoint, Rates } from "../../../src/views/contract-live.ts";
import { rateBins, roundUp, takeRates, withLive } from "./rates.ts";

const at = (second: number): string => new Date(Date.UTC(2026, 2, 1, 9, 0, second)).toISOString();

function point(second: number, delivered: number, retries = 0): RatePoint {
  return {
    at: at(second),
    processed: 0,
    deferred: 0,
    delivered,
    failed: 0,
    engaged: 0,
    objected: 0,
    other: 0,
    retries,
  };
}

function rates(from: number, to: number, points: RatePoint[]): Rates {
  return { stepSeconds: 10, from: at(from), to: at(to), points };
}

describe("the buckets of the chart", () => {
  test("stand without gaps, also where nothing happened", () => {
    const bins = rateBins(rates(0, 40, [point(10, 5, 2)]), Date.parse(at(50)));
    expect(bins.map(({ events, retries, seconds }) => [events, retries, seconds])).toEqual([
      [0, 0, 10],
      [5, 2, 10],
      [0, 0, 10],
      [0, 0, 10],
    ]);
  });

  test("the one under way counts for the seconds that have passed, and not at all in its first moment", () => {
    const asked = rates(0, 20, [point(0, 1), point(10, 5)]);
    expect(rateBins(asked, Date.parse(at(15))).at(-1)).toMatchObject({ events: 5, seconds: 5 });
    expect(rateBins(asked, Date.parse(at(12)))).toHaveLength(1);
    // But for one that has all there is.
    expect(rateBins(rates(0, 20, [point(10, 5)]), Date.parse(at(11))).at(-1)).toMatchObject({ events: 5, seconds: 3 });
    // A reader's clock that is an hour slow or fast.
    expect(rateBins(asked, Date.parse(at(-3_600)))).toHaveLength(1);
    expect(rateBins(asked, Date.parse(at(3_600))).at(-1)).toMatchObject({ seconds: 10 });
  });
});

describe("what the live stream brings", () => {
  test("replaces the buckets it knows better, and moves the span", () => {
    const asked = rates(0, 40, [point(0, 1), point(20, 2), point(30, 3)]);
    const merged = withLive(asked, rates(30, 60, [point(30, 30), point(50, 50)]));
    expect([merged.from, merged.to]).toEqual([at(20), at(60)]);
    expect(merged.points.map(({ delivered }) => delivered)).toEqual([2, 30, 50]);
  });

  test("changes nothing when it is older, or of another size", () => {
    const asked = rates(0, 40, [point(0, 1)]);
    expect(withLive(asked, rates(0, 30, []))).toBe(asked);
    expect(withLive({ ...asked, stepSeconds: 300 }, rates(30, 60, []))).toMatchObject({ stepSeconds: 300 });
    expect(withLive(asked, undefined)).toBe(asked);
  });

  test("is collected, bounded, and begins anew after a gap", () => {
    let known: Rates | undefined;
    for (let second = 0; second < 5_000; second += 10) {
      known = takeRates(known, rates(second, second + 30, [point(second, second)]));
    }
    expect(known?.points).toHaveLength(120);
    expect(known?.points.at(-1)?.delivered).toBe(4_990);
    expect(takeRates(known, rates(9_000, 9_030, [])).from).toBe(at(9_000));
  });
});

describe("the scale", () => {
  test.each([
    [0, 0.2],
    [0.1, 0.2],
    [0.3, 0.4],
    [0.5, 0.6],
    [1, 1],
    [7, 10],
    [23, 40],
    [51, 60],
    [12_000, 20_000],
  ])("%d fits below %d", (value, top) => {
    expect(roundUp(value)).toBe(top);
  });
});
