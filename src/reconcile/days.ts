import type { Queryable } from "../postgres/pool.ts";

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
