import { describe, expect, test } from "vitest";
import { expectedEndMs, patienceLeft } from "./patience.ts";

const HOUR_MS = 3_600_000;

describe("SendGrid's patience", () => {
  test("ends 24 hours after the event, and never before nothing is left", () => {
    const now = Date.parse("2026-03-02T09:00:00Z");
    expect(patienceLeft("2026-03-01T12:00:00Z", now)).toBe(3 * HOUR_MS);
    expect(patienceLeft("2026-02-01T12:00:00Z", now)).toBe(0);
  });
});

describe("the expected end", () => {
  test("follows from how much was done in the time observed", () => {
    expect(expectedEndMs({ at: 0, count: 300 }, { at: 60_000, count: 200 })).toBe(120_000);
  });

  test("is not known when nothing gets less, after a moment, or when nothing waits", () => {
    expect(expectedEndMs({ at: 0, count: 300 }, { at: 60_000, count: 300 })).toBeUndefined();
    expect(expectedEndMs({ at: 0, count: 300 }, { at: 60_000, count: 400 })).toBeUndefined();
    expect(expectedEndMs({ at: 0, count: 300 }, { at: 5_000, count: 100 })).toBeUndefined();
    expect(expectedEndMs({ at: 0, count: 300 }, { at: 60_000, count: 0 })).toBeUndefined();
    expect(expectedEndMs(undefined, { at: 60_000, count: 1 })).toBeUndefined();
  });
});
