import { isEventId } from "../event-id.ts";
import type { Json } from "../ledger/json.ts";
import { readFiledRepairs, type FiledRepair } from "../ledger/read-repairs.ts";
import { AUDIT_DIFFERENCES_MAX, AUDIT_STATEMENT_MS_MAX } from "../limits.ts";
import type { Connection } from "../postgres/pool.ts";
import { isSameJson } from "./check-page.ts";
import type { Difference } from "./difference.ts";

interface RepairedRow {
  message: number;
  eventId: string;
  type: string;
  occurredAtMs: number;
  recipient: string | null;
  origin: string;
  receipt: number | null;
  nameless: boolean;
  detail: Json;
}

/**
 * Holds the repairs of these messages (beyond the first number, up to the second; without it all that follow) against the
 * events that they filed. What a webhook's event took the place of is found with that one's receipt.
 */
export async function* checkRepairs(
  tx: Connection,
  after: number,
  upTo = Number.MAX_SAFE_INTEGER,
): AsyncGenerator<Difference> {
  for await (const repairs of readFiledRepairs(tx, { after, upTo })) {
    const rows = await readRows(tx, repairs);
    for (const repair of repairs) yield* checkRepair(repair, rows.get(keyOf(repair)));
  }
}

/** Events that say a webhook did not bring them, and that no repair accounts for. */
export async function findSurplusRepaired(tx: Connection): Promise<Difference[]> {
  const statement = {
    text: `SELECT e.message FROM events AS e
      WHERE e.receipt IS NULL AND e.origin <> 'webhook' AND NOT EXISTS (
        SELECT FROM repairs AS r
        WHERE r.message = e.message AND r.event_id = e.event_id AND r.outcome = 'filed' AND r.replaced_at IS NULL)
      LIMIT ${AUDIT_DIFFERENCES_MAX}`,
    query_timeout: AUDIT_STATEMENT_MS_MAX,
  };
  const { rows } = await tx.query<{ message: number }>(statement);
  return rows.map(({ message }) => ({ kind: "repair_surplus", message }));
}

function checkRepair({ gap, message, origin, event }: FiledRepair, row: RepairedRow | undefined): Difference[] {
  if (row === undefined) return [{ kind: "repair_missing", message, repair: gap }];
  const fields = (
    [
      ["type", row.type === event?.type],
      ["occurred_at", row.occurredAtMs === event?.occurredAtMs],
      ["recipient", row.recipient === event?.recipient],
      ["origin", row.origin === origin],
      ["receipt", row.receipt === null],
      ["nameless", !row.nameless],
      ["detail", isSameJson(row.detail, event?.detail)],
    ] as const
  ).flatMap(([field, isSame]) => (isSame ? [] : [field]));
  return fields.length === 0 ? [] : [{ kind: "event_changed", message, repair: gap, fields }];
}

async function readRows(tx: Connection, repairs: readonly FiledRepair[]): Promise<Map<string, RepairedRow>> {
  const { rows } = await tx.query<RepairedRow>(
    // As milliseconds with a fraction: a Date would drop microseconds, and hide that somebody changed them.
    `SELECT e.message, e.event_id AS "eventId", e.type, (extract(epoch FROM e.occurred_at) * 1000)::float8 AS "occurredAtMs",
       e.recipient, e.origin, e.receipt, e.nameless, e.detail
     FROM unnest($1::bigint[], $2::text[]) AS key (message, event_id)
     JOIN whole_events AS e ON e.message = key.message AND ${isEventId("e.event_id", "key.event_id")}`,
    [repairs.map(({ message }) => message), repairs.map(({ eventId }) => eventId)],
  );
  return new Map(rows.map((row) => [keyOf(row), row]));
}

function keyOf({ message, eventId }: { message: number; eventId: string }): string {
  return `${message} ${eventId}`;
}
