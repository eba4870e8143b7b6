import type { Queryable } from "../postgres/pool.ts";

/** What is counted per hour of arrival and source. Each figure is counted where it happens, none is derived from others. */
export interface Tally {
  receipts: number;
  /** Items found by the parser. */
  accepted: number;
  /** Rows that PostgreSQL says it inserted into events. */
  stored: number;
  /** Items whose event PostgreSQL already held, or that the batch held twice. */
  duplicate: number;
  twin: number;
  /** Rows that PostgreSQL says it inserted into quarantine. */
  quarantined: number;
  sanitised: number;
  /** Deadlock retries begun, transactions that one of them saved, and transactions that none of the five could save. */
  retries: number;
  rescued: number;
  exhausted: number;
}

const COLUMNS = [
  "receipts",
  "accepted",
  "stored",
  "duplicate",
  "twin",
  "quarantined",
  "sanitised",
  "retries",
  "rescued",
  "exhausted",
] as const satisfies readonly (keyof Tally)[];

/** The figures of the balance: all that can be counted again from the bytes and the rows. */
export const BALANCE_COLUMNS = ["receipts", "accepted", "stored", "duplicate", "twin", "quarantined"] as const;

export type HourTally = Tally & { hour: Date; source: number };

/** A set of tallies being counted, by hour and source. */
export type Tallies = Map<string, HourTally>;

export interface TallyRange {
  /** Hours: from, up to and not including to. */
  from?: Date | undefined;
  to?: Date | undefined;
  source?: number | undefined;
}

/** The tally of the hour in which a receipt of this source arrived; a new one of zeros if there is none yet. */
export function tallyOf(tallies: Tallies, receivedAt: Date, source: number): HourTally {
  const hour = new Date(receivedAt);
  hour.setUTCMinutes(0, 0, 0);
  const key = `${hour.toISOString()} ${source}`;
  const known = tallies.get(key);
  if (known !== undefined) return known;
  const zeros = Object.fromEntries(COLUMNS.map((column) => [column, 0])) as unknown as Tally;
  const tally = { ...zeros, hour, source };
  tallies.set(key, tally);
  return tally;
}

/**
 * Adds to the ledger's tallies. In the order of their keys, and as the last statement that takes locks, since every
 * projector of a source writes the same row.
 */
export async function addTallies(tx: Queryable, tallies: Tallies): Promise<void> {
  if (tallies.size === 0) return;
  await tx.query({ name: "add tallies", text: tallyInsert("$1"), values: [tallyRows(tallies)] });
}

/** SQL that adds to the tallies. `rows` is the parameter that has `tallyRows`. */
export function tallyInsert(rows: string): string {
  return `INSERT INTO tallies (hour, source, ${COLUMNS.join(", ")})
    SELECT hour, source, ${COLUMNS.join(", ")}
    FROM jsonb_to_recordset(${rows}::jsonb) AS row (hour timestamptz, source smallint, ${COLUMNS.map((column) => `${column} bigint`).join(", ")})
    ON CONFLICT (hour, source) DO UPDATE SET ${COLUMNS.map((column) => `${column} = tallies.${column} + excluded.${column}`).join(", ")}`;
}

/** JSON of tallies, in the order in which their rows are locked. */
export function tallyRows(tallies: Tallies): string {
  return JSON.stringify(
    [...tallies.values()].sort((a, b) => a.hour.getTime() - b.hour.getTime() || a.source - b.source),
  );
}

/** The ledger's tallies of these hours. */
export async function readTallies(tx: Queryable, range: TallyRange): Promise<Tallies> {
  const found = await tx.query<HourTally>(
    `SELECT hour, source, ${COLUMNS.join(", ")} FROM tallies
     WHERE ($1::timestamptz IS NULL OR hour >= $1) AND ($2::timestamptz IS NULL OR hour < $2)
       AND ($3::smallint IS NULL OR source = $3)`,
    [range.from ?? null, range.to ?? null, range.source ?? null],
  );
  const tallies: Tallies = new Map();
  for (const row of found.rows) Object.assign(tallyOf(tallies, row.hour, row.source), row);
  return tallies;
}
