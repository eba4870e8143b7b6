import { DAY_MS, isDay } from "../days.ts";
import { ClientError } from "../errors.ts";

const DAY = /^2\d{3}-\d\d-\d\d$/;

/** A day of the calendar, as it is everywhere in the interface: 2026-03-01. */
export type Day = string;

/** Whether a text has the form of a day of this millennium; it may still be 30 February. */
export function looksLikeDay(text: string): boolean {
  return DAY.test(text);
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
    if (!looksLikeDay(text) || !isDay(text))
      throw new ClientError("bad_request", `${name} must be a day like 2026-03-01`);
  }
  if (from > to) throw new ClientError("bad_request", "from must not be after to");
  // Counted, not listed: what is asked for may be a thousand years.
  const days = (Date.parse(to) - Date.parse(from)) / DAY_MS + 1;
  if (days > daysMax) throw new ClientError("bad_request", `from and to may span at most ${daysMax} days, not ${days}`);
  return { from, to };
}
