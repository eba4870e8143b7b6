import type { Config } from "../config.ts";
import { createLog } from "../log.ts";
import { openDatabase } from "../postgres/database.ts";
import { runningEmbeddedDatabaseUrl } from "../postgres/embedded.ts";
import { createPool, type Pool } from "../postgres/pool.ts";

/** A command does one thing at a time; reconcile holds a lock and a table of its own beside it. */
const CONNECTIONS_MAX = 4;

/**
 * Runs `work` on the configured database: beside a running service where there is one, else with the embedded server
 * started for it.
 */
export async function withLedgerPool<T>(config: Config, name: string, work: (pool: Pool) => Promise<T>): Promise<T> {
  const log = createLog("error");
  const databaseUrl = config.DATABASE_URL ?? (await runningEmbeddedDatabaseUrl(config.HOLDFAST_DATA_DIR));
  if (databaseUrl === undefined) {
    const database = await openDatabase({ databaseUrl, dataDir: config.HOLDFAST_DATA_DIR, log });
    try {
      return await work(database.pool);
    } finally {
      await database.stop();
    }
  }
  const pool = createPool({ databaseUrl, log, connectionsMax: CONNECTIONS_MAX, name });
  try {
    return await work(pool);
  } finally {
    await pool.end();
  }
}
