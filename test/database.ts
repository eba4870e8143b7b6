import { randomBytes } from "node:crypto";
import pg from "pg";
import { expect, inject } from "vitest";
import { createLog } from "../src/log.ts";
import { createPool, type Pool } from "../src/postgres/pool.ts";

/** A connection that was ended needs a moment until its server process is gone. */
const CLOSED_MS_MAX = 10_000;
const POOL_CONNECTIONS = 8;

export interface TestDatabase {
  databaseUrl: string;
  /** Ended by `drop`. */
  pool: Pool;
  /** Drops the database. Throws when anybody still holds a connection to it: a test must end what it started. */
  drop(): Promise<void>;
}

/**
 * Makes a fresh, migrated database for one test file: `beforeAll(async () => { db = await testDatabase(); })` and
 * `afterAll(async () => { await db.drop(); })`. With `{ migrated: false }` it is empty.
 */
export async function testDatabase(options: { migrated?: boolean } = {}): Promise<TestDatabase> {
  const { migrated = true } = options;
  const prefix = inject("testDatabasePrefix");
  // The file's name is in it, so that a database left behind says whose it is. PostgreSQL cuts names at 63 bytes.
  const file = (expect.getState().testPath ?? "")
    .replace(/^.*\//, "")
    .replace(/\..*$/, "")
    .replaceAll(/[^a-z0-9]/gi, "_");
  const name = `${prefix}_${file.toLowerCase().slice(0, 24)}_${randomBytes(4).toString("hex")}`;
  await onServer(async (server) => {
    await server.query(`CREATE DATABASE ${name} TEMPLATE ${migrated ? `${prefix}_template` : "template0"}`);
  });
  const databaseUrl = databaseOnServer(name);
  const pool = createPool({ databaseUrl, log: createLog("warn"), connectionsMax: POOL_CONNECTIONS, name: "test pool" });
  const ignoreCutConnections = (): void => undefined;
  pool.on("error", ignoreCutConnections);
  return {
    databaseUrl,
    pool,
    async drop() {
      await pool.end();
      await onServer(async (server) => {
        const leaked = await connectionsLeft(server, name);
        await server.query(`DROP DATABASE ${name} WITH (FORCE)`);
        if (leaked.length > 0) throw new Error(`connections to the test database were left open: ${leaked.join(", ")}`);
      });
    },
  };
}

function databaseOnServer(name: string): string {
  const url = new URL(inject("testServerUrl"));
  url.pathname = `/${name}`;
  return url.href;
}

async function onServer(work: (server: pg.Client) => Promise<void>): Promise<void> {
  const server = new pg.Client({ connectionString: inject("testServerUrl"), application_name: "test harness" });
  await server.connect();
  try {
    await work(server);
  } finally {
    await server.end();
  }
}

/** Waits for connections that are being closed; those that stay are named. */
async function connectionsLeft(server: pg.Client, database: string): Promise<string[]> {
  const deadline = performance.now() + CLOSED_MS_MAX;
  for (;;) {
    const { rows } = await server.query<{ name: string }>(
      "SELECT application_name AS name FROM pg_stat_activity WHERE datname = $1 AND backend_type = 'client backend'",
      [database],
    );
    if (rows.length === 0 || performance.now() > deadline) return rows.map((row) => row.name);
    await server.query("SELECT pg_sleep(0.02)");
  }
}
