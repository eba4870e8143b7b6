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
});
