import { describe, expect, it } from "vitest";
import { addDays, dayIn, daysBetween, isDay } from "./days.ts";

describe("days", () => {
  it("goes over months, years and leap days, in both directions", () => {
    expect(daysBetween("2028-02-27", "2028-03-01")).toEqual(["2028-02-27", "2028-02-28", "2028-02-29", "2028-03-01"]);
    expect(daysBetween("2026-03-01", "2026-03-01")).toEqual(["2026-03-01"]);
    expect(daysBetween("2026-03-02", "2026-03-01")).toEqual([]);
    expect([addDays("2026-12-31", 1), addDays("2026-03-01", -1)]).toEqual(["2027-01-01", "2026-02-28"]);
  });

  it.each(["2026-02-30", "2026-2-03", "2026-03-01 ", "today", ""])("does not take %j for a day", (text) => {
    expect(isDay(text)).toBe(false);
  });

  it("knows a leap day", () => {
    expect([isDay("2028-02-29"), isDay("2026-02-29")]).toEqual([true, false]);
  });

  it("tells the day of a zone", () => {
    const at = new Date("2026-07-01T22:30:00Z");
    expect([dayIn("Europe/Berlin", at), dayIn("UTC", at), dayIn("America/New_York", at)]).toEqual([
      "2026-07-02",
      "2026-07-01",
      "2026-07-01",
    ]);
  });
});
