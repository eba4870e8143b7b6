import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { testDatabase, type TestDatabase } from "../../test/database.ts";
import { copyIn } from "./copy.ts";
import type { Connection } from "./pool.ts";
import { together } from "./together.ts";

describe("COPY", () => {
  let db: TestDatabase;
  let tx: Connection;

  beforeAll(async () => {
    db = await testDatabase();
    await db.pool.query("CREATE TABLE parts (id integer PRIMARY KEY, part text)");
    tx = await db.pool.connect();
  });
  beforeEach(async () => {
    await db.pool.query("TRUNCATE parts");
  });
  afterAll(async () => {
    tx.release();
    await db.drop();
  });

  const copy = async (rows: string): Promise<number> => copyIn(tx, "COPY parts FROM STDIN", Buffer.from(rows));
  const stored = async (): Promise<unknown[]> =>
    (await tx.query<object>("SELECT id, part FROM parts ORDER BY id")).rows;

  it("stores rows of any size and says how many PostgreSQL stored", async () => {
    const long = "x".repeat(3_000_000);
    expect(await copy(`1\tone\n2\t\\N\n3\t${long}\n`)).toBe(3);
    expect(await stored()).toEqual([
      { id: 1, part: "one" },
      { id: 2, part: null },
      { id: 3, part: long },
    ]);
    expect(await copy("")).toBe(0);
  });

  it("throws what PostgreSQL says of a row, stores none of them, and leaves the connection usable", async () => {
    await expect(copy("1\tone\nnot a number\ttwo\n")).rejects.toMatchObject({ code: "22P02" });
    await expect(copy("1\tone\n1\tagain\n")).rejects.toMatchObject({ code: "23505" });
    expect(await stored()).toEqual([]);
    expect(await copy("1\tone\n")).toBe(1);
  });

  it("is refused whole, with the rows that were sent along, when it cannot begin", async () => {
    await expect(copyIn(tx, "COPY nowhere FROM STDIN", Buffer.from("1\tone\n"))).rejects.toMatchObject({
      code: "42P01",
    });
    await tx.query("BEGIN");
    await expect(tx.query("SELECT 1 / 0")).rejects.toMatchObject({ code: "22012" });
    await expect(copy("1\tone\n")).rejects.toMatchObject({ code: "25P02" });
    await tx.query("ROLLBACK");
    expect(await stored()).toEqual([]);
  });

  it("takes its place among statements that go out together", async () => {
    const answers = await together(tx, () => [
      tx.query("INSERT INTO parts VALUES (1, 'before')"),
      copy("2\tcopied\n"),
      tx.query("UPDATE parts SET part = part || ', seen'"),
    ]);
    expect(answers.map((answer) => (typeof answer === "number" ? answer : answer.rowCount))).toEqual([1, 1, 2]);
    expect(await stored()).toEqual([
      { id: 1, part: "before, seen" },
      { id: 2, part: "copied, seen" },
    ]);
  });
});
