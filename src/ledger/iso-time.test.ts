import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isoTime } from "./iso-time.ts";

describe("isoTime", () => {
  it("writes any time as Date does", () => {
    const milliseconds = fc.integer({ min: -8.64e15, max: 8.64e15 });
    fc.assert(fc.property(milliseconds, (ms) => isoTime(ms) === new Date(ms).toISOString()));
  });

  it("begins a new day with its first millisecond, in both directions", () => {
    const midnight = Date.UTC(2028, 1, 29);
    for (const ms of [midnight - 1, midnight, midnight - 1, midnight + 86_399_999, midnight + 86_400_000, -1, 0]) {
      expect(isoTime(ms)).toBe(new Date(ms).toISOString());
    }
  });
});
