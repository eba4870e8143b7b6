import { realpath } from "node:fs/promises";
import { join } from "node:path";
import pg from "pg";
import type { Log } from "../src/log.ts";
import { readPidFile } from "../src/postgres/embedded-process.ts";
import { startEmbeddedPostgres, type EmbeddedPostgres } from "../src/postgres/embedded.ts";

/** The PostgreSQL of a run: the embedded one with its usual settings, fsync included. Holdfast, the limits and the Express peer use it. */
export interface BenchServer {
  version: string;
  /** Reads current: a restart changes it. */
  pid(): Promise<number>;
  /** Settings that explain figures. */
  settings: Record<string, string>;
  /** Makes a database, of its own or as a copy of another. @returns its address. */
  create(name: string, template?: string): Promise<string>;
  has(name: string): Promise<boolean>;
  address(name: string): string;
  drop(name: string): Promise<void>;
  /** Writes everything to disk, so that the next to be measured does not pay for the last. */
  checkpoint(): Promise<void>;
  /** Runs one statement on a database and gives its rows. */
  ask<T extends object>(database: string, sql: string, values?: unknown[]): Promise<T[]>;
  stop(): Promise<void>;
}

const SHOWN_SETTINGS = [
  "shared_buffers",
  "max_wal_size",
  "fsync",
  "synchronous_commit",
  "full_page_writes",
  "wal_compression",
];

/** `statements` loads pg_stat_statements, which costs a little: only when profiling. */
export async function startBenchServer(options: {
  dataDir: string;
  log: Log;
  statements: boolean;
}): Promise<BenchServer> {
  const { dataDir, log, statements } = options;
  let server = await startEmbeddedPostgres({ dataDir, log });
  if (await setLibraries(server.databaseUrl, statements ? "pg_stat_statements" : "")) {
    await server.stop();
    server = await startEmbeddedPostgres({ dataDir, log });
  }
  return build(server, await realpath(join(dataDir, "postgres")));
}

/** @returns whether the server has to start again. */
async function setLibraries(databaseUrl: string, wanted: string): Promise<boolean> {
  const [row] = await query<{ libraries: string }>(databaseUrl, "SHOW shared_preload_libraries");
  if (Object.values(row ?? {})[0] === wanted) return false;
  await query(databaseUrl, `ALTER SYSTEM SET shared_preload_libraries = ${pg.escapeLiteral(wanted)}`);
  return true;
}

async function build(server: EmbeddedPostgres, cluster: string): Promise<BenchServer> {
  const root = server.databaseUrl;
  const address = (name: string): string => {
    const url = new URL(root);
    url.pathname = `/${name}`;
    return url.href;
  };
  const drop = async (name: string): Promise<void> => {
    await query(root, `DROP DATABASE IF EXISTS ${pg.escapeIdentifier(name)} WITH (FORCE)`);
  };
  const settings = await query<{ name: string; value: string }>(
    root,
    "SELECT name, current_setting(name) AS value FROM pg_settings WHERE name = ANY ($1) ORDER BY name",
    [SHOWN_SETTINGS],
  );
  const [version] = await query<{ server_version: string }>(root, "SHOW server_version");
  return {
    version: version?.server_version ?? "",
    settings: Object.fromEntries(settings.map(({ name, value }) => [name, value])),
    async pid() {
      const file = await readPidFile(cluster);
      if (file === undefined) throw new Error("the benchmark's PostgreSQL does not run");
      return file.pid;
    },
    address,
    async create(name, template) {
      await drop(name);
      const from = template === undefined ? "" : ` TEMPLATE ${pg.escapeIdentifier(template)} STRATEGY FILE_COPY`;
      await query(root, `CREATE DATABASE ${pg.escapeIdentifier(name)}${from}`);
      return address(name);
    },
    async has(name) {
      return (await query(root, "SELECT FROM pg_database WHERE datname = $1", [name])).length > 0;
    },
    drop,
    async checkpoint() {
      await query(root, "CHECKPOINT");
    },
    ask: async <T extends object>(database: string, sql: string, values: unknown[] = []) =>
      query<T>(address(database), sql, values),
    stop: async () => server.stop(),
  };
}

/** One statement on a connection of its own: the harness must hold none while something is measured. */
export async function query<T extends object>(databaseUrl: string, sql: string, values: unknown[] = []): Promise<T[]> {
  const client = new pg.Client({ connectionString: databaseUrl, application_name: "bench" });
  client.on("error", () => undefined);
  await client.connect();
  try {
    return (await client.query<T>(sql, values)).rows;
  } finally {
    await client.end();
  }
}
