import { ENRICH_FRESH_SECONDS, ENRICH_ORDER_TRIES_MAX, ENRICH_ORDERS_SINGLY_MAX } from "../limits.ts";
import type { Queryable } from "../postgres/pool.ts";
import type { Now } from "./queue.ts";

/** A message that a person wants to know about now. */
export interface Order {
  message: number;
  messageId: string;
}

/**
 * Clears the orders that need no call of their own, and gives the one to be answered next: the latest, since that is what
 * is on somebody's screen.
 *
 * - Nothing to ask (nameless, unknown, simulated) or just asked: dropped.
 * - More than can be answered one by one, or `singlyMax` 0 because no API may be asked: they become pending and due, so
 *   that the windows take them. An order for many failed messages is answered that way, 900 a call.
 */
export async function nextOrder(
  db: Queryable,
  options: { enrichSimulated: boolean; singlyMax?: number; now: Now },
): Promise<Order | undefined> {
  const { enrichSimulated, singlyMax = ENRICH_ORDERS_SINGLY_MAX, now } = options;
  const found = await db.query<Order>(
    `WITH ordered AS (
       SELECT o.message, m.message_id, e.state,
         m.message_id IS NOT NULL AND e.message IS NOT NULL AND (NOT s.simulated OR $2)
           AND NOT (e.state = 'enriched' AND e.asked_at > coalesce($1::timestamptz, now()) - make_interval(secs => $3)) AS askable,
         row_number() OVER (ORDER BY o.attempts, o.ordered_at DESC, o.message) AS place
       FROM enrichment_orders AS o
         LEFT JOIN messages AS m ON m.id = o.message
         LEFT JOIN sources AS s ON s.id = m.source
         LEFT JOIN enrichments AS e ON e.message = o.message
     ), folded AS (
       UPDATE enrichments AS e SET state = 'pending', attempts = 0, error = NULL, next_attempt_at = coalesce($1::timestamptz, now())
       FROM ordered AS o WHERE e.message = o.message AND e.state = 'failed' AND o.askable AND o.place > $4
     ), cleared AS (
       DELETE FROM enrichment_orders AS o USING ordered WHERE o.message = ordered.message AND (NOT ordered.askable OR ordered.place > $4)
     )
     SELECT message, message_id AS "messageId" FROM ordered WHERE askable AND place <= $4 ORDER BY place LIMIT 1`,
    [now ?? null, enrichSimulated, ENRICH_FRESH_SECONDS, singlyMax],
  );
  return found.rows[0];
}

/** The order is answered: the message was written, or is not known to the API, which the message then says. */
export async function closeOrder(db: Queryable, order: Order, error: string | undefined, now: Now): Promise<void> {
  await db.query(
    `WITH closed AS (DELETE FROM enrichment_orders WHERE message = $1)
     UPDATE enrichments SET asked_at = coalesce($3::timestamptz, now()), error = CASE state WHEN 'enriched' THEN error ELSE $2 END
     WHERE message = $1 AND $2::text IS NOT NULL`,
    [order.message, error ?? null, now ?? null],
  );
}

/** The call for an order had no answer: others go first, and after a few such calls the order is given up. */
export async function postponeOrder(db: Queryable, order: Order): Promise<void> {
  await db.query(
    `WITH given_up AS (DELETE FROM enrichment_orders WHERE message = $1 AND attempts + 1 >= $2)
     UPDATE enrichment_orders SET attempts = attempts + 1 WHERE message = $1 AND attempts + 1 < $2`,
    [order.message, ENRICH_ORDER_TRIES_MAX],
  );
}
