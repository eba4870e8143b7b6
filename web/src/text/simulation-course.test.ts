import { describe, expect, test } from "vitest";
import { courseOf, niceMax } from "./simulation-course.ts";

describe("the course of a run", () => {
  test("is what each span added, per second", () => {
    const moments = [
      { atSeconds: 0.02, processed: 0, retries: 0 },
      { atSeconds: 1, processed: 100, retries: 0 },
      { atSeconds: 3, processed: 300, retries: 2 },
    ];
    expect(courseOf(moments)).toEqual([
      { fromSeconds: 0, toSeconds: 1, rate: 100, retries: 0 },
      { fromSeconds: 1, toSeconds: 3, rate: 100, retries: 2 },
    ]);
  });

  test("adds up to the whole, also where moments were left out or came at once", () => {
    const moments = [
      { atSeconds: 2, processed: 50, retries: 1 },
      { atSeconds: 2.1, processed: 60, retries: 1 },
      { atSeconds: 4, processed: 90, retries: 3 },
    ];
    const points = courseOf(moments);
    const sum = points.reduce((all, { fromSeconds, toSeconds, rate }) => all + rate * (toSeconds - fromSeconds), 0);
    expect(sum).toBeCloseTo(90);
    expect(points.reduce((all, { retries }) => all + retries, 0)).toBe(3);
  });

  test("has no point before anything was measured", () => {
    expect(courseOf([])).toEqual([]);
  });
});

describe("the end of an axis", () => {
  test.each([
    [0, 1],
    [1, 1],
    [3, 5],
    [100, 100],
    [101, 200],
    [999, 1000],
  ])("of %d is %d", (value, end) => {
    expect(niceMax(value)).toBe(end);
  });
});
