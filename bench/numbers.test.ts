import { describe, expect, it } from "vitest";
import { format, formatSpread, median, percentile } from "./numbers.ts";

describe("figures", () => {
  it("have a middle, whatever their order", () => {
    expect(median([3, 1, 2])).toBe(2);
    expect(median([4, 1, 2, 3])).toBe(2.5);
    expect(median([])).toBeNaN();
  });

  it("have percentiles that are among them", () => {
    const values = Array.from({ length: 100 }, (_value, index) => 100 - index);
    expect([0.5, 0.99, 1].map((share) => percentile(values, share))).toEqual([50, 99, 100]);
    expect(percentile([7], 0.99)).toBe(7);
  });

  it("show three digits that matter", () => {
    expect([0.01234, 4.561, 78.94, 1_234.5, 0, 100, Number.NaN].map(format)).toEqual([
      "0.0123",
      "4.56",
      "78.9",
      "1,235",
      "0",
      "100",
      "–",
    ]);
    expect(formatSpread([2, 1, 4])).toBe("2 (1–4)");
    expect(formatSpread([5])).toBe("5");
  });
});
