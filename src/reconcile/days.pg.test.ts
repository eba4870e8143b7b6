import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { testDatabase, type TestDatabase } from "../../test/database.ts";
import { addDays, dayIn } from "../days.ts";
import { dayBounds, hourIn } from "./days.ts";

const HOUR_MS = 3_600_000;

describe("days", () => {
  let db: TestDatabase;

  beforeAll(async () => {
    db = await testDatabase();
  });

  afterAll(async () => {
    await db.drop();
  });

  it.each([
    ["2026-03-28", 24],
    ["2026-03-29", 23],
    ["2026-10-25", 25],
  ])("has %s in Berlin last %i hours", async (day, hours) => {
    const { fromMs, toMs } = await dayBounds(db.pool, day, "Europe/Berlin");
    expect((toMs - fromMs) / HOUR_MS).toBe(hours);
    expect([fromMs, toMs - 1].map((ms) => dayIn("Europe/Berlin", new Date(ms)))).toEqual([day, day]);
    expect(dayIn("Europe/Berlin", new Date(toMs))).toBe(addDays(day, 1));
  });

  it("tells the hour of a zone", () => {
    expect(hourIn("Europe/Berlin", new Date("2026-07-01T22:30:00Z"))).toBe(0);
    expect(hourIn("America/New_York", new Date("2026-07-01T03:30:00Z"))).toBe(23);
  });
});
