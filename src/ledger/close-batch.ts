import type { Connection } from "../postgres/pool.ts";
import { rateInsert, rateRows, type Rates } from "./rates.ts";
import { tallyInsert, tallyRows, type Tallies } from "./tally.ts";

export interface Closing {
  /** The receipts that are filed. */
  receipts: readonly number[];
  tallies: Tallies;
  rates: Rates;
  /** What the live page is told at the commit. */
  news: string;
}

/**
 * The last statement of the projecting transaction: the receipts leave the inbox, tallies and rates are added to, and the
 * page is told. One round trip where there were four.
 *
 * Invariant: tallies are locked before rates, here as everywhere, so that projectors that meet in these rows wait for each
 * other and never deadlock. PostgreSQL finishes what a WITH changes before another part has all of its rows, so the rates
 * begin by counting those of the tallies. Test: close-batch.pg.test.ts.
 */
export async function closeBatch(tx: Connection, { receipts, tallies, rates, news }: Closing): Promise<void> {
  await tx.query({
    name: "close batch",
    text: `WITH filed AS (DELETE FROM inbox WHERE receipt = ANY ($1)),
        tallied AS (${tallyInsert("$2")} RETURNING hour),
        rated AS (${rateInsert("$3", "(SELECT count(*) FROM tallied) > 0")})
      SELECT pg_notify('holdfast_filed', $4)`,
    values: [receipts, tallyRows(tallies), rateRows(rates), news],
  });
}
