/**
 * Limit (b): one backend inserting the rows of a finished projection into the same tables, from JSON that is ready, one statement
 * and one commit for each batch: no parsing, no looking for duplicates, no merging, no second round trip.
 */
import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import pg from "pg";
import { serveOrders } from "../child.ts";

export interface RowsOrder {
  /** One batch for each line: `{"messages":"[…]","enrichments":"[…]","events":"[…]","count":n}`. */
  file: string;
  /** A migrated database without any rows. */
  databaseUrl: string;
}

export interface RowsAnswer {
  seconds: number;
  events: number;
}

export interface RowsBatch {
  messages: string;
  enrichments: string;
  events: string;
  count: number;
}

const INSERT = `WITH m AS (
    INSERT INTO messages OVERRIDING SYSTEM VALUE SELECT * FROM jsonb_populate_recordset(NULL::messages, $1::jsonb)
  ), q AS (
    INSERT INTO enrichments SELECT * FROM jsonb_populate_recordset(NULL::enrichments, $2::jsonb)
  )
  INSERT INTO events SELECT * FROM jsonb_populate_recordset(NULL::events, $3::jsonb)`;

serveOrders(async ({ file, databaseUrl }: RowsOrder): Promise<RowsAnswer> => {
  const batches: RowsBatch[] = [];
  // Line by line: the whole would be longer than a string can be.
  for await (const line of createInterface(createReadStream(file))) batches.push(JSON.parse(line) as RowsBatch);
  const client = new pg.Client({ connectionString: databaseUrl, options: "-c synchronous_commit=on -c jit=off" });
  await client.connect();
  try {
    const startMs = performance.now();
    let events = 0;
    for (const batch of batches) {
      const values = [batch.messages, batch.enrichments, batch.events];
      await client.query({ name: "insert rows", text: INSERT, values });
      events += batch.count;
    }
    return { seconds: (performance.now() - startMs) / 1000, events };
  } finally {
    await client.end();
  }
});
