import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { testDatabase, type TestDatabase } from "../../test/database.ts";
import { createLog } from "../log.ts";
import { createPool, type Pool } from "../postgres/pool.ts";
import { createRead } from "./read.ts";

let db: TestDatabase;
/** The reads have a pool of their own, so that its connections can be told from the test's. */
let pool: Pool;

beforeAll(async () => {
  db = await testDatabase();
  pool = createPool({ databaseUrl: db.databaseUrl, log: createLog("silent"), connectionsMax: 4, name: "reads" });
});
afterAll(async () => {
  await pool.end();
  await db.drop();
});

/** Statements that run longer than any test: only a cancel ends them. */
const SLOW = "SELECT pg_sleep(600)";

async function slowStatements(): Promise<number> {
  const found = await db.pool.query<{ n: number }>(
    "SELECT count(*) AS n FROM pg_stat_activity WHERE application_name = 'reads' AND state = 'active' AND query = $1",
    [SLOW],
  );
  return found.rows[0]?.n ?? 0;
}

async function until(count: number): Promise<void> {
  await expect.poll(slowStatements, { timeout: 20_000, interval: 10 }).toBe(count);
}

const sleep = (signal: AbortSignal, read: ReturnType<typeof createRead>): Promise<unknown> =>
  read((tx) => tx.query(SLOW), signal);

describe("an abandoned read", () => {
  it("ends in PostgreSQL too, and frees its place", async () => {
    const read = createRead(pool, { concurrentMax: 1, waitingMax: 1, statementMsMax: 600_000 });
    const abandoned = new AbortController();
    const search = sleep(abandoned.signal, read);
    // A rejection that nobody waits for yet would end the process.
    const ended = Promise.allSettled([search]);
    await until(1);
    abandoned.abort();
    expect(await ended).toMatchObject([{ status: "rejected", reason: { code: "abandoned" } }]);
    expect(await slowStatements()).toBe(0);
    expect(await read(async (tx) => (await tx.query<{ n: number }>("SELECT 1 AS n")).rows)).toEqual([{ n: 1 }]);
  });

  it("keeps its connection, which a cancel never hits later", async () => {
    const one = createPool({ databaseUrl: db.databaseUrl, log: createLog("silent"), connectionsMax: 2, name: "reads" });
    try {
      const read = createRead(one, { concurrentMax: 1, statementMsMax: 600_000 });
      const pids = new Set<number>();
      for (let turn = 0; turn < 40; turn += 1) {
        const abandoned = new AbortController();
        const search = read(async (tx) => {
          const { rows } = await tx.query<{ pid: number }>("SELECT pg_backend_pid() AS pid");
          pids.add(rows[0]?.pid ?? 0);
          // At once, before the statement has reached PostgreSQL: the first cancel comes too early or just in time.
          setImmediate(() => abandoned.abort());
          await tx.query(SLOW);
        }, abandoned.signal);
        await expect(search).rejects.toMatchObject({ code: "abandoned" });
        // Whatever comes next on any of the connections is not cancelled.
        const next = await Promise.all([1, 2].map(() => one.query("SELECT pg_sleep(0.002)")));
        expect(next.map(({ rowCount }) => rowCount)).toEqual([1, 1]);
      }
      expect(pids.size).toBeLessThanOrEqual(2);
    } finally {
      await one.end();
    }
  });

  it("begins no further statement", async () => {
    const read = createRead(pool);
    const abandoned = new AbortController();
    let begun = 0;
    const search = read(async (tx) => {
      abandoned.abort();
      begun += 1;
      await tx.query("SELECT 1");
      begun += 1;
    }, abandoned.signal);
    await expect(search).rejects.toMatchObject({ code: "abandoned" });
    expect(begun).toBe(1);
  });

  it("leaves the queue when it still waits for its turn", async () => {
    const read = createRead(pool, { concurrentMax: 1, waitingMax: 1 });
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    const first = read(async () => {
      await held;
      return "first";
    });
    const abandoned = new AbortController();
    const second = read(async () => "second", abandoned.signal);
    await expect(read(async () => "third")).rejects.toMatchObject({ code: "busy" });
    abandoned.abort();
    await expect(second).rejects.toMatchObject({ code: "abandoned" });
    const fourth = read(async () => "fourth");
    release();
    expect([await first, await fourth]).toEqual(["first", "fourth"]);
    await expect(read(async () => "fifth", AbortSignal.abort())).rejects.toMatchObject({ code: "abandoned" });
  });

  it("does not use its connection again when the cancel gets no answer", async () => {
    const connections = createPool({
      databaseUrl: db.databaseUrl,
      log: createLog("silent"),
      connectionsMax: 2,
      name: "reads",
    });
    // Stands for a PostgreSQL that takes no further connection while the read's own still works.
    const failing = {
      connect: async () => connections.connect(),
      query: async () => {
        throw new Error("no connection");
      },
    } as unknown as Pool;
    try {
      const read = createRead(failing, { statementMsMax: 300 });
      const abandoned = new AbortController();
      let pid = 0;
      const search = read(async (tx) => {
        pid = (await tx.query<{ pid: number }>("SELECT pg_backend_pid() AS pid")).rows[0]?.pid ?? 0;
        setImmediate(() => abandoned.abort());
        await tx.query(SLOW);
      }, abandoned.signal);
      await expect(search).rejects.toMatchObject({ code: "abandoned" });
      const next = await connections.query("SELECT pg_backend_pid() AS pid");
      expect(next.rows).not.toEqual([{ pid }]);
    } finally {
      await connections.end();
    }
  });
});
