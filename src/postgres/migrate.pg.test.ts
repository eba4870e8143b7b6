import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { testDatabase, type TestDatabase } from "../../test/database.ts";
import { migrate } from "./migrate.ts";

describe("migrate", () => {
  let db: TestDatabase;

  beforeEach(async () => {
    db = await testDatabase({ migrated: false });
  });

  afterEach(async () => {
    await db.drop();
  });

  it("applies every file once, in the order of their numbers", async () => {
    const applied = await migrate(db.pool);
    expect(applied.length).toBeGreaterThan(0);
    expect(applied).toEqual(applied.map((_, index) => index + 1));
    expect(await migrate(db.pool)).toEqual([]);
  });

  it("lets one of two that start at once migrate, while the other waits", async () => {
    const [one, other] = await Promise.all([migrate(db.pool), migrate(db.pool)]);
    const both = [...one, ...other].sort((a, b) => a - b);
    const { rows } = await db.pool.query<{ number: number }>("SELECT number FROM migrations ORDER BY number");
    expect(both).toEqual(rows.map((row) => row.number));
  });

  it("refuses a database that a newer Holdfast migrated", async () => {
    await migrate(db.pool);
    await db.pool.query("INSERT INTO migrations (number) VALUES (9999)");
    await expect(migrate(db.pool)).rejects.toThrow(/has migration 9999.*start the newer version/);
  });

  it("keeps the sentences that once said why a day's result changed", async () => {
    await migrate(db.pool);
    // As it was before.
    await db.pool.query("ALTER TABLE reconciliation_changes ALTER COLUMN reasons TYPE text[] USING '{}'");
    await db.pool.query(
      `INSERT INTO reconciliation_changes (day, account, run, before, after, reasons)
       VALUES ('2026-03-01', '', 1, '{}', '{}', '{"1 open event arrived late.","The day is final."}'), ('2026-03-02', '', 1, '{}', '{}', '{}')`,
    );
    await db.pool.query(await readFile(join(import.meta.dirname, "../../sql/0011_change_reasons.sql"), "utf8"));
    const { rows } = await db.pool.query("SELECT reasons FROM reconciliation_changes ORDER BY id");
    expect(rows).toEqual([
      {
        reasons: [
          { code: "sentence", text: "1 open event arrived late." },
          { code: "sentence", text: "The day is final." },
        ],
      },
      { reasons: [] },
    ]);
  });
});
