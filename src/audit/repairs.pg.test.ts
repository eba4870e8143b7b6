import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { testDatabase, type TestDatabase } from "../../test/database.ts";
import { ledgerWorld, type LedgerWorld } from "../../test/ledger-world.ts";
import { drainRepairs } from "../ledger/repair.ts";

let db: TestDatabase;
let world: LedgerWorld;
let message: number;

beforeAll(async () => {
  db = await testDatabase();
  world = await ledgerWorld(db.pool);
});
afterAll(async () => db.drop());
beforeEach(async () => {
  await world.clear();
  await world.fill();
  const item = {
    email: "customer@example.com",
    timestamp: 1764511600,
    event: "open",
    sg_message_id: "m1",
    ip: "192.0.2.1",
  };
  const orders: [number, string, object][] = [
    [1, "messages", { ...item, order_id: "zzz", category: "zzz" }],
    [2, "logs", { ...item, timestamp: 1764511700, sg_event_id: "log1" }],
    [3, "csv", { ...item, sg_message_id: "m9" }],
  ];
  for (const [gap, origin, order] of orders) {
    await db.pool.query("INSERT INTO repair_orders (gap, origin, source, item) VALUES ($1, $2, 1, $3)", [
      gap,
      origin,
      order,
    ]);
  }
  expect(await drainRepairs(db.pool, { settleSeconds: 90 })).toEqual({ filed: 3, held: 0, unreadable: 0 });
  expect((await world.verify()).outcome).toBe("clean");
  message = await world.value<number>("SELECT id FROM messages WHERE message_id = 'm1'");
});

describe("tampering with what was repaired is found and named", () => {
  test("a deleted event, of a known message and of one that has no other", async () => {
    await db.pool.query("DELETE FROM events WHERE origin <> 'webhook' AND event_id <> 'log1'");
    const { state, kinds } = await world.verify();
    expect(kinds).toEqual(["message_changed", "message_empty", "repair_missing"]);
    expect(state.differences.listed).toContainEqual({ kind: "repair_missing", message, repair: 1 });
    expect(state.differences.listed).toContainEqual({ kind: "message_changed", message, fields: ["opens"] });
  });

  test("a deleted event with its message, though no message follows", async () => {
    await db.pool.query("DELETE FROM events WHERE origin = 'csv'");
    await db.pool.query("DELETE FROM messages WHERE message_id = 'm9'");
    const { state } = await world.verify();
    expect(state.differences.listed).toEqual([expect.objectContaining({ kind: "repair_missing", repair: 3 })]);
  });

  test.each([
    ["type", "type = 'click'"],
    ["occurred_at", "occurred_at = occurred_at + interval '1 microsecond'"],
    ["recipient", "recipient = NULL"],
    ["origin", "origin = 'csv'"],
    ["nameless", "nameless = true"],
    ["detail", `detail = detail || '{"ip": "192.0.2.2"}'`],
  ])("a changed %s of an event: %s", async (field, change) => {
    await db.pool.query(`UPDATE events SET ${change} WHERE event_id = 'log1'`);
    const { state } = await world.verify();
    expect(state.differences.listed).toContainEqual({ kind: "event_changed", message, repair: 2, fields: [field] });
  });

  test("an event that is said to have come from a webhook", async () => {
    await db.pool.query("UPDATE events SET origin = 'webhook' WHERE event_id = 'log1'");
    expect((await world.verify()).kinds).toEqual(["event_changed", "receipt_missing"]);
  });

  test("an added event, and a deleted repair", async () => {
    await db.pool.query("DELETE FROM repairs WHERE gap = 2");
    const { state, kinds } = await world.verify();
    expect(kinds).toEqual(["repair_surplus"]);
    expect(state.differences.listed).toEqual([{ kind: "repair_surplus", message }]);
  });

  test("custom args and categories that no item accounts for", async () => {
    await db.pool.query(`UPDATE messages SET args = args || '{"forged": "1"}' WHERE id = $1`, [message]);
    const { state } = await world.verify();
    expect(state.differences.listed).toEqual([{ kind: "message_changed", message, fields: ["args"] }]);
  });
});
