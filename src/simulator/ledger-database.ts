import { eventRecipient } from "../event-recipient.ts";
import { withMessageIds } from "../message-id.ts";
import type { Queryable } from "../postgres/pool.ts";
import type { LedgerReader, LedgerRow } from "./compare.ts";

interface Row {
  message_id: string | null;
  event_id: string;
  type: string;
  at_seconds: number;
  recipient: string | null;
}

/** Looks into a ledger through its database. `source` is the one posted to: each source has a nameless message of its own. */
export function databaseLedger(
  db: Queryable,
  source: string,
  close: () => Promise<void> = async () => undefined,
): LedgerReader {
  return {
    async pending() {
      const result = await db.query<{ count: number }>("SELECT count(*) AS count FROM inbox");
      return result.rows[0]?.count ?? 0;
    },
    async eventsOf(messageIds) {
      const result = await db.query<Row>(
        `SELECT m.message_id, e.event_id, e.type, floor(extract(epoch FROM e.occurred_at))::bigint AS at_seconds,
           ${eventRecipient("e")} AS recipient
         ${withMessageIds("$1", "id, message_id")} JOIN events e ON e.message = m.id`,
        [messageIds],
      );
      return result.rows.map(toLedgerRow);
    },
    async namelessEventsTo(recipients) {
      const result = await db.query<Row>(
        `SELECT NULL AS message_id, e.event_id, e.type, floor(extract(epoch FROM e.occurred_at))::bigint AS at_seconds, e.recipient
         FROM events e JOIN messages m ON m.id = e.message JOIN sources s ON s.id = m.source
         WHERE e.nameless AND m.message_id IS NULL AND s.name = $2
           AND lower(e.recipient) COLLATE "C" = ANY (SELECT lower(address) COLLATE "C" FROM unnest($1::text[]) AS address)`,
        [recipients, source],
      );
      return result.rows.map(toLedgerRow);
    },
    async quarantinedIn(receipts) {
      const result = await db.query<{ count: number }>(
        "SELECT count(*) AS count FROM quarantine WHERE receipt = ANY ($1::bigint[])",
        [receipts],
      );
      return result.rows[0]?.count ?? 0;
    },
    close,
  };
}

function toLedgerRow(row: Row): LedgerRow {
  return {
    messageId: row.message_id ?? undefined,
    eventId: row.event_id,
    type: row.type,
    atSeconds: row.at_seconds,
    recipient: row.recipient,
  };
}
