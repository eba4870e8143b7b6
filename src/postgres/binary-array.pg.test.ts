import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { testDatabase, type TestDatabase } from "../../test/database.ts";
import { byteaArray, int2Array, int4Array, int8Array, textArray, timestamptzArray } from "./binary-array.ts";

let db: TestDatabase;
beforeAll(async () => {
  db = await testDatabase();
});
afterAll(async () => db.drop());

/** What PostgreSQL understood. */
async function rowsOf(type: string, array: Buffer): Promise<unknown[]> {
  const { rows } = await db.pool.query<{ value: unknown }>(`SELECT unnest($1::${type}[]) AS value`, [array]);
  return rows.map(({ value }) => value);
}

describe("a binary array", () => {
  it.each([
    ["int2", int2Array([-32768, -1, 0, null, 32767]), [-32768, -1, 0, null, 32767]],
    ["int4", int4Array([-(2 ** 31), -1, null, 2 ** 31 - 1]), [-(2 ** 31), -1, null, 2 ** 31 - 1]],
    [
      "int8",
      int8Array([-Number.MAX_SAFE_INTEGER, -1, 0, null, 2 ** 32]),
      [-Number.MAX_SAFE_INTEGER, -1, 0, null, 2 ** 32],
    ],
    ["int8", int8Array([Number.MAX_SAFE_INTEGER]), [Number.MAX_SAFE_INTEGER]],
    ["text", textArray(["", "Zoë 日本 😀", null, '{,}"\\']), ["", "Zoë 日本 😀", null, '{,}"\\']],
    ["bytea", byteaArray([Buffer.of(0, 255), null, Buffer.alloc(0)]), [Buffer.of(0, 255), null, Buffer.alloc(0)]],
  ])("of %s comes out as it went in", async (type, array, expected) => {
    expect(await rowsOf(type, array)).toEqual(expected);
  });

  it("of any times keeps them to the millisecond, before 2000 too", async () => {
    const times = fc.array(fc.option(fc.integer({ min: 0, max: Date.UTC(2285, 0) })));
    await fc.assert(
      fc.asyncProperty(times, async (values) => {
        const expected = values.map((value) => (value === null ? null : new Date(value)));
        expect(await rowsOf("timestamptz", timestamptzArray(values))).toEqual(expected);
      }),
      { numRuns: 30 },
    );
  });

  it("of nothing is empty", async () => {
    expect(await rowsOf("int8", int8Array([]))).toEqual([]);
  });
});
