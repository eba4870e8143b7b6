import { UsageError } from "../errors.ts";
import type { Log } from "../log.ts";
import { lockDataDir } from "./data-dir-lock.ts";
import { startEmbeddedPostgres } from "./embedded.ts";
import { migrate } from "./migrate.ts";
import { createPool, type Pool } from "./pool.ts";
import { createSockets } from "./sockets.ts";

const SERVER_VERSION_MIN = 15;

export interface Database {
  pool: Pool;
  databaseUrl: string;
  /** Numbers of the migrations applied now. */
  applied: readonly number[];
  /** Ends every connection at once, with what is under way on it, and makes no new one. @returns how many there were. */
  cut(): number;
  stop(): Promise<void>;
}

export interface DatabaseOptions {
  /** undefined: the embedded server on `dataDir`. */
  databaseUrl: string | undefined;
  dataDir: string;
  log: Log;
  /**
   * Told that a database elsewhere does not answer, and why; when it resolves, that is asked again. Without it such a
   * database is an error.
   */
  onAway?: (reason: string) => Promise<void>;
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
  const sockets = createSockets();
  const pool = createPool({ databaseUrl, log, sockets });
  const stop = async (): Promise<void> => {
    await pool.end();
    await sockets.closed();
    await server.stop();
  };
  try {
    await checkServer(pool, options.databaseUrl === undefined ? undefined : options.onAway);
    const applied = await migrate(pool);
    if (applied.length > 0) log.info({ migrations: applied }, "schema migrated");
    return { pool, databaseUrl, applied, cut: sockets.cut, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function checkServer(pool: Pool, onAway: DatabaseOptions["onAway"]): Promise<void> {
  let version: string | undefined;
  while (version === undefined) {
    try {
      const answer = await pool.query<{ server_version: string }>("SHOW server_version");
      version = answer.rows[0]?.server_version ?? "";
    } catch (error) {
      const reason = reasonOf(error);
      if (onAway === undefined || !isAway(error)) {
        throw new UsageError(`DATABASE_URL: the database cannot be reached (${reason})`, { cause: error });
      }
      await onAway(reason);
    }
  }
  if (Number(version.split(".")[0]) < SERVER_VERSION_MIN) {
    throw new UsageError(`DATABASE_URL: PostgreSQL ${SERVER_VERSION_MIN} or newer is needed, this is ${version}`);
  }
}

/** An error of several addresses at once has no message of its own. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.message === "" && "code" in error ? String(error.code) : error.message;
}

/** Nobody listens there (also under no name yet, as in a composition that is just starting), or the way breaks. */
const NO_WAY = new Set(
  "ECONNREFUSED ECONNRESET ETIMEDOUT EHOSTUNREACH ENETUNREACH EHOSTDOWN EPIPE ENOENT ENOTFOUND EAI_AGAIN".split(" "),
);

/**
 * Whether the database may come by itself: there is no way to it now, or it says that it is starting, stopping, breaking
 * off or full (57P, 08, 53300). A wrong password or name stays wrong, and is told at once.
 */
function isAway(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = "code" in error ? String(error.code) : undefined;
  // What the driver finds out by itself has no code.
  if (code === undefined) return /^(connection terminated|timeout|query read timeout)/i.test(error.message);
  return NO_WAY.has(code) || /^(57P\w\w|08\w{3}|53300)$/.test(code);
}
