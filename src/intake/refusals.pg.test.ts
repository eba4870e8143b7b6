import { afterAll, beforeAll, expect, test } from "vitest";
import { testDatabase, type TestDatabase } from "../../test/database.ts";
import { createLog } from "../log.ts";
import { createRefusals } from "./refusals.ts";

let db: TestDatabase;

beforeAll(async () => {
  db = await testDatabase();
});
afterAll(async () => db.drop());

test("Refusals are written down per hour, source and code, and an outage while doing so loses none of them.", async () => {
  let now = new Date("2026-11-30T10:59:00Z");
  const refusals = createRefusals({ pool: db.pool, log: createLog("silent"), now: () => now });
  refusals.count("default", "signature_invalid");
  refusals.count("default", "signature_invalid");
  refusals.count("", "source_unknown");
  await refusals.tick();
  now = new Date("2026-11-30T10:59:30Z");
  refusals.count("default", "signature_invalid");

  await db.pool.query("ALTER TABLE refusals RENAME TO refusals_gone");
  await expect(refusals.tick()).rejects.toThrow("refusals");
  await db.pool.query("ALTER TABLE refusals_gone RENAME TO refusals");
  now = new Date("2026-11-30T11:00:00Z");
  refusals.count("default", "signature_invalid");
  await refusals.tick();
  await refusals.tick();

  const { rows } = await db.pool.query("SELECT * FROM refusals ORDER BY hour, source");
  const at = (time: string): Date => new Date(`2026-11-30T${time}Z`);
  expect(rows).toEqual([
    {
      hour: at("10:00:00"),
      source: "",
      code: "source_unknown",
      count: 1,
      first_at: at("10:59:00"),
      last_at: at("10:59:00"),
    },
    {
      hour: at("10:00:00"),
      source: "default",
      code: "signature_invalid",
      count: 3,
      first_at: at("10:59:00"),
      last_at: at("10:59:30"),
    },
    {
      hour: at("11:00:00"),
      source: "default",
      code: "signature_invalid",
      count: 1,
      first_at: at("11:00:00"),
      last_at: at("11:00:00"),
    },
  ]);
});
