import { ClientError } from "../errors.ts";

const DAY_MS = 24 * 60 * 60_000;
const DAY = /^2\d{3}-\d\d-\d\d$/;

/** A day of the calendar, as it is everywhere in the interface: 2026-03-01. */
export type Day = string;

/** Whether a text has the form of a day; it may still be 30 February. */
export function looksLikeDay(text: string): boolean {
  return DAY.test(text);
}

/** JavaScript rolls 30 February over into March; the day that was asked for must come back out. */
export function isDay(text: string): boolean {
  const time = Date.parse(`${text}T00:00:00Z`);
  return looksLikeDay(text) && !Number.isNaN(time) && new Date(time).toISOString().startsWith(text);
}

/** Whole days from one to the other, both counted. */
function daysBetween(from: Day, to: Day): number {
  return (Date.parse(to) - Date.parse(from)) / DAY_MS + 1;
}

/** Every day of a range. */
export function daysOf({ from, to }: DayRange): Day[] {
  const begin = Date.parse(from);
  return Array.from({ length: daysBetween(from, to) }, (_, index) =>
    new Date(begin + index * DAY_MS).toISOString().slice(0, 10),
  );
}

export interface DayRange {
  from: Day;
  to: Day;
}

/** @throws ClientError `bad_request` for what is no range of days, or a longer one. */
export function readDayRange({ from, to }: DayRange, daysMax: number): DayRange {
  for (const [name, text] of [
    ["from", from],
    ["to", to],
  ] as const) {
    if (!isDay(text)) throw new ClientError("bad_request", `${name} must be a day like 2026-03-01`);
  }
  if (from > to) throw new ClientError("bad_request", "from must not be after to");
  const days = daysBetween(from, to);
  if (days > daysMax) throw new ClientError("bad_request", `from and to may span at most ${daysMax} days, not ${days}`);
  return { from, to };
}

/** The day that a moment belongs to in a time zone. */
export function dayIn(timeZone: string, time: Date): Day {
  const format = new Intl.DateTimeFormat("en-CA", { timeZone, year: "numeric", month: "2-digit", day: "2-digit" });
  return format.format(time);
}
