import { PROBABLE_LINK_DAYS } from "../limits.ts";
import { isMessageId, withMessageIds } from "../message-id.ts";
import type { Pool } from "../postgres/pool.ts";
import type { ApiMessage, ProviderApi } from "../sendgrid/api-types.ts";
import type { CountedAccount } from "./accounts.ts";

/** What of a list must be asked about, by message ids. */
export interface Disagreeing {
  /** The ledger does not know them, or lacks what the list says of them. */
  messages: string[];
  /** Lacking only a bounce that may be one of those that came without a message's id. */
  unlikely: string[];
}

interface Row {
  messageId: string;
  isKnown: boolean;
  processed: boolean;
  delivered: boolean;
  failed: boolean;
  deferred: boolean;
  bounced: boolean;
  blocked: boolean;
  opens: number;
  clicks: number;
  hasEvent: boolean;
  recipient: string | null;
}

/**
 * Holds a list against the ledger. Only what the ledger lacks counts: where it knows more than the list, nothing is
 * missing. `events`: the list shows only messages with one of these events of the webhook.
 */
export async function compareList(
  pool: Pool,
  { api, account, events }: { api: ProviderApi; account: CountedAccount; events: readonly string[] | undefined },
  list: readonly ApiMessage[],
): Promise<Disagreeing> {
  const rows = await readRows(pool, list, events);
  const byId = new Map(rows.map((row) => [row.messageId, row]));
  const result: Disagreeing = { messages: [], unlikely: [] };
  const bounced: Row[] = [];
  for (const listed of list) {
    const row = byId.get(listed.messageId);
    if (row === undefined || !row.isKnown || lacksCounts(listed, row) || (events !== undefined && !row.hasEvent)) {
      result.messages.push(listed.messageId);
    } else if (events === undefined && lacksStatus(api, listed.status, row)) {
      if (isBounce(listed.status)) bounced.push(row);
      else result.messages.push(listed.messageId);
    }
  }
  const elsewhere = await bouncedElsewhere(pool, account, bounced);
  for (const { messageId } of bounced) result[elsewhere.has(messageId) ? "unlikely" : "messages"].push(messageId);
  return result;
}

async function readRows(
  pool: Pool,
  list: readonly ApiMessage[],
  events: readonly string[] | undefined,
): Promise<Row[]> {
  const found = await pool.query<Row>(
    `SELECT listed.id AS "messageId", m.id IS NOT NULL AS "isKnown", m.processed_at IS NOT NULL AS processed,
       m.delivered_at IS NOT NULL AS delivered, m.failed_at IS NOT NULL AS failed, m.deferred_at IS NOT NULL AS deferred,
       coalesce(m.delivery = 'bounced', false) AS bounced, coalesce(m.delivery IN ('blocked', 'bounced'), false) AS blocked,
       coalesce(m.opens + m.machine_opens, 0) AS opens, coalesce(m.clicks, 0) AS clicks, m.recipient,
       EXISTS (SELECT FROM events AS e WHERE e.message = m.id AND e.type = ANY ($2)) AS "hasEvent"
     FROM unnest($1::text[]) AS listed (id) LEFT JOIN messages AS m ON ${isMessageId("m.message_id", "listed.id")}`,
    [list.map(({ messageId }) => messageId), events ?? []],
  );
  return found.rows;
}

/** Counts are told by the Messages API only. Less is no gap: the ledger may know of younger ones. */
function lacksCounts(listed: ApiMessage, row: Row): boolean {
  return (listed.opens ?? 0) > row.opens || (listed.clicks ?? 0) > row.clicks;
}

function lacksStatus(api: ProviderApi, status: string | undefined, row: Row): boolean {
  switch (status) {
    case "processed":
      return !row.processed;
    case "delivered":
      return !row.delivered;
    case "deferred":
      return !row.deferred;
    case "dropped":
    case "not_delivered":
      return !row.failed;
    case "bounced":
      return api === "logs" ? !row.bounced : !row.failed;
    case "blocked":
      return !row.blocked;
    default:
      // A word that nobody has documented says nothing.
      return false;
  }
}

function isBounce(status: string | undefined): boolean {
  return status === "bounced" || status === "blocked" || status === "not_delivered";
}

/** Those whose recipient has a bounce that names no message, and is no older than the message's own. */
async function bouncedElsewhere(
  pool: Pool,
  account: CountedAccount,
  rows: readonly Row[],
): Promise<ReadonlySet<string>> {
  if (rows.length === 0) return new Set();
  const found = await pool.query<{ messageId: string }>(
    `SELECT m.message_id AS "messageId" ${withMessageIds("$1", "message_id, recipient, first_event_at")}
     WHERE EXISTS (
       SELECT FROM events AS e WHERE e.nameless AND lower(e.recipient) = lower(m.recipient) AND e.source = ANY ($2)
         AND e.type = 'bounce' AND e.occurred_at >= m.first_event_at
         AND e.occurred_at < m.first_event_at + make_interval(days => ${PROBABLE_LINK_DAYS}))`,
    [rows.map(({ messageId }) => messageId), account.sources],
  );
  return new Set(found.rows.map(({ messageId }) => messageId));
}
