import type { Queryable } from "../postgres/pool.ts";

/** What the server's settings mean for promise P1. */
export interface DurabilityAudit {
  /** Settings under which a committed receipt can be lost: `name=value`. */
  unsafe: string[];
  /** Settings that lose nothing by themselves and weaken what stands around it. */
  weak: string[];
  /** The database's clock minus ours. Receipts are dated by ours, waits by the database's. */
  clockSkewMs: number;
}

/** With `off` a COMMIT returns before the log is on disk; `local` and the remote forms all wait for at least our own disk. */
const UNSAFE_VALUES: Readonly<Record<string, readonly string[]>> = { fsync: ["off"], synchronous_commit: ["off"] };
/** Torn pages after a power cut, and bit rot that nobody notices. */
const WEAK_VALUES: Readonly<Record<string, readonly string[]>> = { full_page_writes: ["off"], data_checksums: ["off"] };

/** Asks the server for the settings that durability rests on, as this session sees them. */
export async function auditDurability(db: Queryable, now: () => number = Date.now): Promise<DurabilityAudit> {
  const names = [...Object.keys(UNSAFE_VALUES), ...Object.keys(WEAK_VALUES)];
  const askedAtMs = now();
  const answer = await db.query<{ name: string; setting: string; at: Date }>(
    "SELECT name, setting, clock_timestamp() AS at FROM pg_settings WHERE name = ANY ($1) ORDER BY name",
    [names],
  );
  const answeredAtMs = now();
  const found = (values: Readonly<Record<string, readonly string[]>>): string[] =>
    answer.rows.flatMap(({ name, setting }) =>
      values[name]?.includes(setting) === true ? [`${name}=${setting}`] : [],
    );
  // The server looked at its clock at some moment between question and answer; the middle halves the error.
  const middleMs = (askedAtMs + answeredAtMs) / 2;
  const serverMs = answer.rows[0]?.at.getTime() ?? middleMs;
  return { unsafe: found(UNSAFE_VALUES), weak: found(WEAK_VALUES), clockSkewMs: Math.round(serverMs - middleMs) };
}
