import type { Pool } from "../postgres/pool.ts";
import { transaction } from "../postgres/transaction.ts";

/** The last thing that a purge of simulated data deletes are the tallies of its sources. */
const PURGED = `NOT EXISTS (SELECT FROM purge_orders)
  AND NOT EXISTS (SELECT FROM tallies AS t JOIN sources AS s ON s.id = t.source WHERE s.simulated)`;

/** Forgets the gaps of simulated sources and the results that counted them, once the ledger has purged their events. */
export async function forgetPurged(pool: Pool): Promise<void> {
  const found = await pool.query(
    `SELECT FROM (SELECT WHERE EXISTS (SELECT FROM reconciliations WHERE simulated)
       OR EXISTS (SELECT FROM gaps AS g JOIN sources AS s ON s.id = g.source WHERE s.simulated)) AS left_over WHERE ${PURGED}`,
  );
  if (found.rows.length === 0) return;
  await transaction(pool, async (tx) => {
    await tx.query("DELETE FROM gaps WHERE source IN (SELECT id FROM sources WHERE simulated)");
    await tx.query(
      `DELETE FROM reconciliation_changes AS c USING reconciliations AS r
       WHERE r.simulated AND c.day = r.day AND c.account = r.account`,
    );
    await tx.query("DELETE FROM reconciliations WHERE simulated");
  });
}
