/**
 * Writes sql/schema.sql, the schema that the migrations come to: `npm run schema`. With --check it writes nothing and
 * exits with 1 when the file is not what it would write. Uses a database of its own on the embedded PostgreSQL, or on
 * the server of TEST_DATABASE_URL.
 */
import { randomBytes } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { createLog } from "../src/log.ts";
import { startEmbeddedPostgres } from "../src/postgres/embedded.ts";
import { migrate } from "../src/postgres/migrate.ts";
import { createPool } from "../src/postgres/pool.ts";
import { dumpSchema } from "./schema-dump.ts";
import { firstDifference } from "./text.ts";

const FILE = join(import.meta.dirname, "../sql/schema.sql");
/** Warnings only, and none of the pool's: its last connection is cut off by design. */
const log = createLog("warn");
const poolLog = createLog("silent");

const dump = await withServer(async (serverUrl) => withDatabase(serverUrl, dumpMigrated));
if (process.argv.includes("--check")) {
  const written = await readFile(FILE, "utf8").catch(() => "");
  if (written !== dump) {
    console.error(
      `sql/schema.sql is not what the migrations come to: run \`npm run schema\`.\n${firstDifference(written, dump)}`,
    );
    process.exitCode = 1;
  }
} else {
  await writeFile(FILE, dump);
}

async function dumpMigrated(databaseUrl: string): Promise<string> {
  const pool = createPool({ databaseUrl, log: poolLog, connectionsMax: 1 });
  try {
    await migrate(pool);
    return await dumpSchema(pool);
  } finally {
    await pool.end();
  }
}

async function withServer<T>(work: (serverUrl: string) => Promise<T>): Promise<T> {
  const external = process.env["TEST_DATABASE_URL"];
  if (external !== undefined && external !== "") return work(external);
  const dataDir = await mkdtemp(join(tmpdir(), "holdfast-schema-"));
  try {
    const server = await startEmbeddedPostgres({ dataDir, log, durable: false });
    try {
      return await work(server.databaseUrl);
    } finally {
      await server.stop();
    }
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
}

async function withDatabase<T>(serverUrl: string, work: (databaseUrl: string) => Promise<T>): Promise<T> {
  const name = `holdfast_schema_${randomBytes(4).toString("hex")}`;
  const server = new pg.Client({ connectionString: serverUrl });
  await server.connect();
  try {
    await server.query(`CREATE DATABASE ${name} TEMPLATE template0`);
    try {
      const url = new URL(serverUrl);
      url.pathname = `/${name}`;
      return await work(url.href);
    } finally {
      await server.query(`DROP DATABASE ${name} WITH (FORCE)`);
    }
  } finally {
    await server.end();
  }
}
