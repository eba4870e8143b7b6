import { RECONCILE_CSV_ROWS } from "../limits.ts";
import { isMessageId } from "../message-id.ts";
import type { Connection, Pool } from "../postgres/pool.ts";
import type { RecordedEvent } from "../sendgrid/record-types.ts";

/** A row of an export: an event of a message, or why it is none. */
export type ExportRow =
  | { kind: "event"; messageId: string; event: RecordedEvent }
  | { kind: "skipped"; line: number; reason: string };

/** The events of one message in an export. */
export interface ExportedMessage {
  messageId: string;
  events: RecordedEvent[];
}

export interface Export {
  events: number;
  skipped: number;
  /** Of the first row that was skipped. */
  reason: string | undefined;
  first: Date | undefined;
  last: Date | undefined;
  /** Messages of which the ledger holds fewer events of some type and second than the export, whole. */
  lacking(signal: AbortSignal | undefined): AsyncGenerator<ExportedMessage[]>;
}

interface LoadedRow {
  message_id: string;
  type: string;
  second: number;
  item: RecordedEvent["item"];
}

/**
 * Puts an export, whose rows stand in any order, into a table of one connection, and gives its messages to `use`. So
 * memory stays bounded, whatever the size of the file.
 */
export async function withExport<T>(
  pool: Pool,
  rows: AsyncIterable<ExportRow>,
  use: (loaded: Export) => Promise<T>,
): Promise<T> {
  const connection = await pool.connect();
  const ignore = (): void => undefined;
  connection.on("error", ignore);
  let isClean = false;
  try {
    await connection.query(
      'CREATE TEMPORARY TABLE export_rows (message_id text COLLATE "C", type text, second bigint, item jsonb)',
    );
    const loaded = await load(connection, rows);
    await connection.query("CREATE INDEX ON export_rows (message_id)");
    await connection.query("ANALYZE export_rows");
    const value = await use({ ...loaded, lacking: (signal) => lacking(connection, signal) });
    await connection.query("DROP TABLE export_rows");
    isClean = true;
    return value;
  } finally {
    connection.off("error", ignore);
    connection.release(!isClean);
  }
}

async function load(connection: Connection, rows: AsyncIterable<ExportRow>): Promise<Omit<Export, "lacking">> {
  const loaded = { events: 0, skipped: 0, reason: undefined as string | undefined };
  let batch: LoadedRow[] = [];
  async function flush(): Promise<void> {
    await connection.query(
      `INSERT INTO export_rows SELECT * FROM jsonb_to_recordset($1::jsonb) AS r (message_id text, type text, second bigint, item jsonb)`,
      [JSON.stringify(batch)],
    );
    batch = [];
  }
  for await (const row of rows) {
    if (row.kind === "skipped") {
      loaded.skipped += 1;
      loaded.reason ??= `line ${row.line}: ${row.reason}`;
      continue;
    }
    const { messageId, event } = row;
    loaded.events += 1;
    const second = Math.floor(event.occurredAtMs / 1000);
    batch.push({ message_id: messageId, type: event.type, second, item: event.item });
    if (batch.length >= RECONCILE_CSV_ROWS) await flush();
  }
  if (batch.length > 0) await flush();
  const times = await connection.query<{ first: Date | null; last: Date | null }>(
    "SELECT to_timestamp(min(second)) AS first, to_timestamp(max(second)) AS last FROM export_rows",
  );
  return { ...loaded, first: times.rows[0]?.first ?? undefined, last: times.rows[0]?.last ?? undefined };
}

async function* lacking(connection: Connection, signal: AbortSignal | undefined): AsyncGenerator<ExportedMessage[]> {
  for (let after = ""; ;) {
    signal?.throwIfAborted();
    const page = await connection.query<{ messageId: string }>(
      `SELECT DISTINCT message_id AS "messageId" FROM export_rows WHERE message_id > $1 ORDER BY 1 LIMIT ${RECONCILE_CSV_ROWS}`,
      [after],
    );
    const ids = page.rows.map(({ messageId }) => messageId);
    const last = ids.at(-1);
    if (last === undefined) return;
    yield await readLacking(connection, ids);
    after = last;
  }
}

async function readLacking(connection: Connection, ids: readonly string[]): Promise<ExportedMessage[]> {
  const found = await connection.query<{
    messageId: string;
    type: string;
    second: number;
    item: RecordedEvent["item"];
  }>(
    `WITH counted AS (
       SELECT message_id, type, second, count(*) AS count FROM export_rows WHERE message_id = ANY ($1) GROUP BY 1, 2, 3
     ), lacking AS (
       SELECT DISTINCT c.message_id FROM counted AS c LEFT JOIN messages AS m ON ${isMessageId("m.message_id", "c.message_id")}
       WHERE c.count > (SELECT count(*) FROM events AS e WHERE e.message = m.id AND e.type = c.type
         AND e.occurred_at >= to_timestamp(c.second) AND e.occurred_at < to_timestamp(c.second + 1))
     )
     SELECT r.message_id AS "messageId", r.type, r.second, r.item FROM export_rows AS r JOIN lacking AS l ON l.message_id = r.message_id
     ORDER BY r.message_id, r.second, r.type`,
    [ids],
  );
  const byMessage = Map.groupBy(found.rows, ({ messageId }) => messageId);
  return [...byMessage].map(([messageId, events]) => ({
    messageId,
    events: events.map(({ type, second, item }) => ({ type, occurredAtMs: second * 1000, eventId: undefined, item })),
  }));
}
