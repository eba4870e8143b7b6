import type { Queryable } from "../postgres/pool.ts";

/** Days are texts, YYYY-MM-DD, of the account's time zone. */

const DAY_MS = 86_400_000;

export function addDays(day: string, days: number): string {
  return new Date(Date.parse(`${day}T00:00:00Z`) + days * DAY_MS).toISOString().slice(0, 10);
}

export function daysBetween(fromDay: string, toDay: string): string[] {
  const days: string[] = [];
  for (let day = fromDay; day <= toDay; day = addDays(day, 1)) days.push(day);
  return days;
}

/** Whether a text is a day of the calendar. */
export function isDay(text: string): boolean {
  return /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(`${text}T00:00:00Z`)) && addDays(text, 0) === text;
}

/** The day of a moment in a time zone. */
export function dayIn(timeZone: string, at: Date): string {
  return new Intl.DateTimeFormat("sv-SE", { timeZone, year: "numeric", month: "2-digit", day: "2-digit" }).format(at);
}

/** The hour of a moment in a time zone, 0 to 23. */
export function hourIn(timeZone: string, at: Date): number {
  return Number(new Intl.DateTimeFormat("en-GB", { timeZone, hour: "2-digit", hourCycle: "h23" }).format(at));
}

/** Milliseconds since 1970, the end not included. */
export interface Bounds {
  fromMs: number;
  toMs: number;
}

/** Where a day begins and ends: it has 23 or 25 hours when clocks are changed. PostgreSQL knows the zones. */
export async function dayBounds(db: Queryable, day: string, timeZone: string): Promise<Bounds> {
  const found = await db.query<{ from: Date; to: Date }>(
    `SELECT ($1::date)::timestamp AT TIME ZONE $2 AS "from", ($1::date + 1)::timestamp AT TIME ZONE $2 AS "to"`,
    [day, timeZone],
  );
  const [row] = found.rows;
  if (row === undefined) throw new Error("PostgreSQL did not say when a day begins");
  return { fromMs: row.from.getTime(), toMs: row.to.getTime() };
}
