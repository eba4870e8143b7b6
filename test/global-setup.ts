import { randomBytes } from "node:crypto";
import { mkdtemp, readdir, realpath, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import type { TestProject } from "vitest/node";
import { createLog } from "../src/log.ts";
import { lockDataDir } from "../src/postgres/data-dir-lock.ts";
import { endServer } from "../src/postgres/embedded-process.ts";
import { startEmbeddedPostgres } from "../src/postgres/embedded.ts";
import { migrate } from "../src/postgres/migrate.ts";
import { createPool } from "../src/postgres/pool.ts";

declare module "vitest" {
  export interface ProvidedContext {
    /** A database of the test server from which the others are made; it holds nothing. */
    testServerUrl: string;
    /** Begins the name of every database of this run. Followed by `_template` it is the migrated template's. */
    testDatabasePrefix: string;
  }
}

const FOLDER_PREFIX = "holdfast-test-";
const ABANDONED_MS = 60 * 60_000;

/**
 * Once per run: starts a PostgreSQL on a temporary folder (or takes the one in TEST_DATABASE_URL, such as a PostgreSQL 15) and makes
 * the migrated template that `testDatabase()` copies.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await startServer();
  const prefix = `holdfast_test_${randomBytes(4).toString("hex")}`;
  try {
    await makeTemplate(server.url, `${prefix}_template`);
  } catch (error) {
    await server.stop();
    throw error;
  }
  project.provide("testServerUrl", server.url);
  project.provide("testDatabasePrefix", prefix);
  return async () => {
    const left = await dropAll(server.url, prefix);
    await server.stop();
    if (left.length > 0) throw new Error(`Test databases were not dropped by those who made them: ${left.join(", ")}`);
  };
}

async function startServer(): Promise<{ url: string; stop: () => Promise<void> }> {
  const external = process.env["TEST_DATABASE_URL"];
  if (external !== undefined && external !== "") return { url: external, stop: async () => undefined };
  await removeAbandoned();
  const dataDir = await mkdtemp(join(tmpdir(), FOLDER_PREFIX));
  const removeFolder = async (): Promise<void> => rm(dataDir, { recursive: true, force: true });
  try {
    const server = await startEmbeddedPostgres({ dataDir, log: createLog("warn"), durable: false });
    const stop = async (): Promise<void> => {
      await server.stop();
      await removeFolder();
    };
    return { url: server.databaseUrl, stop };
  } catch (error) {
    await removeFolder();
    throw error;
  }
}

/** What a run that was killed left behind: its server still runs and its folder is locked by nobody. */
async function removeAbandoned(): Promise<void> {
  for (const name of await readdir(tmpdir())) {
    const folder = join(tmpdir(), name);
    // A younger folder may belong to a run that is just about to lock it.
    if (!name.startsWith(FOLDER_PREFIX) || Date.now() - (await modifiedAt(folder)) < ABANDONED_MS) continue;
    const lock = await lockDataDir(folder).catch(() => undefined);
    if (lock === undefined) continue;
    await endServer(join(await realpath(folder), "postgres"));
    await lock.release();
    await rm(folder, { recursive: true, force: true });
  }
}

async function modifiedAt(path: string): Promise<number> {
  const stats = await stat(path).catch(() => undefined);
  return stats?.mtimeMs ?? Date.now();
}

async function makeTemplate(serverUrl: string, name: string): Promise<void> {
  await runStatement(serverUrl, `CREATE DATABASE ${name}`);
  const pool = createPool({ databaseUrl: withDatabase(serverUrl, name), log: createLog("warn"), connectionsMax: 1 });
  try {
    await migrate(pool);
  } finally {
    await pool.end();
  }
}

/** The databases of this run that are still there, the template apart; all of them are dropped. */
async function dropAll(serverUrl: string, prefix: string): Promise<string[]> {
  const client = new pg.Client({ connectionString: serverUrl });
  await client.connect();
  try {
    const { rows } = await client.query<{ datname: string }>(
      "SELECT datname FROM pg_database WHERE starts_with(datname, $1)",
      [prefix],
    );
    for (const { datname } of rows)
      await client.query(`DROP DATABASE IF EXISTS ${pg.escapeIdentifier(datname)} WITH (FORCE)`);
    return rows.map((row) => row.datname).filter((name) => name !== `${prefix}_template`);
  } finally {
    await client.end();
  }
}

async function runStatement(databaseUrl: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}

function withDatabase(serverUrl: string, name: string): string {
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return url.href;
}
