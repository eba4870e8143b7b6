import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { testDatabase, type TestDatabase } from "../../test/database.ts";
import { ENRICH_CANDIDATES_MAX } from "../limits.ts";
import type { Connection, Queryable } from "../postgres/pool.ts";
import { claim, countSeconds, dropSimulated } from "./queue.ts";

let db: TestDatabase;

/** As after the first minute of much traffic: full tables, of which PostgreSQL knows nothing yet. */
beforeAll(async () => {
  db = await testDatabase();
  for (const table of ["messages", "enrichments"])
    await db.pool.query(`ALTER TABLE ${table} SET (autovacuum_enabled = false)`);
  await db.pool.query(
    `INSERT INTO messages (message_id, source, first_event_at, last_event_at)
     SELECT 'm' || n, 1, now() - make_interval(secs => n), now() FROM generate_series(1, $1::integer) AS n`,
    [ENRICH_CANDIDATES_MAX + 5_000],
  );
  await db.pool.query(
    "INSERT INTO enrichments (message, next_attempt_at) SELECT id, now() - interval '1 hour' FROM messages",
  );
});
afterAll(async () => db.drop());

interface PlanNode {
  "Node Type": string;
  "Relation Name"?: string;
  "Actual Loops": number;
  "Actual Rows": number;
  Plans?: PlanNode[];
}

/** A connection that notes how PostgreSQL carries out each query: the scans of tables, and the rows that all loops read. */
function explaining(tx: Connection): { db: Connection; scans: PlanNode[] } {
  const scans: PlanNode[] = [];
  const note = (node: PlanNode): void => {
    if (node["Relation Name"] !== undefined) scans.push(node);
    for (const child of node.Plans ?? []) note(child);
  };
  const query = async (text: string, values: unknown[]): Promise<unknown> => {
    await tx.query("SAVEPOINT explained");
    const { rows } = await tx.query<{ "QUERY PLAN": [{ Plan: PlanNode }] }>(
      `EXPLAIN (ANALYZE, TIMING off, FORMAT json) ${text}`,
      values,
    );
    // An UPDATE that is explained is carried out.
    await tx.query("ROLLBACK TO explained");
    for (const { "QUERY PLAN": plans } of rows) note(plans[0].Plan);
    return tx.query(text, values);
  };
  return { db: { query } as unknown as Connection, scans };
}

describe("without statistics of the tables", () => {
  const lease = new Date(Date.now() + 60_000);
  test.each<[string, (db: Queryable & Connection) => Promise<unknown>]>([
    ["counting what is due", async (tx) => countSeconds(tx, { api: "logs", turn: "first" }, undefined)],
    ["dropping what is simulated", async (tx) => dropSimulated(tx, "first", undefined)],
    [
      "claiming what was chosen",
      async (tx) => {
        const chosen = { fromSecond: 0, toSecond: Math.floor(Date.now() / 1000) + 1 } as Parameters<
          typeof claim
        >[1]["chosen"];
        return claim(tx, { api: "logs", turn: "first", chosen, lease }, undefined);
      },
    ],
  ])("%s reads the queue once, and each message by its key", async (_what, work) => {
    const tx = await db.pool.connect();
    try {
      await tx.query("BEGIN");
      const { db: explained, scans } = explaining(tx);
      await work(explained);
      const relation = (name: string): PlanNode[] => scans.filter((scan) => scan["Relation Name"] === name);
      expect(relation("messages").length).toBeGreaterThan(0);
      // The queue's own rows, once: what is claimed is found by its keys, in a statement of its own.
      for (const scan of relation("enrichments")) {
        expect(scan["Actual Loops"] * scan["Actual Rows"]).toBeLessThanOrEqual(ENRICH_CANDIDATES_MAX + 5_000);
      }
      for (const scan of relation("messages")) {
        expect(scan["Actual Loops"] === 1 || scan["Node Type"].startsWith("Index")).toBe(true);
      }
    } finally {
      await tx.query("ROLLBACK");
      tx.release();
    }
  });
});
