import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { testDatabase, type TestDatabase } from "../../test/database.ts";
import type { Connection } from "./pool.ts";
import { together } from "./together.ts";

describe("statements that go out together", () => {
  let db: TestDatabase;
  let tx: Connection;

  beforeAll(async () => {
    db = await testDatabase();
    await db.pool.query("CREATE TABLE steps (at integer GENERATED ALWAYS AS IDENTITY, step text)");
    tx = await db.pool.connect();
  });
  afterAll(async () => {
    tx.release();
    await db.drop();
  });

  const insert = async (step: string): Promise<number | null> =>
    (await tx.query({ name: "step", text: "INSERT INTO steps (step) VALUES ($1)", values: [step] })).rowCount;

  it("run in their order, one after the other, and each has its own answer", async () => {
    const [first, second, third] = await together(tx, () => [
      insert("one"),
      insert("two"),
      tx.query<{ step: string }>("SELECT step FROM steps ORDER BY at"),
    ]);
    expect([first, second]).toEqual([1, 1]);
    expect(third.rows).toEqual([{ step: "one" }, { step: "two" }]);
  });

  it("go out in one piece", async () => {
    await insert("prepared");
    const { stream } = tx.connection;
    const pieces: number[] = [];
    const { _writev: writev } = stream;
    if (writev === undefined) throw new Error("the driver's stream does not gather what is written");
    stream._writev = (chunks, done) => {
      pieces.push(chunks.length);
      writev.call(stream, chunks, done);
    };
    try {
      await together(tx, () => [insert("three"), insert("four"), tx.query("SELECT 1")]);
    } finally {
      stream._writev = writev;
    }
    expect(pieces).toHaveLength(1);
    expect(pieces[0]).toBeGreaterThan(3);
  });

  it("fail by the first error, and the connection goes on", async () => {
    await tx.query("BEGIN");
    const answers = together(tx, () => [insert("five"), tx.query("SELECT 1 / 0"), insert("six"), tx.query("COMMIT")]);
    await expect(answers).rejects.toMatchObject({ code: "22012" });
    const { rows } = await tx.query("SELECT step FROM steps WHERE step IN ('five', 'six')");
    expect(rows).toEqual([]);
  });
});
