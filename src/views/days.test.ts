import { describe, expect, it } from "vitest";
import { readDayRange } from "./days.ts";

describe("a range of days", () => {
  it("counts both of its ends, over a leap day too", () => {
    const range = { from: "2028-02-28", to: "2028-03-01" };
    expect(readDayRange(range, 3)).toEqual(range);
    expect(() => readDayRange(range, 2)).toThrow("at most 2 days, not 3");
  });

  it.each(["2026-02-30", "1999-12-31", "9999-12-31", "tomorrow"])("does not begin or end with %j", (day) => {
    expect(() => readDayRange({ from: day, to: "2026-03-01" }, 1)).toThrow("from must be a day");
    expect(() => readDayRange({ from: "2026-03-01", to: day }, 1)).toThrow("to must be a day");
  });

  it("of a thousand years is refused for its length", () => {
    expect(() => readDayRange({ from: "2000-01-01", to: "2999-12-31" }, 92)).toThrow("not 365243");
  });
});
