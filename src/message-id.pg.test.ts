import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { testDatabase, type TestDatabase } from "../test/database.ts";
import { isMessageId, messageIdBeginsWith, withMessageIds } from "./message-id.ts";
import { BY_INDEX, transaction } from "./postgres/transaction.ts";

let db: TestDatabase;

beforeAll(async () => {
  db = await testDatabase();
  // Of the second kind all begin alike.
  await db.pool.query(
    `INSERT INTO messages (message_id, source) SELECT md5(n::text) || '.recvd-' || n || '.0', 1 FROM generate_series(1, 20000) AS n
     UNION ALL SELECT 'filter0307p1iad2-' || n, 1 FROM generate_series(1, 20000) AS n UNION ALL SELECT NULL, 1`,
  );
  await db.pool.query("VACUUM (ANALYZE) messages");
});
afterAll(async () => db.drop());

/** The ids found, and how many rows were read to find them. */
async function find(text: string, values: unknown[]): Promise<{ found: unknown[]; read: number }> {
  return transaction(
    db.pool,
    async (tx) => {
      const found = await tx.query<{ id: string }>(text, values);
      const explained = await tx.query<{ "QUERY PLAN": [{ Plan: Plan }] }>(
        `EXPLAIN (ANALYZE, FORMAT JSON) ${text}`,
        values,
      );
      const plan = explained.rows[0]?.["QUERY PLAN"][0].Plan;
      if (plan === undefined) throw new Error("no plan");
      return { found: found.rows.map(({ id }) => id), read: rowsRead(plan) };
    },
    { settings: BY_INDEX },
  );
}

interface Plan {
  "Relation Name"?: string;
  "Actual Rows": number;
  "Actual Loops": number;
  "Rows Removed by Filter"?: number;
  "Rows Removed by Index Recheck"?: number;
  Plans?: Plan[];
}

function rowsRead(plan: Plan): number {
  const removed = (plan["Rows Removed by Filter"] ?? 0) + (plan["Rows Removed by Index Recheck"] ?? 0);
  const own = plan["Relation Name"] === "messages" ? (plan["Actual Rows"] + removed) * plan["Actual Loops"] : 0;
  return (plan.Plans ?? []).reduce((sum, each) => sum + rowsRead(each), own);
}

const SOME = "827ccb0eea8a706c4c34a16891f84e7b.recvd-12345.0";

describe("a message among thousands", () => {
  test.each([SOME, "filter0307p1iad2-777"])("is found by its id without a look at the others: %s", async (id) => {
    const text = `SELECT message_id AS id FROM messages WHERE ${isMessageId("message_id", "$1")}`;
    expect(await find(text, [id])).toEqual({ found: [id], read: 1 });
    expect(await find(text, [`${id}x`])).toEqual({ found: [], read: 0 });
  });

  test("is found by a list of ids, each looked up by itself", async () => {
    const ids = [SOME, "filter0307p1iad2-1", "filter0307p1iad2-20000"];
    const text = `SELECT m.message_id AS id ${withMessageIds("$1", "message_id")} ORDER BY 1`;
    expect(await find(text, [[...ids, "absent", null]])).toEqual({ found: ids, read: 3 });
  });

  test.each([SOME, SOME.slice(0, 12), SOME.slice(0, 13), "827ccb0eea"])(
    "is found by the beginning of its id, however long that is: %s",
    async (start) => {
      const text = `SELECT message_id AS id FROM messages AS m WHERE ${messageIdBeginsWith("m.message_id", "$1")}`;
      expect(await find(text, [start])).toEqual({ found: [SOME], read: 1 });
    },
  );

  test("has its id alone, with whatever it is alike in its beginning", async () => {
    const again = db.pool.query("INSERT INTO messages (message_id, source) VALUES ($1, 2)", ["filter0307p1iad2-777"]);
    await expect(again).rejects.toThrow(/messages_identity/);
  });
});
