import { afterAll, beforeAll, expect, test } from "vitest";
import { testDatabase, type TestDatabase } from "../test/database.ts";
import { isEventId, isEventIdOf } from "./event-id.ts";

let db: TestDatabase;

beforeAll(async () => {
  db = await testDatabase();
  await db.pool.query(
    `INSERT INTO events (message, occurred_at, ordinal, origin, source, twin, nameless, event_id, type, detail)
     SELECT 1, now(), 0, 'webhook', 1, false, true, 'e' || n, 'bounce', '{}' FROM generate_series(1, 30000) AS n`,
  );
  await db.pool.query("VACUUM (ANALYZE) events");
});
afterAll(async () => db.drop());

test.each([
  ["one", `message = 1 AND ${isEventId("event_id", "'e77'")}`, 1],
  ["several", `message = 1 AND ${isEventIdOf("event_id", "ARRAY['e1', 'e30000', 'absent']")}`, 2],
])(
  "%s of the thousands of events of one message is found without a look at the others",
  async (_name, condition, found) => {
    const { rows } = await db.pool.query<{ "QUERY PLAN": [{ Plan: Plan }] }>(
      `EXPLAIN (ANALYZE, FORMAT JSON) SELECT FROM events WHERE ${condition}`,
    );
    const plan = rows[0]?.["QUERY PLAN"][0].Plan;
    expect(plan?.["Actual Rows"]).toBe(found);
    expect(plan?.["Rows Removed by Filter"] ?? 0).toBe(0);
    expect(JSON.stringify(plan)).toContain("events_identity");
  },
);

interface Plan {
  "Actual Rows": number;
  "Rows Removed by Filter"?: number;
}
