import type { QueryConfig } from "pg";
import { RECONCILE_STATEMENT_MS_MAX } from "../limits.ts";
import type { Pool } from "../postgres/pool.ts";
import { transaction } from "../postgres/transaction.ts";
import type { Bounds } from "./days.ts";
import { KIND_SQL, TYPES, type Kind } from "./kinds.ts";

/** What the ledger holds of a kind. */
export interface Held {
  /** Events, those filed from SendGrid's records among them, twins once. */
  held: number;
  /** Of those, filed from SendGrid's records. */
  repaired: number;
  /** Twins that SendGrid's records count as events of their own. */
  counted: number;
}

/** The messages of the test button in SendGrid's settings: invented ones, which it counts nowhere. */
const TEST_MESSAGES = "message_id LIKE '14c5d75ce93.dfd.64b469.filter0001.16648.5515E0B88.%'";

/**
 * Counts the events of a day. Two webhooks of one account carry the same events, which are one row; but an event that
 * names no message is one row for each of them, so those are counted by their ids.
 */
export async function readHeld(pool: Pool, sources: readonly number[], bounds: Bounds): Promise<Map<Kind, Held>> {
  const rows = await readPatiently<{ kind: Kind; held: number; repaired: number }>(
    pool,
    `SELECT ${KIND_SQL} AS kind,
       count(*) FILTER (WHERE NOT nameless) + count(DISTINCT event_id) FILTER (WHERE nameless) AS held,
       count(*) FILTER (WHERE origin <> 'webhook') AS repaired
     FROM events
     WHERE occurred_at >= $1 AND occurred_at < $2 AND source = ANY ($3) AND type = ANY ($4) AND NOT twin
       AND message <> ALL (ARRAY(SELECT id FROM messages WHERE ${TEST_MESSAGES}))
     GROUP BY 1`,
    [new Date(bounds.fromMs), new Date(bounds.toMs), sources, TYPES],
  );
  return new Map(rows.map(({ kind, held, repaired }) => [kind, { held, repaired, counted: 0 }]));
}

/** Runs a statement that looks at a whole day, which may have millions of events. */
export async function readPatiently<T extends object>(
  pool: Pool,
  text: string,
  values: readonly unknown[],
): Promise<T[]> {
  return transaction(pool, async (tx) => {
    await tx.query(`SET LOCAL statement_timeout = ${RECONCILE_STATEMENT_MS_MAX}`);
    const statement: QueryConfig & { query_timeout: number } = {
      text,
      values: [...values],
      query_timeout: RECONCILE_STATEMENT_MS_MAX,
    };
    const found = await tx.query<T>(statement);
    return found.rows;
  });
}
