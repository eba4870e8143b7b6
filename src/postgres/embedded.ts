import { readFile, realpath } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import pg from "pg";
import { CONNECT_MS_MAX } from "../limits.ts";
import type { Log } from "../log.ts";
import { lockDataDir } from "./data-dir-lock.ts";
import { dataDirPaths, NAME, prepareCluster, socketUrl, type Cluster, type Places } from "./embedded-cluster.ts";
import { isServerProcess, readPidFile } from "./embedded-process.ts";
import { supervise } from "./embedded-supervisor.ts";

export interface EmbeddedOptions {
  /** Holds the cluster and everything that belongs to it; made when it is not there. */
  dataDir: string;
  log: Log;
  /**
   * False skips fsync. Only for tests: a crash of the machine would lose their data, which nobody wants back, while a crash of the server
   * alone loses nothing, since the kernel still has what was written. A test run is several times faster with it.
   */
  durable?: boolean;
  /** Only tests say so. */
  places?: Partial<Places>;
}

export interface EmbeddedPostgres {
  /** Stays the same for as long as this object lives, also when the server was started again in between. */
  databaseUrl: string;
  /** Stops the server and gives the data directory free. Takes at most POSTGRES_STOP_MS_MAX + POSTGRES_QUIT_MS_MAX and a moment. */
  stop(): Promise<void>;
}

/**
 * Starts the PostgreSQL of the npm package on a data directory, which it locks, and keeps it running: a server that dies is
 * started again, with growing waits, until `stop`.
 *
 * Only a Unix socket in a folder of mode 0700 leads in, with a random password (scram): no TCP port is opened. The server
 * has a session of its own, so a Ctrl-C in the terminal reaches the service alone, which drains first and then stops the server.
 *
 * @throws UsageError when another process holds the data directory, or the server cannot be run here; Error with the end of
 * the server's log when it does not start.
 */
export async function startEmbeddedPostgres(options: EmbeddedOptions): Promise<EmbeddedPostgres> {
  const { log, durable = true, places } = options;
  const dataDir = resolve(options.dataDir);
  const locks = [await lockDataDir(dataDir)];
  const release = async (): Promise<void> => {
    for (const lock of locks) await lock.release();
  };
  try {
    const cluster = await prepareCluster({ dataDir, log, durable, places });
    // Where `postgres` is a link, a copy of the data directory leads to the same cluster under another lock.
    if (dirname(cluster.folder) !== (await realpath(dataDir))) locks.push(await lockDataDir(cluster.folder));
    const server = await supervise(cluster, durable, log);
    try {
      await ensureDatabase(cluster);
    } catch (error) {
      await server.stop();
      throw error;
    }
    return {
      databaseUrl: cluster.databaseUrl,
      async stop() {
        await server.stop();
        await release();
      },
    };
  } catch (error) {
    await release();
    throw error;
  }
}

/** The address of the server that another process runs on this data directory; undefined when none does. */
export async function runningEmbeddedDatabaseUrl(dataDir: string): Promise<string | undefined> {
  const paths = dataDirPaths(dataDir);
  try {
    const cluster = await realpath(paths.cluster);
    const server = await readPidFile(cluster);
    if (server === undefined || !server.ready || !(await isServerProcess(server.pid, cluster))) return undefined;
    return socketUrl(server.socketFolder, (await readFile(paths.passwordFile, "utf8")).trim());
  } catch {
    return undefined;
  }
}

async function ensureDatabase(cluster: Cluster): Promise<void> {
  const client = new pg.Client({ connectionString: cluster.maintenanceUrl, connectionTimeoutMillis: CONNECT_MS_MAX });
  // A server that dies meanwhile makes the query fail, which is enough to hear of it.
  client.on("error", () => undefined);
  try {
    await client.connect();
    const { rowCount } = await client.query("SELECT FROM pg_database WHERE datname = $1", [NAME]);
    if (rowCount !== 0) return;
    // The detail of an error can quote a row, and with it an address. Only sessions are terse: what the server says of its own
    // start (a wrong version, a full disk) is worth its detail.
    await client.query(`ALTER ROLE ${NAME} SET log_error_verbosity = 'terse'`);
    await client.query(`CREATE DATABASE ${NAME}`);
  } finally {
    await client.end();
  }
}
