import pg from "pg";
import type { Bench } from "../context.ts";
import { COPY_SECONDS } from "../load/sample.ts";

/**
 * Makes a ledger of millions of events out of one that holds the sample: whole copies in SQL, each with other ids, addresses and
 * custom args, later in time, and with rows of its own in every table and index. What the sample's traffic is like, the copies' is.
 * Columns are read from the catalogue, so a new one is copied as it is.
 */

/** Copies made in one statement. */
const COPIES_AT_ONCE = 10;

interface Column {
  name: string;
  type: string;
}

/** Adds copies `from` up to, not including, `to` of the events stored now, which are copy 0. */
export async function addCopies(bench: Bench, database: string, from: number, to: number): Promise<void> {
  const client = new pg.Client({ connectionString: bench.server.address(database) });
  await client.connect();
  try {
    const { rows } = await client.query<{ messages: number; receipts: number }>(
      `SELECT (SELECT max(id) FROM messages)::float8 AS messages, (SELECT max(id) FROM receipts)::float8 AS receipts`,
    );
    const [top] = rows;
    if (top === undefined) throw new Error("the ledger to be copied is empty");
    const stride = { messages: roundUp(top.messages), receipts: roundUp(top.receipts) };
    const tables = ["receipts", "messages", "enrichments", "events"];
    const texts: string[] = [];
    for (const table of tables) texts.push(await copyInSql(client, table, stride));
    for (let copy = from; copy < to; copy += COPIES_AT_ONCE) {
      const values = [copy, Math.min(to, copy + COPIES_AT_ONCE) - 1];
      for (const text of texts) await client.query(text, values);
      if (copy % 100 === 0) bench.say(`  ${database}: copy ${copy} of ${to}`);
    }
    await client.query("SELECT setval(pg_get_serial_sequence('messages', 'id'), (SELECT max(id) FROM messages))");
    await client.query("SELECT setval('receipt_ids', (SELECT max(id) + 1000 FROM receipts))");
    await client.query("VACUUM (ANALYZE)");
  } finally {
    await client.end();
  }
}

/** Strides are powers of ten: a row's number then still says which row of which copy it is. */
function roundUp(count: number): number {
  return 10 ** Math.ceil(Math.log10(count + 1));
}

/** One statement that adds copies $1 to $2 of the rows of copy 0. */
async function copyInSql(
  client: pg.Client,
  table: string,
  stride: { messages: number; receipts: number },
): Promise<string> {
  const columns = await client.query<Column>(
    `SELECT attname AS name, format_type(atttypid, NULL) AS type FROM pg_attribute
     WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = '' ORDER BY attnum`,
    [table],
  );
  const names = columns.rows.map(({ name }) => name).join(", ");
  const values = columns.rows.map((column) => copiedValue(table, column, stride)).join(", ");
  const first = table === "receipts" || table === "messages" ? "id" : "message";
  const size = table === "receipts" ? stride.receipts : stride.messages;
  return `INSERT INTO ${table} (${names}) OVERRIDING SYSTEM VALUE
    SELECT ${values} FROM generate_series($1::integer, $2::integer) AS copy,
      LATERAL (SELECT lpad(copy::text, 4, '0') AS mark) AS m, LATERAL (SELECT * FROM ${table} WHERE ${first} < ${size}) AS r
    ORDER BY copy, ${first}`;
}

function copiedValue(table: string, { name, type }: Column, stride: { messages: number; receipts: number }): string {
  const key = `${table}.${name}`;
  const special: Record<string, string> = {
    "messages.id": `r.id + copy::bigint * ${stride.messages}`,
    "enrichments.message": `r.message + copy::bigint * ${stride.messages}`,
    "events.message": `r.message + copy::bigint * ${stride.messages}`,
    "receipts.id": `r.id + copy::bigint * ${stride.receipts}`,
    "events.receipt": `r.receipt + copy::bigint * ${stride.receipts}`,
    // The month's partition takes them all: what counts is how many there are.
    "receipts.received_at": "r.received_at",
    "messages.message_id": "overlay(r.message_id placing m.mark from 1)",
    "events.event_id": "overlay(r.event_id placing m.mark from 1)",
    "messages.recipient": "replace(r.recipient, '.0000', '.' || m.mark)",
    "events.recipient": "replace(r.recipient, '.0000', '.' || m.mark)",
    "messages.args": `replace(replace(r.args::text, '"C-0000', '"C-' || m.mark), '"SO-0000', '"SO-' || m.mark)::jsonb`,
  };
  const chosen = special[key];
  if (chosen !== undefined) return chosen;
  if (type === "timestamp with time zone") return `r.${name} + make_interval(secs => copy * ${COPY_SECONDS})`;
  return `r.${name}`;
}
