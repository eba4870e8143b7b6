import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { testDatabase, type TestDatabase } from "../../test/database.ts";
import { createLog } from "../log.ts";
import { createPool } from "./pool.ts";

describe("createPool", () => {
  let db: TestDatabase;

  beforeAll(async () => {
    db = await testDatabase();
  });

  afterAll(async () => {
    await db.drop();
  });

  async function valueOf(expression: string): Promise<unknown> {
    return (await db.pool.query<{ value: unknown }>(`SELECT ${expression} AS value`)).rows[0]?.value;
  }

  it("gives counts and sums as numbers, times as Date and bytes as Buffer", async () => {
    expect(await valueOf("9007199254740991::bigint")).toBe(Number.MAX_SAFE_INTEGER);
    expect(await valueOf("(SELECT sum(n) FROM generate_series(1, 4) AS n)")).toBe(10);
    expect(await valueOf("(SELECT sum(n::bigint) FROM generate_series(1, 4) AS n)")).toBe(10);
    expect(await valueOf("'2026-01-02T03:04:05Z'::timestamptz")).toEqual(new Date("2026-01-02T03:04:05Z"));
    expect(await valueOf(String.raw`'\x00ff'::bytea`)).toEqual(Buffer.from([0, 255]));
  });

  it("fails rather than round an integer that a number cannot hold", async () => {
    await expect(valueOf("9007199254740993::bigint")).rejects.toThrow(/beyond 2\^53/);
  });

  it("does not let a process that vanished hold its locks: its transaction ends when it says nothing for ten seconds", async () => {
    const { rows } = await db.pool.query("SHOW idle_in_transaction_session_timeout");
    expect(rows).toEqual([{ idle_in_transaction_session_timeout: "10s" }]);
  });

  it("commits with synchronous_commit on, whatever the database says", async () => {
    const pool = createPool({ databaseUrl: db.databaseUrl, log: createLog("silent"), connectionsMax: 1 });
    try {
      await pool.query(
        `ALTER DATABASE ${pg.escapeIdentifier(new URL(db.databaseUrl).pathname.slice(1))} SET synchronous_commit = off`,
      );
      const plain = new pg.Client({ connectionString: db.databaseUrl });
      await plain.connect();
      const { rows } = await plain.query("SHOW synchronous_commit");
      await plain.end();
      expect(rows).toEqual([{ synchronous_commit: "off" }]);
      const fresh = createPool({ databaseUrl: db.databaseUrl, log: createLog("silent"), connectionsMax: 1 });
      const shown = await fresh.query("SHOW synchronous_commit");
      await fresh.end();
      expect(shown.rows).toEqual([{ synchronous_commit: "on" }]);
    } finally {
      await pool.end();
    }
  });

  it("replaces an idle connection that was cut", async () => {
    const pool = createPool({ databaseUrl: db.databaseUrl, log: createLog("silent"), connectionsMax: 1 });
    try {
      const before = await pool.query<{ pid: number }>("SELECT pg_backend_pid() AS pid");
      const cut = new Promise((resolve) => pool.once("error", resolve));
      await db.pool.query("SELECT pg_terminate_backend($1)", [before.rows[0]?.pid]);
      await cut;
      const after = await pool.query<{ pid: number }>("SELECT pg_backend_pid() AS pid");
      expect(after.rows[0]?.pid).not.toBe(before.rows[0]?.pid);
    } finally {
      await pool.end();
    }
  });
});
