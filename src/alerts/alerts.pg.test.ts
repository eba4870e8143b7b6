import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { testDatabase, type TestDatabase } from "../../test/database.ts";
import { createLog } from "../log.ts";
import { ADVISORY_LOCKS } from "../postgres/advisory-lock.ts";
import { NIGHTLY } from "../reconcile/schedule.ts";
import { createAlertWatch } from "./alerts.ts";

let db: TestDatabase;
const nobody = { order: async () => undefined, findFailing: async () => [] };

beforeAll(async () => {
  db = await testDatabase();
  await db.pool.query("INSERT INTO sources (name, simulated) VALUES ('default', false), ('simulation', true)");
});
afterAll(async () => db.drop());
beforeEach(async () => {
  await db.pool.query(
    "TRUNCATE alerts, alert_acknowledgements, inbox, quarantine, tallies, enrichments, provider_apis, refusals, instances, gaps, repairs, reconciliation_runs",
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
    `INSERT INTO quarantine (receipt, received_at, source, ordinal, reason, bytes) SELECT 1, now(), id, 0, 'no_type', '' FROM sources WHERE name = 'default'`,
    "DELETE FROM quarantine",
  ],
  [
    "balance_broken",
    "default",
    "INSERT INTO tallies (hour, source, accepted) SELECT date_trunc('hour', now()), id, 1 FROM sources WHERE name = 'default'",
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
  [
    "events_missing",
    "default",
    `INSERT INTO gaps (found_at, source, day, account, identity, kind, rule, confidence, state)
     SELECT now() - interval '61 minutes', id, current_date, '', 'a', 'delivered', 'logs', 'confirmed', 'ordered' FROM sources WHERE name = 'default'`,
    "DELETE FROM gaps",
  ],
  [
    "sends_unseen",
    "default",
    `INSERT INTO gaps (source, day, account, identity, kind, rule, confidence)
     SELECT id, current_date, '', random()::text, 'processed', 'register', 'suspected' FROM sources WHERE name = 'default'`,
    "UPDATE gaps SET state = 'arrived'",
  ],
  [
    "events_repaired",
    "default",
    `WITH gap AS (
       INSERT INTO gaps (source, day, account, identity, kind, rule, confidence, state)
       SELECT id, current_date, '', random()::text, 'delivered', 'logs', 'confirmed', 'repaired' FROM sources WHERE name = 'default' RETURNING id
     ) INSERT INTO repairs (gap, origin, outcome, item) SELECT id, 'logs', 'filed', '{}' FROM gap`,
    "UPDATE repairs SET replaced_at = now()",
  ],
  [
    "reconciliation_failing",
    "",
    `INSERT INTO reconciliation_runs (from_day, to_day, repair, name, state, finished_at)
     VALUES (current_date, current_date, false, 'n', 'failed', now())`,
    `INSERT INTO reconciliation_runs (from_day, to_day, repair, name, state, finished_at)
     VALUES (current_date, current_date, false, 'n', 'finished', now())`,
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

  test("about completeness leaves out what is simulated, young, suspected only, old news, or not filed", async () => {
    await db.pool.query(
      `INSERT INTO gaps (id, found_at, source, day, account, identity, kind, rule, confidence, state) OVERRIDING SYSTEM VALUE
       SELECT row.id, now() - row.age, s.id, current_date, '', row.id::text, 'open', 'logs', row.confidence, row.state
       FROM (VALUES (1001, interval '2 hours', 'simulation', 'confirmed', 'open'), (1002, interval '59 minutes', 'default', 'confirmed', 'open'),
         (1003, interval '2 hours', 'default', 'suspected', 'open'), (1004, interval '2 hours', 'default', 'confirmed', 'closed'))
         AS row (id, age, source, confidence, state) JOIN sources AS s ON s.name = row.source`,
    );
    await db.pool.query(
      `INSERT INTO repairs (gap, origin, outcome, item, repaired_at) VALUES (1001, 'logs', 'filed', '{}', now()),
       (1002, 'logs', 'held', '{}', now()), (1004, 'logs', 'filed', '{}', now() - interval '8 days')`,
    );
    await look();
    expect(await alerts()).toEqual([]);
  });

  test("tells when no night has been compared for three days, and not while one may be under way", async () => {
    const run = `INSERT INTO reconciliation_runs (from_day, to_day, repair, name, state, started_at, finished_at)
      VALUES (current_date, current_date, true, $3, $1, now() - $2::interval, CASE WHEN $1 = 'finished' THEN now() - $2::interval END)`;
    // What a person has ordered is not missed when it does not come again.
    await db.pool.query(run, ["finished", "10 days", "a person"]);
    await db.pool.query(run, ["finished", "71 hours", NIGHTLY]);
    await look();
    expect(await alerts()).toEqual([]);
    await db.pool.query("UPDATE reconciliation_runs SET started_at = started_at - interval '2 hours'");
    await look();
    expect(await alerts()).toMatchObject([{ kind: "reconciliation_failing", open: true }]);
    await db.pool.query(run, ["running", "1 minute", NIGHTLY]);
    await look();
    expect(await alerts()).toMatchObject([{ kind: "reconciliation_failing", open: false }]);
  });

  test("is looked for by one instance at a time", async () => {
    const other = await db.pool.connect();
    try {
      await other.query("BEGIN");
      await other.query("SELECT pg_advisory_xact_lock($1)", [ADVISORY_LOCKS.alerts]);
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
