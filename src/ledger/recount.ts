import type { Connection } from "../postgres/pool.ts";
import { accountForPage } from "./account.ts";
import { readReceiptPage } from "./receipt-page.ts";
import { addTallies, BALANCE_COLUMNS, readTallies, tallyOf, type HourTally, type Tallies } from "./tally.ts";

/** What an older parser sanitised cannot be told any more, so that figure alone proves nothing; it is set right along with others. */
const FIGURES = [...BALANCE_COLUMNS, "sanitised"] as const;
type Figures = Record<(typeof FIGURES)[number], number>;

/** A tally that is not what bytes and rows give. */
export interface TallyChange {
  hour: Date;
  source: number;
  /** Only the columns that differ. */
  recorded: Partial<Figures>;
  counted: Partial<Figures>;
}

const HOUR_MS = 3_600_000;

/** Which tally: an hour of arrival, and a source. */
export type TallyKey = Pick<HourTally, "hour" | "source">;

/**
 * Counts an hour of a source anew, from the bytes of its receipts and the rows that came from them, and compares with its
 * tally. All in the caller's transaction: only on one snapshot, or while the tally is locked, do the two belong together.
 *
 * @returns undefined when they agree.
 */
export async function recountTally(tx: Connection, { hour, source }: TallyKey): Promise<TallyChange | undefined> {
  const range = { from: hour, to: new Date(hour.getTime() + HOUR_MS), source };
  const counted: Tallies = new Map();
  let after: number | undefined;
  for (;;) {
    const page = await readReceiptPage(tx, range, after);
    if (page.receipts.length === 0) break;
    await accountForPage(tx, page, counted);
    after = page.upTo;
  }
  const recorded = await readTallies(tx, range);
  return compareTallies(tallyOf(recorded, hour, source), tallyOf(counted, hour, source));
}

/** @returns what differs; undefined when the figures of the balance agree. */
export function compareTallies(recorded: HourTally, counted: HourTally): TallyChange | undefined {
  if (BALANCE_COLUMNS.every((column) => recorded[column] === counted[column])) return undefined;
  const columns = FIGURES.filter((column) => recorded[column] !== counted[column]);
  const only = (tally: HourTally): Partial<Figures> =>
    Object.fromEntries(columns.map((column) => [column, tally[column]]));
  return { hour: recorded.hour, source: recorded.source, recorded: only(recorded), counted: only(counted) };
}

interface Access {
  read<T>(work: (tx: Connection) => Promise<T>): Promise<T>;
  write<T>(work: (tx: Connection) => Promise<T>): Promise<T>;
}

/**
 * Sets a tally to what bytes and rows give, by adding the difference: so it stays right while projectors add to the same
 * row. In a dry run everything is one transaction, without a snapshot; then the row is locked, and projectors that want
 * to count in this hour wait.
 *
 * @returns what was changed.
 */
export async function correctTally(
  access: Access,
  key: TallyKey,
  { isDryRun }: { isDryRun: boolean },
): Promise<TallyChange | undefined> {
  if (isDryRun) await access.write(async (tx) => lockTally(tx, key));
  const change = await access.read(async (tx) => recountTally(tx, key));
  if (change === undefined) return undefined;
  const differences: Tallies = new Map();
  const difference = tallyOf(differences, key.hour, key.source);
  for (const column of FIGURES) difference[column] = (change.counted[column] ?? 0) - (change.recorded[column] ?? 0);
  await access.write(async (tx) => addTallies(tx, differences));
  return change;
}

/** Makes the row if there is none, since what is not there cannot be locked. */
async function lockTally(tx: Connection, { hour, source }: TallyKey): Promise<void> {
  await tx.query("INSERT INTO tallies (hour, source) VALUES ($1, $2) ON CONFLICT DO NOTHING", [hour, source]);
  await tx.query("SELECT FROM tallies WHERE hour = $1 AND source = $2 FOR UPDATE", [hour, source]);
}
