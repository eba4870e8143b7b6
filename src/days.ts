/** Days of the calendar are texts, YYYY-MM-DD. */

/** Of a day in UTC. */
export const DAY_MS = 86_400_000;

/** The day so many days later, or with a negative number earlier. */
export function addDays(day: string, days: number): string {
  return new Date(Date.parse(`${day}T00:00:00Z`) + days * DAY_MS).toISOString().slice(0, 10);
}

/** Every day from one to the other, both included; none when the first is the later one. */
export function daysBetween(fromDay: string, toDay: string): string[] {
  const days: string[] = [];
  for (let day = fromDay; day <= toDay; day = addDays(day, 1)) days.push(day);
  return days;
}

/**
 * Whether a text is a day of the calendar. JavaScript rolls 30 February over into March: the day that was asked for must
 * come back out.
 */
export function isDay(text: string): boolean {
  return /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(`${text}T00:00:00Z`)) && addDays(text, 0) === text;
}

/** The day of a moment in a time zone, by its IANA name. */
export function dayIn(timeZone: string, at: Date): string {
  return new Intl.DateTimeFormat("sv-SE", { timeZone, year: "numeric", month: "2-digit", day: "2-digit" }).format(at);
}
