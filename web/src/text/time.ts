import type { TextContext } from "./context.ts";
import { formatCount } from "./number.ts";

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

type Zone = Pick<TextContext, "locale" | "timeZone">;

const formats = new Map<string, Intl.DateTimeFormat>();

// Making a formatter costs a hundred times more than using it, and a table has hundreds of cells.
function format(zone: Zone, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = `${zone.locale} ${zone.timeZone ?? ""} ${JSON.stringify(options)}`;
  const known =
    formats.get(key) ??
    new Intl.DateTimeFormat(zone.locale, {
      ...options,
      ...(zone.timeZone === undefined ? {} : { timeZone: zone.timeZone }),
    });
  formats.set(key, known);
  return known;
}

/** 14:03:21 in the reader's zone. */
export function clock(time: string | number, zone: Zone): string {
  return format(zone, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" }).format(
    new Date(time),
  );
}

/** 14:03 in the reader's zone. */
function shortClock(time: string | number, zone: Zone): string {
  return format(zone, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" }).format(new Date(time));
}

/** Days between the present and a time, by the reader's calendar: 0 today, 1 yesterday, -1 tomorrow. */
function daysAgo(time: string | number, context: TextContext): number {
  const day = (instant: string | number): number => {
    const parts = format(
      { locale: "en-CA", timeZone: context.timeZone },
      { year: "numeric", month: "2-digit", day: "2-digit" },
    );
    return Date.parse(`${parts.format(new Date(instant))}T00:00:00Z`);
  };
  return Math.round((day(context.now) - day(time)) / DAY_MS);
}

function sameYear(time: string | number, context: TextContext): boolean {
  const year = format(context, { year: "numeric" });
  return year.format(new Date(time)) === year.format(context.now);
}

/** The day for a list: today's times need none; "12 Nov", and the year when it is not this one. */
export function shortDay(time: string | number, context: TextContext): string {
  const year = sameYear(time, context) ? {} : ({ year: "numeric" } as const);
  return format(context, { day: "numeric", month: "short", ...year }).format(new Date(time));
}

/** For a list: 14:03:21 today, else the day and the time. */
export function listTime(time: string | number, context: TextContext): string {
  return daysAgo(time, context) === 0
    ? clock(time, context)
    : `${shortDay(time, context)} ${shortClock(time, context)}`;
}

/** Within a sentence: "today at 14:02", "on 3 March, 14:02"; "heute um 14:02", "am 3. März um 14:02". */
export function moment(time: string | number, context: TextContext): string {
  const days = daysAgo(time, context);
  const at = shortClock(time, context);
  if (days === 0) return context.t("moment.today", { time: at });
  if (days === 1) return context.t("moment.yesterday", { time: at });
  return context.t("moment.day", { day: longDay(time, context), time: at });
}

/** A moment after "since": "today, 14:02", "3 March, 14:02"; „heute, 14:02“, „3. März, 14:02“. */
export function bareMoment(time: string | number, context: TextContext): string {
  const days = daysAgo(time, context);
  const at = shortClock(time, context);
  if (days === 0) return context.t("moment.bareToday", { time: at });
  if (days === 1) return context.t("moment.bareYesterday", { time: at });
  return context.t("moment.bareDay", { day: longDay(time, context), time: at });
}

function longDay(time: string | number, context: TextContext): string {
  const year = sameYear(time, context) ? {} : ({ year: "numeric" } as const);
  return format(context, { day: "numeric", month: "long", ...year }).format(new Date(time));
}

/** The exact time in UTC, for the hover: 2026-03-03 13:02:07.000 UTC. Thousandths only where there are any. */
export function utc(time: string | number): string {
  const date = new Date(time);
  if (Number.isNaN(date.getTime())) return String(time);
  return `${date
    .toISOString()
    .replace("T", " ")
    .replace(/(\.000)?Z$/, "")} UTC`;
}

/** "3 seconds ago" under an hour, else the moment. A time in the future by a wrong clock is "now". */
export function ago(time: string | number, context: TextContext): string {
  const age = Math.max(0, context.now - new Date(time).getTime());
  if (age >= HOUR_MS) return moment(time, context);
  const relative = new Intl.RelativeTimeFormat(context.locale, { numeric: "auto", style: "short" });
  if (age < MINUTE_MS) return relative.format(-Math.floor(age / SECOND_MS), "second");
  return relative.format(-Math.floor(age / MINUTE_MS), "minute");
}

export type ElapsedUnit = "second" | "minute" | "hour" | "day";

/** A span in its largest fitting unit. Always at least 0. */
export function elapsed(ms: number): { unit: ElapsedUnit; count: number } {
  const span = Math.max(0, ms);
  if (span < 2 * MINUTE_MS) return { unit: "second", count: Math.round(span / SECOND_MS) };
  if (span < 1.5 * HOUR_MS) return { unit: "minute", count: Math.round(span / MINUTE_MS) };
  if (span < 1.5 * DAY_MS) return { unit: "hour", count: Math.round(span / HOUR_MS) };
  return { unit: "day", count: Math.round(span / DAY_MS) };
}

/** A span in its two largest units, exact enough for a table: "34 s", "6 min", "1 h 58 min", "2 d 3 h". */
export function shortSpan(ms: number, { t, locale }: TextContext): string {
  const write = (unit: ElapsedUnit, count: number): string =>
    t(`unit.${unit}`, { formatted: formatCount(count, locale) });
  const seconds = Math.round(Math.max(0, ms) / SECOND_MS);
  if (seconds < 60) return write("second", seconds);
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return write("minute", minutes);
  const [large, small, whole, part] =
    minutes < 24 * 60
      ? (["hour", "minute", Math.floor(minutes / 60), minutes % 60] as const)
      : (["day", "hour", Math.floor(minutes / (24 * 60)), Math.floor(minutes / 60) % 24] as const);
  return part === 0 ? write(large, whole) : `${write(large, whole)} ${write(small, part)}`;
}

/** Beside a timeline: "+34 s". A negative span (clocks differ) has a minus sign. */
export function offset(ms: number, context: TextContext): string {
  return (ms <= -SECOND_MS / 2 ? "−" : "+") + shortSpan(Math.abs(ms), context);
}

/** Whether a time is of the reader's present day. */
export function isToday(time: string | number, context: TextContext): boolean {
  return daysAgo(time, context) === 0;
}

/** The start of the reader's day, as the API wants it. */
export function startOfDay(now: number): string {
  const date = new Date(now);
  return new Date(date.getFullYear(), date.getMonth(), date.getDate()).toISOString();
}

/** "UTC+1 Berlin": where the page's times are, for the foot of the rail. */
export function zoneName(now: number, zone: Zone): string {
  const parts = format({ locale: "en-GB", timeZone: zone.timeZone }, { timeZoneName: "shortOffset" }).formatToParts(
    new Date(now),
  );
  const offsetName =
    parts
      .find((part) => part.type === "timeZoneName")
      ?.value.replace("GMT", "UTC")
      .replace(/\+0$/, "") ?? "UTC";
  const place =
    (zone.timeZone ?? Intl.DateTimeFormat().resolvedOptions().timeZone).split("/").at(-1)?.replaceAll("_", " ") ?? "";
  return place === "" || place === "UTC" ? offsetName : `${offsetName} ${place}`;
}

/** A place on the time axis of a chart: the hour, or the day where the axis spans several. */
export function axisTime(time: number, span: readonly { at: number }[], context: TextContext): string {
  const lengthMs = (span.at(-1)?.at ?? 0) - (span[0]?.at ?? 0);
  return lengthMs > 2 * DAY_MS ? shortDay(time, context) : shortClock(time, context);
}
