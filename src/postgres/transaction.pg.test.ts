import pg from "pg";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { testDatabase, type TestDatabase } from "../../test/database.ts";
import { sqlState } from "../errors.ts";
import { DEADLOCK_JITTER, DEADLOCK_RETRY_MS } from "../limits.ts";
import type { Connection } from "./pool.ts";
import { DeadlockRetriesExhausted, transaction } from "./transaction.ts";

describe("transaction", () => {
  let db: TestDatabase;

  beforeAll(async () => {
    db = await testDatabase();
    await db.pool.query("CREATE TABLE accounts (id integer PRIMARY KEY, balance integer NOT NULL DEFAULT 0)");
  });

  beforeEach(async () => {
    await db.pool.query("TRUNCATE accounts");
    await db.pool.query("INSERT INTO accounts (id) VALUES (1), (2)");
  });

  afterAll(async () => {
    await db.drop();
  });

  async function balances(): Promise<number[]> {
    const { rows } = await db.pool.query<{ balance: number }>("SELECT balance FROM accounts ORDER BY id");
    return rows.map((row) => row.balance);
  }

  /** Fails the transaction with a true error of the server. */
  async function raise(tx: Connection, code: string): Promise<never> {
    await tx.query(`DO $$ BEGIN RAISE EXCEPTION 'made by the test' USING ERRCODE = '${code}'; END $$`);
    throw new Error("the server raised nothing");
  }

  it("has committed by the time it gives the value", async () => {
    const value = await transaction(db.pool, async (tx) => {
      await tx.query("UPDATE accounts SET balance = 7 WHERE id = 1");
      return "done";
    });
    expect(value).toBe("done");
    expect(await balances()).toEqual([7, 0]);
  });

  it("is rolled back, and says so, when its work went on after a statement that failed", async () => {
    const work = transaction(db.pool, async (tx) => {
      await tx.query("UPDATE accounts SET balance = 7 WHERE id = 1");
      await raise(tx, "22012").catch(() => undefined);
      return "done";
    });
    await expect(work).rejects.toThrow("rolled back");
    expect(await balances()).toEqual([0, 0]);
  });

  it("begins with a first statement, whose answer the work is given", async () => {
    const first = async (tx: Connection): Promise<object[]> =>
      (await tx.query<object>("SELECT current_setting('enable_seqscan') AS scan, now() AS at")).rows;
    const work = async (tx: Connection, { first: found }: { first: object[] }): Promise<object[]> => [
      ...found,
      // One transaction has one time.
      ...(await tx.query<object>("SELECT 'off' AS scan, now() AS at")).rows,
    ];
    const [found, then] = await transaction(db.pool, work, { first, settings: { enable_seqscan: "off" } });
    expect(found).toEqual(then);
  });

  it("does no work when its beginning or its first statement fails", async () => {
    let worked = 0;
    const work = async (): Promise<void> => {
      worked += 1;
    };
    const first = async (tx: Connection): Promise<unknown> => tx.query("SELECT 1");
    await expect(transaction(db.pool, work, { first, settings: { work_mem: "nonsense" } })).rejects.toMatchObject({
      code: "22023",
    });
    await expect(transaction(db.pool, work, { first: async (tx) => raise(tx, "22012") })).rejects.toMatchObject({
      code: "22012",
    });
    expect(worked).toBe(0);
    expect(await transaction(db.pool, async () => "usable")).toBe("usable");
  });

  it("sends what goes with the commit at its end, in order, and keeps it", async () => {
    await transaction(db.pool, async (tx, { withCommit }) => {
      withCommit(() => tx.query("UPDATE accounts SET balance = balance * 2"));
      withCommit(() => tx.query("UPDATE accounts SET balance = balance + 1"));
      await tx.query("UPDATE accounts SET balance = 5");
    });
    expect(await balances()).toEqual([11, 11]);
  });

  it("leaves nothing behind when what goes with the commit fails", async () => {
    const work = transaction(db.pool, async (tx, { withCommit }) => {
      withCommit(() => tx.query("UPDATE accounts SET balance = 5"));
      withCommit(() => raise(tx, "23514"));
      await tx.query("UPDATE accounts SET balance = 7 WHERE id = 1");
    });
    await expect(work).rejects.toMatchObject({ code: "23514" });
    expect(await balances()).toEqual([0, 0]);
  });

  it("begins with its settings, which end with it", async () => {
    const read = async (tx: Pick<Connection, "query">): Promise<unknown> =>
      (await tx.query("SELECT current_setting('enable_seqscan') AS scan, current_setting('work_mem') AS memory"))
        .rows[0];
    const client = await db.pool.connect();
    const before = await read(client);
    client.release();
    const settings = { enable_seqscan: "off", work_mem: "'77kB'" };
    expect(await transaction(db.pool, read, { settings })).toEqual({ scan: "off", memory: "77kB" });
    expect(await transaction(db.pool, read)).toEqual(before);
  });

  it("leaves nothing behind when the work fails", async () => {
    const work = transaction(db.pool, async (tx) => {
      await tx.query("UPDATE accounts SET balance = 7 WHERE id = 1");
      throw new Error("a bug");
    });
    await expect(work).rejects.toThrow("a bug");
    expect(await balances()).toEqual([0, 0]);
  });

  describe("in a deadlock of two connections that lock two rows in opposite order", () => {
    let rival: pg.Client;

    beforeEach(async () => {
      rival = new pg.Client({ connectionString: db.databaseUrl, application_name: "rival" });
      await rival.connect();
    });

    afterEach(async () => {
      await rival.end();
    });

    /** Returns when the rival waits for a lock, so that the next lock asked for closes the circle. */
    async function untilRivalWaits(): Promise<void> {
      await expect
        .poll(
          async () => {
            const { rows } = await db.pool.query<{ wait: string | null }>(
              "SELECT wait_event_type AS wait FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'rival'",
            );
            return rows[0]?.wait;
          },
          { timeout: 50_000 },
        )
        .toBe("Lock");
    }

    it("is rescued by the retry and counted, and both come through", async () => {
      // The rival never notices the deadlock, so the victim is always the transaction under test.
      await rival.query("SET deadlock_timeout = '1h'; BEGIN; UPDATE accounts SET balance = balance + 10 WHERE id = 2");
      let rivalUpdate: Promise<unknown> | undefined;
      const retries: number[] = [];
      const waits: number[] = [];
      const met: unknown[] = [];
      const retryOfTheSuccess = await transaction(
        db.pool,
        async (tx, { retry }) => {
          await tx.query("SET LOCAL deadlock_timeout = '10ms'");
          await tx.query("UPDATE accounts SET balance = balance + 1 WHERE id = 1");
          if (rivalUpdate === undefined) {
            rivalUpdate = rival.query("UPDATE accounts SET balance = balance + 10 WHERE id = 1");
            await untilRivalWaits();
          }
          await tx.query("UPDATE accounts SET balance = balance + 1 WHERE id = 2").catch((error: unknown) => {
            met.push(sqlState(error));
            throw error;
          });
          return retry;
        },
        {
          onRetry: (retry) => retries.push(retry),
          // In place of the wait the rival gets its way, which is what the wait is for.
          wait: async (ms) => {
            waits.push(ms);
            await rivalUpdate;
            await rival.query("COMMIT");
          },
        },
      );
      expect(met).toEqual(["40P01"]);
      expect(retryOfTheSuccess).toBe(1);
      expect(retries).toEqual([1]);
      expect(waits).toHaveLength(1);
      expect(await balances()).toEqual([11, 11]);
    });
  });

  it("raises a unique violation at once, without a retry", async () => {
    let attempts = 0;
    const waits: number[] = [];
    const work = transaction(
      db.pool,
      async (tx) => {
        attempts += 1;
        await tx.query("INSERT INTO accounts (id) VALUES (1)");
      },
      { wait: async (ms) => waits.push(ms) },
    );
    await expect(work).rejects.toMatchObject({ code: "23505" });
    expect([attempts, waits]).toEqual([1, []]);
  });

  it.each(["40001", "55P03", "57014", "23503"])("does not retry SQLSTATE %s either", async (code) => {
    let attempts = 0;
    const work = transaction(db.pool, async (tx) => {
      attempts += 1;
      await raise(tx, code);
    });
    await expect(work).rejects.toMatchObject({ code });
    expect(attempts).toBe(1);
  });

  it("raises an error of COMMIT itself", async () => {
    await db.pool.query(
      "CREATE TABLE IF NOT EXISTS orders (account integer REFERENCES accounts DEFERRABLE INITIALLY DEFERRED)",
    );
    const work = transaction(db.pool, async (tx) => {
      await tx.query("INSERT INTO orders VALUES (99)");
      return "not committed";
    });
    await expect(work).rejects.toMatchObject({ code: "23503" });
    await db.pool.query("DROP TABLE orders");
  });

  it("gives up after the fifth retry, having waited 0.5, 1.0, 1.5, 2.0 and 2.5 s, each with jitter", async () => {
    const retriesSeen: number[] = [];
    const counted: number[] = [];
    const waits: number[] = [];
    const work = transaction(
      db.pool,
      async (tx, { retry }) => {
        retriesSeen.push(retry);
        await raise(tx, "40P01");
      },
      { onRetry: (retry) => counted.push(retry), wait: async (ms) => waits.push(ms) },
    );
    const refusal: unknown = await work.catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(DeadlockRetriesExhausted);
    expect(refusal).toMatchObject({ retries: 5, cause: { code: "40P01" } });
    expect(retriesSeen).toEqual([0, 1, 2, 3, 4, 5]);
    expect(counted).toEqual([1, 2, 3, 4, 5]);
    expect(DEADLOCK_RETRY_MS).toEqual([500, 1000, 1500, 2000, 2500]);
    expect(waits).toHaveLength(5);
    for (const [index, ms] of DEADLOCK_RETRY_MS.entries()) {
      expect(waits[index]).toBeGreaterThanOrEqual(ms * (1 - DEADLOCK_JITTER));
      expect(waits[index]).toBeLessThanOrEqual(ms * (1 + DEADLOCK_JITTER));
    }
    // Five equal waits would mean that there is no jitter, and two victims would meet again.
    expect(waits).not.toEqual(DEADLOCK_RETRY_MS);
  });

  it("rejects when its connection is killed, and the pool goes on with another", async () => {
    let attempts = 0;
    const work = transaction(db.pool, async (tx) => {
      attempts += 1;
      await tx.query("UPDATE accounts SET balance = 7 WHERE id = 1");
      const { rows } = await tx.query<{ pid: number }>("SELECT pg_backend_pid() AS pid");
      await db.pool.query("SELECT pg_terminate_backend($1)", [rows[0]?.pid]);
      await tx.query("UPDATE accounts SET balance = 7 WHERE id = 2");
    });
    await expect(work).rejects.toThrow();
    expect(attempts).toBe(1);
    expect(await balances()).toEqual([0, 0]);
    expect(await transaction(db.pool, async (tx) => (await tx.query("SELECT 1")).rowCount)).toBe(1);
  });

  it("gives every connection back, whatever happened", () => {
    expect(db.pool.idleCount).toBe(db.pool.totalCount);
    expect(db.pool.waitingCount).toBe(0);
  });
});
