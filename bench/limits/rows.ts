import { once } from "node:events";
import { createWriteStream } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { startChild } from "../child.ts";
import type { Bench } from "../context.ts";
import type { RowsAnswer, RowsBatch, RowsOrder } from "./rows-process.ts";

/** About as many as the projector files in one transaction of 2 MiB. */
const BATCH_EVENTS = 3_500;
const DATABASE = "limit_rows";

/** Writes the rows of a finished projection down as JSON, in the order in which they lie in their tables. */
export async function exportRows(databaseUrl: string, file: string): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  const out = createWriteStream(file);
  try {
    await client.query("BEGIN");
    await client.query(
      `DECLARE rows CURSOR FOR SELECT message::float8 AS message, to_jsonb(e)::text AS row FROM events AS e ORDER BY ctid`,
    );
    // Messages are numbered as they are first met, so each batch brings those beyond the last one's highest.
    let upTo = 0;
    for (;;) {
      const { rows } = await client.query<{ message: number; row: string }>(`FETCH ${BATCH_EVENTS} FROM rows`);
      if (rows.length === 0) break;
      const highest = Math.max(upTo, ...rows.map(({ message }) => message));
      const [part] = (
        await client.query<{ messages: string | null; enrichments: string | null }>(
          `SELECT (SELECT jsonb_agg(m ORDER BY m.id)::text FROM messages AS m WHERE m.id > $1 AND m.id <= $2) AS messages,
           (SELECT jsonb_agg(n ORDER BY n.message)::text FROM enrichments AS n WHERE n.message > $1 AND n.message <= $2) AS enrichments`,
          [upTo, highest],
        )
      ).rows;
      upTo = highest;
      const batch: RowsBatch = {
        messages: part?.messages ?? "[]",
        enrichments: part?.enrichments ?? "[]",
        events: `[${rows.map(({ row }) => row).join(",")}]`,
        count: rows.length,
      };
      if (!out.write(`${JSON.stringify(batch)}\n`)) await once(out, "drain");
    }
    await client.query("COMMIT");
  } finally {
    await client.end();
    out.end();
    await once(out, "close");
  }
}

/** Limit (b). `template` is a migrated database without rows. @returns events a second. */
export async function rowsLimit(
  bench: Bench,
  file: string,
  template: string,
): Promise<{ perSecond: number; events: number }> {
  const databaseUrl = await bench.server.create(DATABASE, template);
  const child = await startChild<RowsOrder, RowsAnswer>(join(import.meta.dirname, "rows-process.ts"));
  try {
    await bench.server.checkpoint();
    const { seconds, events } = await child.ask({ file, databaseUrl });
    return { perSecond: events / seconds, events };
  } finally {
    await child.stop();
    await bench.server.drop(DATABASE);
  }
}
