import { UsageError } from "../errors.ts";
import type { Log } from "../log.ts";
import { lockDataDir } from "./data-dir-lock.ts";
import { startEmbeddedPostgres } from "./embedded.ts";
import { migrate } from "./migrate.ts";
import { createPool, type Pool } from "./pool.ts";

const SERVER_VERSION_MIN = 15;

export interface Database {
  pool: Pool;
  databaseUrl: string;
  /** Numbers of the migrations applied now. */
  applied: readonly number[];
  stop(): Promise<void>;
}

export interface DatabaseOptions {
  /** undefined: the embedded server on `dataDir`. */
  databaseUrl: string | undefined;
  dataDir: string;
  log: Log;
}

/**
 * Opens the configured database or starts the embedded one, and brings its schema up to date. Holds the data directory.
 *
 * @throws UsageError when another process holds the data directory, or the database cannot be reached or is too old.
 */
export async function openDatabase(options: DatabaseOptions): Promise<Database> {
  const { dataDir, log } = options;
  const server =
    options.databaseUrl === undefined
      ? await startEmbeddedPostgres({ dataDir, log })
      : await lockDataDir(dataDir).then((lock) => ({
          databaseUrl: options.databaseUrl ?? "",
          stop: () => lock.release(),
        }));
  const { databaseUrl } = server;
  const pool = createPool({ databaseUrl, log });
  const stop = async (): Promise<void> => {
    await pool.end();
    await server.stop();
  };
  try {
    await checkServer(pool);
    const applied = await migrate(pool);
    if (applied.length > 0) log.info({ migrations: applied }, "schema migrated");
    return { pool, databaseUrl, applied, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function checkServer(pool: Pool): Promise<void> {
  let version: string;
  try {
    const answer = await pool.query<{ server_version: string }>("SHOW server_version");
    version = answer.rows[0]?.server_version ?? "";
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new UsageError(`DATABASE_URL: the database cannot be reached (${reason})`, { cause: error });
  }
  if (Number(version.split(".")[0]) < SERVER_VERSION_MIN) {
    throw new UsageError(`DATABASE_URL: PostgreSQL ${SERVER_VERSION_MIN} or newer is needed, this is ${version}`);
  }
}
