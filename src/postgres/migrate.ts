import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { QueryConfig } from "pg";
import { MIGRATION_MS_MAX } from "../limits.ts";
import { lockTransaction } from "./advisory-lock.ts";
import type { Pool } from "./pool.ts";
import { transaction } from "./transaction.ts";

const SQL_FOLDER = join(import.meta.dirname, "../../sql");
const FILE_NAME = /^(\d{4})_[a-z_]+\.sql$/;

/**
 * Applies the files of `sql/` that this database has not seen, in the order of their numbers, each in a transaction of
 * its own. Several processes may start at once: one migrates, the others wait for it.
 *
 * @returns the numbers applied now.
 * @throws when the database was migrated by a newer Holdfast.
 */
export async function migrate(pool: Pool): Promise<number[]> {
  const files = (await readdir(SQL_FOLDER)).filter((file) => FILE_NAME.test(file)).sort();
  const applied: number[] = [];
  for (const file of files) {
    const number = Number(FILE_NAME.exec(file)?.[1]);
    const sql = await readFile(join(SQL_FOLDER, file), "utf8");
    const isNew = await transaction(pool, async (tx) => {
      await tx.query("SET LOCAL statement_timeout = 0");
      await lockTransaction(tx, "migrate");
      await tx.query(
        "CREATE TABLE IF NOT EXISTS migrations (number integer PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())",
      );
      const newest = await tx.query<{ number: number | null }>("SELECT max(number) AS number FROM migrations");
      const newestNumber = newest.rows[0]?.number ?? 0;
      if (newestNumber > files.length) {
        throw new Error(
          `the database has migration ${newestNumber}, this Holdfast knows ${files.length}: start the newer version`,
        );
      }
      if (newestNumber >= number) return false;
      const statement: QueryConfig & { query_timeout: number } = { text: sql, query_timeout: MIGRATION_MS_MAX };
      await tx.query(statement);
      await tx.query("INSERT INTO migrations (number) VALUES ($1)", [number]);
      return true;
    });
    if (isNew) applied.push(number);
  }
  return applied;
}
