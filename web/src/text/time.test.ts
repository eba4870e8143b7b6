import { beforeAll, describe, expect, test } from "vitest";
import { createTranslator } from "../i18n/i18n.ts";
import type { TextContext } from "./context.ts";
import {
  ago,
  bareMoment,
  clock,
  elapsed,
  listTime,
  moment,
  offset,
  shortSpan,
  startOfDay,
  utc,
  zoneName,
} from "./time.ts";

const NOW = Date.parse("2026-03-03T13:30:00Z");
let english: TextContext;
let german: TextContext;

beforeAll(async () => {
  english = { t: (await createTranslator("en")).t, locale: "en-GB", timeZone: "Europe/Berlin", now: NOW };
  german = { t: (await createTranslator("de")).t, locale: "de-DE", timeZone: "Europe/Berlin", now: NOW };
});

describe("times", () => {
  test("a clock shows the reader's zone, always with 24 hours and two digits", () => {
    expect(clock("2026-03-03T13:02:07Z", english)).toBe("14:02:07");
    expect(clock("2026-03-02T23:00:00Z", english)).toBe("00:00:00");
    expect(clock("2026-03-03T13:02:07Z", { ...english, timeZone: "Asia/Kolkata" })).toBe("18:32:07");
  });

  test("a moment is today, yesterday, a day, and a day with its year when that is another", () => {
    expect(moment("2026-03-03T13:02:00Z", english)).toBe("today at 14:02");
    expect(moment("2026-03-02T22:59:00Z", english)).toBe("yesterday at 23:59");
    expect(moment("2026-02-28T13:02:00Z", english)).toBe("on 28 February, 14:02");
    expect(moment("2025-12-31T13:02:00Z", english)).toBe("on 31 December 2025, 14:02");
    expect(moment("2026-03-03T13:02:00Z", german)).toBe("heute um 14:02");
    expect(moment("2026-02-28T13:02:00Z", german)).toBe("am 28. Februar um 14:02");
  });

  test("today is the reader's day, not UTC's", () => {
    const night = { ...english, now: Date.parse("2026-03-02T23:30:00Z") };
    expect(moment("2026-03-02T23:10:00Z", night)).toBe("today at 00:10");
    expect(moment("2026-03-02T22:10:00Z", night)).toBe("yesterday at 23:10");
  });

  test("after since there is no preposition", () => {
    expect(bareMoment("2026-02-28T13:02:00Z", english)).toBe("28 February, 14:02");
    expect(bareMoment("2026-02-28T13:02:00Z", german)).toBe("28. Februar, 14:02");
  });

  test("a list shows seconds today and the day before that", () => {
    expect(listTime("2026-03-03T13:02:07Z", english)).toBe("14:02:07");
    expect(listTime("2026-03-01T13:02:07Z", english)).toBe("1 Mar 14:02");
    expect(listTime("2026-03-01T13:02:07Z", german)).toBe("1. März 14:02");
  });

  test("under an hour a time is relative, and a clock that runs ahead does not speak of the future", () => {
    expect(ago(NOW - 3_000, english)).toBe("3 sec ago");
    expect(ago(NOW - 59 * 60_000, german)).toBe("vor 59 Min.");
    expect(ago(NOW - 60 * 60_000, english)).toBe("today at 13:30");
    expect(ago(NOW + 5_000, english)).toBe("now");
  });

  test("the hover has UTC, with thousandths only where there are any", () => {
    expect(utc("2026-03-03T13:02:07Z")).toBe("2026-03-03 13:02:07 UTC");
    expect(utc("2026-03-03T13:02:07.120Z")).toBe("2026-03-03 13:02:07.120 UTC");
    expect(utc("no time")).toBe("no time");
  });

  test("a span is told in its largest fitting unit", () => {
    expect(elapsed(34_400)).toEqual({ unit: "second", count: 34 });
    expect(elapsed(6 * 60_000)).toEqual({ unit: "minute", count: 6 });
    expect(elapsed(118 * 60_000)).toEqual({ unit: "hour", count: 2 });
    expect(elapsed(72 * 3_600_000)).toEqual({ unit: "day", count: 3 });
    expect(elapsed(-5)).toEqual({ unit: "second", count: 0 });
  });

  test("beside a timeline a span has two units, and a minus sign when clocks differ", () => {
    expect(offset(34_000, english)).toBe("+34 s");
    expect(offset(-2_000, english)).toBe("−2 s");
    expect(shortSpan(118 * 60_000, english)).toBe("1 h 58 min");
    expect(shortSpan(51 * 3_600_000, german)).toBe("2 T 3 h");
    expect(shortSpan(59_700, english)).toBe("1 min");
  });

  test("the start of the day is midnight here", () => {
    expect(new Date(startOfDay(NOW)).getHours()).toBe(0);
    expect(NOW - Date.parse(startOfDay(NOW))).toBeLessThan(25 * 3_600_000);
  });

  test("the foot names the zone", () => {
    expect(zoneName(NOW, english)).toBe("UTC+1 Berlin");
    expect(zoneName(NOW, { ...english, timeZone: "UTC" })).toBe("UTC");
  });
});
