import type { Command } from "commander";
import { loadConfig } from "../config.ts";
import { createLog } from "../log.ts";
import { openDatabase } from "../postgres/database.ts";

/** `holdfast migrate`: brings the schema up to date without starting the service. `start` does so by itself. */
export function addMigrateCommand(program: Command): void {
  program
    .command("migrate")
    .description("bring the database's schema up to date")
    .option("--json", "print the result as JSON")
    .action(async (flags: { json?: boolean }) => {
      const config = loadConfig();
      const database = await openDatabase({
        databaseUrl: config.DATABASE_URL,
        dataDir: config.HOLDFAST_DATA_DIR,
        log: createLog(config.HOLDFAST_LOG_LEVEL),
      });
      await database.stop();
      const { applied } = database;
      process.stdout.write(flags.json === true ? `${JSON.stringify({ applied })}\n` : `${describe(applied)}\n`);
    });
}

function describe(applied: readonly number[]): string {
  return applied.length === 0 ? "The schema was up to date." : `Applied: ${applied.join(", ")}.`;
}
