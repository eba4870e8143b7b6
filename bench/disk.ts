import type { Recorder } from "./recorder.ts";
import type { BenchServer } from "./server.ts";

/** What is smaller says nothing about growth. */
const LISTED_BYTES_MIN = 1e6;

interface Size {
  name: string;
  bytes: number;
}

/**
 * What the ledger takes on disk: every table with its indexes and TOAST, partitions counted as their table. The server cleans up
 * first, as its autovacuum would; nothing is rewritten.
 */
export async function recordDisk(
  server: BenchServer,
  recorder: Recorder,
  options: { database: string; subject: string; inCase: string; events: number },
): Promise<void> {
  const { database, subject, inCase, events } = options;
  await server.ask(database, "VACUUM (ANALYZE)");
  const sizes = await server.ask<Size>(
    database,
    `WITH parts AS (
       SELECT coalesce(parent.inhparent::regclass::text, c.oid::regclass::text) AS "table", c.oid
       FROM pg_class AS c LEFT JOIN pg_inherits AS parent ON parent.inhrelid = c.oid
       WHERE c.relkind = 'r' AND c.relnamespace NOT IN ('pg_catalog'::regnamespace, 'information_schema'::regnamespace)
     ), pieces AS (
       SELECT "table" AS name, pg_table_size(oid) AS bytes FROM parts
       UNION ALL
       SELECT CASE WHEN "table" = parts.oid::regclass::text THEN i.indexrelid::regclass::text ELSE "table" || ' index' END,
         pg_relation_size(i.indexrelid)
       FROM parts JOIN pg_index AS i ON i.indrelid = parts.oid
     )
     SELECT name, sum(bytes)::float8 AS bytes FROM pieces GROUP BY name ORDER BY 2 DESC`,
  );
  const perEvent = (bytes: number): number => bytes / events;
  const total = sizes.reduce((sum, { bytes }) => sum + bytes, 0);
  recorder.add({ subject, case: inCase, metric: "disk", unit: "bytes/event" }, perEvent(total));
  for (const { name, bytes } of sizes) {
    if (bytes < LISTED_BYTES_MIN) continue;
    recorder.add({ subject, case: inCase, metric: `disk ${name}`, unit: "bytes/event" }, perEvent(bytes));
  }
}
