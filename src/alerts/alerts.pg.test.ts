import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { testDatabase, type TestDatabase } from "../../test/database.ts";
import { createLog } from "../log.ts";
import { createAlertWatch } from "./alerts.ts";

let db: TestDatabase;
const nobody = { order: async () => undefined };

beforeAll(async () => {
  db = await testDatabase();
  await db.pool.query("INSERT INTO sources (name) VALUES ('default')");
});
afterAll(async () => db.drop());
beforeEach(async () => {
  await db.pool.query(
    "TRUNCATE alerts, alert_acknowledgements, inbox, quarantine, tallies, enrichments, provider_apis, refusals, instances",
  );
});

async function look(): Promise<void> {
  await createAlertWatch({ pool: db.pool, log: createLog("silent"), delivery: nobody }).tick();
}

async function alerts(): Promise<unknown[]> {
  const { rows } = await db.pool.query<object>(
    "SELECT kind, source, count, resolved_at IS NULL AS open FROM alerts ORDER BY id",
  );
  return rows;
}

const CAUSES = [
  [
    "inbox_old",
    "",
    "INSERT INTO inbox (receipt, received_at, bytes) VALUES (1, now() - interval '61 seconds', 1)",
    "DELETE FROM inbox",
  ],
  [
    "receipt_failing",
    "",
    "INSERT INTO inbox (receipt, received_at, bytes, attempts) VALUES (1, now(), 1, 1)",
    "DELETE FROM inbox",
  ],
  [
    "quarantine_open",
    "default",
    `INSERT INTO quarantine (receipt, received_at, source, ordinal, reason, bytes) SELECT 1, now(), id, 0, 'no_type', '' FROM sources`,
    "DELETE FROM quarantine",
  ],
  [
    "balance_broken",
    "default",
    "INSERT INTO tallies (hour, source, accepted) SELECT date_trunc('hour', now()), id, 1 FROM sources",
    "DELETE FROM tallies",
  ],
  [
    "enrichment_failing",
    "",
    "INSERT INTO enrichments (message, next_attempt_at, state, asked_at) VALUES (1, now(), 'failed', now())",
    "DELETE FROM enrichments",
  ],
  [
    "enrichment_forbidden",
    "",
    "INSERT INTO provider_apis (name, state) VALUES ('messages', 'forbidden')",
    "DELETE FROM provider_apis",
  ],
  [
    "signature_failing",
    "default",
    "INSERT INTO refusals VALUES (date_trunc('hour', now()), 'default', 'signature_invalid', 1, now(), now())",
    "DELETE FROM refusals",
  ],
  [
    "source_unknown",
    "",
    "INSERT INTO refusals VALUES (date_trunc('hour', now()), '', 'source_unknown', 1, now(), now())",
    "UPDATE refusals SET last_at = now() - interval '16 minutes', hour = hour - interval '1 hour'",
  ],
  [
    "spool_in_use",
    "",
    `INSERT INTO instances (id, host, pid, version, roles, spool_posts, spool_oldest_event_at) VALUES ('a', 'h', 1, '1', '{}', 1, now())`,
    "DELETE FROM instances",
  ],
  [
    "disk_low",
    "",
    `INSERT INTO instances (id, host, pid, version, roles, disk_low) VALUES ('a', 'h', 1, '1', '{}', true)`,
    "DELETE FROM instances",
  ],
  [
    "durability_unsafe",
    "",
    `INSERT INTO instances (id, host, pid, version, roles, unsafe) VALUES ('a', 'h', 1, '1', '{}', '{fsync=off}')`,
    "DELETE FROM instances",
  ],
] as const;

describe("an alert", () => {
  test.each(CAUSES)("of the kind %s opens once and resolves by itself", async (kind, source, cause, cure) => {
    await look();
    expect(await alerts()).toEqual([]);
    await db.pool.query(cause);
    await look();
    await look();
    expect(await alerts()).toEqual([{ kind, source, count: 1, open: true }]);
    await db.pool.query("INSERT INTO alert_acknowledgements (alert, name) SELECT id, 'someone' FROM alerts");
    await db.pool.query(cure);
    await look();
    expect(await alerts()).toEqual([{ kind, source, count: 1, open: false }]);
    expect((await db.pool.query("SELECT FROM alert_acknowledgements")).rowCount).toBe(0);
    await db.pool.query(cause);
    await look();
    expect(await alerts()).toMatchObject([{ open: false }, { kind, open: true }]);
  });

  test("is looked for by one instance at a time", async () => {
    const other = await db.pool.connect();
    try {
      await other.query("BEGIN");
      await other.query("SELECT pg_advisory_xact_lock(4711003)");
      await db.pool.query(CAUSES[1][2]);
      await look();
      expect(await alerts()).toEqual([]);
      await other.query("COMMIT");
    } finally {
      other.release();
    }
    await look();
    expect(await alerts()).toHaveLength(1);
  });
});
