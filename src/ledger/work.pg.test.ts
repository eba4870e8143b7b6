import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { testDatabase, type TestDatabase } from "../../test/database.ts";
import { createLog } from "../log.ts";
import { createWorkWatch } from "./work.ts";

let db: TestDatabase;

beforeAll(async () => {
  db = await testDatabase();
});
afterAll(async () => db.drop());
beforeEach(async () => {
  await db.pool.query("TRUNCATE inbox, replay_orders, repair_orders, purge_orders");
});

async function woken(): Promise<string[]> {
  const names: string[] = [];
  const loop = (name: string): { wake(): void } => ({ wake: () => void names.push(name) });
  const loops = { inbox: loop("inbox"), replay: loop("replay"), repair: loop("repair"), purge: loop("purge") };
  await createWorkWatch({ pool: db.pool, log: createLog("silent"), loops }).tick();
  return names;
}

const RECEIPT = "INSERT INTO inbox (receipt, received_at, bytes, next_attempt_at) VALUES";

describe("the look for work", () => {
  test("wakes nobody when nothing waits", async () => {
    expect(await woken()).toEqual([]);
  });

  test.each([
    ["inbox", `${RECEIPT} (1, now(), 1, now())`],
    ["replay", "INSERT INTO replay_orders (quarantine) VALUES (1)"],
    ["repair", "INSERT INTO repair_orders (gap, origin, source, item) VALUES (1, 'logs', 1, '{}')"],
    ["purge", "INSERT INTO purge_orders DEFAULT VALUES"],
  ])("wakes only %s when something waits for it", async (name, insert) => {
    await db.pool.query(insert);
    expect(await woken()).toEqual([name]);
  });

  test("lets a receipt that is to be tried again later lie", async () => {
    await db.pool.query(`${RECEIPT} (1, now(), 1, now() + interval '1 minute')`);
    expect(await woken()).toEqual([]);
  });
});
