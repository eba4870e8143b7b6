import type { Pool } from "../postgres/pool.ts";
import { transaction } from "../postgres/transaction.ts";
import { figuresOf, reasonsFor } from "./changes.ts";
import type { Kind } from "./kinds.ts";
import type { DayResult } from "./report.ts";
import type { Totals } from "./totals.ts";

const COLUMNS = "day::text AS day, account, state, final, missing, repaired, open, kinds, checked";

/** The latest result of a day and account. */
export async function readResult(pool: Pool, day: string, account: string): Promise<DayResult | undefined> {
  const found = await pool.query<DayResult>(`SELECT ${COLUMNS} FROM reconciliations WHERE day = $1 AND account = $2`, [
    day,
    account,
  ]);
  return found.rows[0];
}

/** SendGrid's totals as a result has them; undefined where it has none. */
export function totalsOfResult({ kinds }: DayResult): Totals | undefined {
  const totals = new Map<Kind, number | null>(kinds.map(({ kind, sendgrid }) => [kind, sendgrid]));
  return [...totals.values()].every((total) => total === null) ? undefined : totals;
}

/**
 * Writes down a day's result in the place of the one before. Where the figures are others, what they were stays, and why
 * they changed.
 */
export async function saveResult(
  pool: Pool,
  result: DayResult,
  { run, timeZone, now, simulated }: { run: number; timeZone: string; now: Date; simulated: boolean },
): Promise<void> {
  const { day, account, state, final, missing, repaired, open, kinds, checked } = result;
  await transaction(pool, async (tx) => {
    const found = await tx.query<DayResult & { timeZone: string }>(
      `SELECT ${COLUMNS}, time_zone AS "timeZone" FROM reconciliations WHERE day = $1 AND account = $2 FOR UPDATE`,
      [day, account],
    );
    const [before] = found.rows;
    const values = [
      day,
      account,
      run,
      state,
      final,
      missing,
      repaired,
      open,
      JSON.stringify(kinds),
      timeZone,
      now,
      simulated,
      checked,
    ];
    await tx.query(
      `INSERT INTO reconciliations (day, account, run, state, final, missing, repaired, open, kinds, time_zone, checked_at, simulated, checked)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
       ON CONFLICT (day, account) DO UPDATE SET run = excluded.run, state = excluded.state, final = excluded.final,
         missing = excluded.missing, repaired = excluded.repaired, open = excluded.open, kinds = excluded.kinds,
         time_zone = excluded.time_zone, checked_at = excluded.checked_at, simulated = excluded.simulated, checked = excluded.checked`,
      values,
    );
    if (before === undefined) return;
    const reasons = reasonsFor(before, result);
    if (before.timeZone !== timeZone)
      reasons.unshift({ code: "time_zone_moved", before: before.timeZone, after: timeZone });
    if (reasons.length === 0) return;
    await tx.query(
      `INSERT INTO reconciliation_changes (day, account, run, before, after, reasons, changed_at) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
      [day, account, run, figuresOf(before), figuresOf(result), JSON.stringify(reasons), now],
    );
  });
}
