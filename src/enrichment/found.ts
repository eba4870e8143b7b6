import { isMessageId } from "../message-id.ts";
import type { Queryable } from "../postgres/pool.ts";
import type { ApiMessage, ProviderApi } from "../sendgrid/api-types.ts";
import type { Now } from "./queue.ts";

/**
 * Writes what an API said, in one statement: to every message of the answer that this ledger still wants to know about,
 * planned for or not. `refresh` writes to those already known as well. What the answer does not hold stays as it was.
 *
 * @returns the ids (messages.id) of those written to.
 */
export async function writeFound(
  db: Queryable,
  api: ProviderApi,
  messages: readonly ApiMessage[],
  options: { refresh: boolean; now: Now },
): Promise<number[]> {
  const { refresh, now } = options;
  const written = await db.query<{ message: number }>(
    `WITH answered AS (
       SELECT DISTINCT ON ("messageId") * FROM jsonb_to_recordset($1::jsonb) AS row (
         "messageId" text, status text, subject text, sender text, template text, opens integer, clicks integer, "listedAt" timestamptz)
     ), wanted AS (
       SELECT e.message, a.* FROM answered AS a
         JOIN messages AS m ON ${isMessageId("m.message_id", 'a."messageId"')}
         JOIN enrichments AS e ON e.message = m.id
       WHERE e.state <> 'enriched' OR $3
       ORDER BY e.message FOR UPDATE OF e
     )
     UPDATE enrichments AS e SET state = 'enriched', api = $2, asked_at = coalesce($4::timestamptz, now()), error = NULL,
       status = coalesce(w.status, e.status), subject = coalesce(w.subject, e.subject), sender = coalesce(w.sender, e.sender),
       template = coalesce(w.template, e.template), opens = coalesce(w.opens, e.opens), clicks = coalesce(w.clicks, e.clicks),
       last_event_at = coalesce(CASE WHEN $2 = 'messages' THEN w."listedAt" END, e.last_event_at)
     FROM wanted AS w WHERE e.message = w.message
     RETURNING e.message`,
    [JSON.stringify(messages), api, refresh, now ?? null],
  );
  return written.rows.map(({ message }) => message);
}
