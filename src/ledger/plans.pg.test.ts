import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { testDatabase, type TestDatabase } from "../../test/database.ts";
import { receiptWriter, type ReceiptWriter } from "../../test/receipts.ts";
import { createLog } from "../log.ts";
import { createPool, type Pool } from "../postgres/pool.ts";
import { BY_INDEX } from "../postgres/transaction.ts";
import { createProjector } from "./projector.ts";
import { readHead, readMessage, type WholeMessage } from "./read-message.ts";
import { createRead } from "./read.ts";

const HELD = 20_000;
const BATCHES_WHILE_EMPTY = 12;

/**
 * A fresh ledger has no statistics for its first minute, and a plan that was prepared while it was empty reads whole tables:
 * in a campaign into an empty ledger each batch, and each look at a message, would cost more than the one before.
 */
describe("what is read", () => {
  let db: TestDatabase;
  let pool: Pool;
  let write: ReceiptWriter;

  beforeAll(async () => {
    db = await testDatabase();
    // One connection, whose prepared plans stay.
    pool = createPool({ databaseUrl: db.databaseUrl, log: createLog("silent"), connectionsMax: 1, name: "plans" });
    write = await receiptWriter(db.pool);
    for (const table of ["messages", "events", "enrichments"]) {
      await db.pool.query(`ALTER TABLE ${table} SET (autovacuum_enabled = false)`);
    }
  });
  afterAll(async () => {
    await pool.end();
    await db.drop();
  });

  const item = (message: string, event: string, n: number): Record<string, unknown> => ({
    email: "customer@example.com",
    timestamp: 1_764_511_327 + n,
    event,
    sg_event_id: `${message}-${event}-${n}`,
    sg_message_id: message,
  });

  /** Rows read by scans of whole tables so far, by table. */
  async function readWhole(): Promise<Record<string, number>> {
    await pool.query("SELECT pg_stat_force_next_flush()");
    const { rows } = await pool.query<{ table: string; read: number }>(
      `SELECT relname AS table, seq_tup_read AS read FROM pg_stat_user_tables
       WHERE relname IN ('messages', 'events', 'enrichments') OR relname LIKE 'receipts%' OR relname = 'inbox'`,
    );
    return Object.fromEntries(rows.map(({ table, read }) => [table, read]));
  }

  /** What `work` reads by scans of whole tables, where it is much. */
  async function muchReadWhole(work: () => Promise<unknown>): Promise<[table: string, rows: number][]> {
    const before = await readWhole();
    await work();
    const after = await readWhole();
    return Object.keys(after)
      .map((table): [string, number] => [table, (after[table] ?? 0) - (before[table] ?? 0)])
      .filter(([, count]) => count > HELD / 10);
  }

  test("of a batch and of a message is planned once, and is what belongs to them, however much is held and whatever statistics say", async () => {
    const projector = createProjector({ pool, log: createLog("silent"), settleSeconds: 90 });
    const read = createRead(pool);
    const look = async (id: string): Promise<WholeMessage | undefined> =>
      read(
        async (tx) => {
          const head = await readHead(tx, id);
          return head === undefined ? undefined : readMessage(tx, head);
        },
        undefined,
        BY_INDEX,
      );
    for (let batch = 0; batch < 2 * BATCHES_WHILE_EMPTY; batch += 1) {
      // From then on with statistics, which say that reading a whole table is the cheapest.
      if (batch === BATCHES_WHILE_EMPTY) await db.pool.query("ANALYZE");
      await write([item("early", "open", batch), item(`new-${batch}`, "processed", 0)]);
      await projector.tick();
      await look("early");
    }
    const planned = await pool.query<{ name: string }>(
      "SELECT name FROM pg_prepared_statements WHERE generic_plans > custom_plans ORDER BY name",
    );
    expect(planned.rows.map(({ name }) => name)).toEqual(
      expect.arrayContaining(["claim due", "find seen", "lock messages", "merge into messages"]),
    );
    await pool.query(
      `INSERT INTO messages (message_id, source, recipient) SELECT 'held-' || n, 1, n || '@example.com' FROM generate_series(1, ${HELD}) AS n`,
    );
    await pool.query(
      `INSERT INTO events (message, occurred_at, ordinal, origin, source, twin, nameless, event_id, type, detail)
       SELECT id, now(), 0, 'webhook', 1, false, false, 'e', 'processed', '{}' FROM messages WHERE message_id LIKE 'held-%'`,
    );
    await pool.query(
      `INSERT INTO receipts (id, received_at, source, sha256, body) SELECT 1000000 + n, now(), 1, '', '' FROM generate_series(1, ${HELD}) AS n`,
    );
    await write([item("held-7", "delivered", 1), item("held-7", "open", 2), item("late", "processed", 3)]);
    expect(await muchReadWhole(projector.tick)).toEqual([]);
    let seen: WholeMessage | undefined;
    const lookOnce = async (): Promise<unknown> => (seen = await look("held-7"));
    expect(await muchReadWhole(lookOnce)).toEqual([]);
    expect(seen?.events.map(({ type }) => type)).toEqual(["delivered", "open", "processed"]);
    const { rows } = await db.pool.query("SELECT opens, delivery FROM messages WHERE message_id = 'held-7'");
    expect(rows).toEqual([{ opens: 1, delivery: "delivered" }]);
  });
});
