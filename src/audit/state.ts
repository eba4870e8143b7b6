import { open, readFile, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { UsageError } from "../errors.ts";
import { tallyOf, type HourTally, type Tallies } from "../ledger/tally.ts";
import type { Queryable } from "../postgres/pool.ts";
import type { Differences } from "./difference.ts";

/** Which receipts are verified: whole hours of arrival, up to and not including `to`, and one source or all. */
export interface VerifyRange {
  from?: Date | undefined;
  to?: Date | undefined;
  source?: number | undefined;
}

export interface VerifyCounts {
  receipts: number;
  pending: number;
  /** Receipts without a signature, on the source that may take them. */
  unsigned: number;
  /** Items that can be read, and where they are. */
  stored: number;
  duplicate: number;
  /** Rows of quarantine that are accounted for. */
  quarantined: number;
  /** Of those, what could be read today: waiting for its replay. */
  readable: number;
  messages: number;
  /** Tallies compared: hours and sources. */
  tallies: number;
}

/** How far a verification is, and all it has found: enough to go on from here. */
export interface VerifyState {
  range: VerifyRange;
  phase: "receipts" | "messages" | "tallies";
  /** The number of the last receipt (message) looked at. */
  afterReceipt: number | undefined;
  afterMessage: number;
  /** The last receipt and the last message when the verification began; undefined before that. */
  last: { receipt: number; message: number } | undefined;
  counts: VerifyCounts;
  differences: Differences;
  /** The balance as counted again so far. */
  tallies: Tallies;
}

export function startState(range: VerifyRange): VerifyState {
  const counts: VerifyCounts = {
    receipts: 0,
    pending: 0,
    unsigned: 0,
    stored: 0,
    duplicate: 0,
    quarantined: 0,
    readable: 0,
    messages: 0,
    tallies: 0,
  };
  return {
    range,
    phase: "receipts",
    afterReceipt: undefined,
    afterMessage: Number.MIN_SAFE_INTEGER,
    last: undefined,
    counts,
    differences: { total: 0, listed: [] },
    tallies: new Map(),
  };
}

const VERSION = 1;

interface StateFile extends Omit<VerifyState, "range" | "tallies"> {
  version: number;
  database: string;
  range: { from?: string; to?: string; source?: number };
  tallies: (Omit<HourTally, "hour"> & { hour: string })[];
}

/** Tells one ledger from another: two databases were not made at the same microsecond. */
export async function ledgerIdentity(db: Queryable): Promise<string> {
  const made = await db.query<{ made: string }>(
    "SELECT current_database() || ' ' || min(applied_at)::text AS made FROM migrations",
  );
  return made.rows[0]?.made ?? "";
}

/** Writes the state so that the file is always whole: the old one, or the new one. Holds numbers only, nothing personal. */
export async function writeState(path: string, database: string, state: VerifyState): Promise<void> {
  const content: unknown = { version: VERSION, database, ...state, tallies: [...state.tallies.values()] };
  const temporary = `${path}.part`;
  const file = await open(temporary, "w", 0o600);
  try {
    await file.writeFile(JSON.stringify(content));
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(temporary, path);
  const folder = await open(dirname(path));
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/**
 * Reads a state that `writeState` wrote.
 *
 * @returns undefined when there is no such file.
 * @throws UsageError when it is none, or that of another ledger.
 */
export async function readState(path: string, database: string): Promise<VerifyState | undefined> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
  const file = parse(text);
  if (file?.version !== VERSION) throw new UsageError(`${path} is not the state of a verification by this version`);
  if (file.database !== database) throw new UsageError(`${path} is the state of a verification of another database`);
  const { phase, counts, differences, afterReceipt, afterMessage, last } = file;
  const { from, to, source } = file.range;
  const tallies: Tallies = new Map();
  for (const row of file.tallies) {
    const hour = new Date(row.hour);
    Object.assign(tallyOf(tallies, hour, row.source), row, { hour });
  }
  const range = {
    from: from === undefined ? undefined : new Date(from),
    to: to === undefined ? undefined : new Date(to),
  };
  return { range: { ...range, source }, phase, counts, differences, afterReceipt, afterMessage, last, tallies };
}

function parse(text: string): StateFile | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as StateFile) : undefined;
  } catch {
    return undefined;
  }
}

export async function removeState(path: string): Promise<void> {
  await rm(path, { force: true });
}
