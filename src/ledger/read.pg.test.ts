import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { testDatabase, type TestDatabase } from "../../test/database.ts";
import { createRead } from "./read.ts";

let db: TestDatabase;

beforeAll(async () => {
  db = await testDatabase();
  await db.pool.query("CREATE TABLE noted (n integer)");
});
afterAll(async () => {
  await db.drop();
});

describe("a read", () => {
  it("sees one moment in all its statements", async () => {
    const read = createRead(db.pool);
    const counts = await read(async (tx) => {
      const before = await tx.query<{ n: number }>("SELECT count(*) AS n FROM noted");
      await db.pool.query("INSERT INTO noted VALUES (1)");
      const after = await tx.query<{ n: number }>("SELECT count(*) AS n FROM noted");
      return [before.rows[0]?.n, after.rows[0]?.n];
    });
    expect(counts[0]).toBe(counts[1]);
  });

  it("cannot write", async () => {
    const read = createRead(db.pool);
    await expect(read((tx) => tx.query("INSERT INTO noted VALUES (2)"))).rejects.toMatchObject({ code: "25006" });
    expect((await db.pool.query("SELECT FROM noted WHERE n = 2")).rowCount).toBe(0);
  });

  it("is stopped when a statement takes too long, and leaves a working connection", async () => {
    const read = createRead(db.pool, { statementMsMax: 20 });
    await expect(read((tx) => tx.query("SELECT pg_sleep(30)"))).rejects.toMatchObject({ code: "query_too_slow" });
    expect(await read(async (tx) => (await tx.query<{ n: number }>("SELECT 1 AS n")).rows)).toEqual([{ n: 1 }]);
    const timeout = await db.pool.query<{ statement_timeout: string }>("SHOW statement_timeout");
    expect(timeout.rows[0]?.statement_timeout).toBe("30s");
  });

  it("waits for its turn, and is refused when too many wait", async () => {
    const read = createRead(db.pool, { concurrentMax: 1, waitingMax: 1 });
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    const order: string[] = [];
    const first = read(async () => {
      await held;
      order.push("first");
    });
    const second = read(async () => void order.push("second"));
    await expect(read(async () => "third")).rejects.toMatchObject({ code: "busy" });
    release();
    await Promise.all([first, second]);
    expect(order).toEqual(["first", "second"]);
    expect(await read(async () => "again")).toBe("again");
  });

  it("gives its place back when it fails, and does not use a broken connection again", async () => {
    const read = createRead(db.pool, { concurrentMax: 1, waitingMax: 0 });
    const fail = async () => {
      throw new Error("a bug");
    };
    await expect(read(fail)).rejects.toThrow("a bug");
    await expect(read((tx) => tx.query("SELECT pg_terminate_backend(pg_backend_pid())"))).rejects.toThrow();
    expect(await read(async (tx) => (await tx.query("SELECT 1")).rowCount)).toBe(1);
  });
});
