import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { testDatabase, type TestDatabase } from "../../test/database.ts";
import { seedRun } from "../../test/seed.ts";
import { viewsApp, type ViewsApp } from "../../test/views-app.ts";
import { addDays, dayIn } from "../days.ts";
import type { ReconciliationList } from "./contract-completeness.ts";
import type { ErrorBody, Ordered } from "./contract.ts";

let db: TestDatabase;
let views: ViewsApp;

beforeAll(async () => {
  db = await testDatabase();
  views = await viewsApp(db, { config: { HOLDFAST_ACCOUNT_TIME_ZONE: "Pacific/Kiritimati" } });
});
afterAll(async () => {
  await views.close();
  await db.drop();
});
beforeEach(async () => {
  await db.pool.query("TRUNCATE reconciliation_runs, reconciliation_orders, access_log RESTART IDENTITY");
});

const URL = "/api/reconciliations";

async function list(query = ""): Promise<ReconciliationList> {
  const answer = await views.get(`${URL}${query}`);
  expect(answer.statusCode, answer.body).toBe(200);
  return answer.json<ReconciliationList>();
}

async function order(payload: unknown, role: "support" | "compliance" | "admin" = "compliance") {
  return views.as(role, { method: "POST", url: URL, payload: payload as object });
}

const APRIL = { from: "2026-04-01", to: "2026-04-02", repair: true };
const MARCH = { from: "2026-03-01", to: "2026-03-02", repair: true };

describe("GET /api/reconciliations", () => {
  it("lists the runs, newest first, page by page, and the orders that wait", async () => {
    for (let index = 0; index < 5; index += 1) await seedRun(db.pool);
    await seedRun(db.pool, {
      state: "running",
      repair: true,
      name: "person",
      from_day: "2026-02-01",
      started_at: new Date("2026-03-02T02:00:00Z"),
      calls: 12,
      progress: JSON.stringify({ days: { done: 3, total: 31 }, asked: ["mail.1"] }),
    });
    await seedRun(db.pool, { state: "failed", error: "SendGrid answered 500" });
    await order(MARCH);
    const first = await list("?limit=3");
    expect(first.orders).toMatchObject([{ ...MARCH, name: "test compliance" }]);
    expect(first.runs.map(({ id }) => id)).toEqual(["7", "6", "5"]);
    expect(first.runs[0]).toMatchObject({ state: "failed", error: "SendGrid answered 500" });
    expect(first.runs[1]).toEqual({
      id: "6",
      from: "2026-02-01",
      to: "2026-03-01",
      repair: true,
      name: "person",
      state: "running",
      startedAt: "2026-03-02T02:00:00.000Z",
      finishedAt: null,
      calls: 12,
      progress: { done: 3, total: 31 },
      error: null,
    });
    const second = await list(`?limit=3&cursor=${first.nextCursor}`);
    expect(second.runs.map(({ id }) => id)).toEqual(["4", "3", "2"]);
    const third = await list(`?limit=3&cursor=${second.nextCursor}`);
    expect([third.runs.map(({ id }) => id), third.nextCursor]).toEqual([["1"], null]);
  });

  it("shows an order no longer once its run is under way", async () => {
    await order(MARCH);
    expect((await list()).orders).toHaveLength(1);
    const days = { from_day: MARCH.from, to_day: MARCH.to };
    await seedRun(db.pool, { ...days, repair: true, name: "test compliance", state: "running" });
    expect((await list()).orders).toEqual([]);
  });

  it("refuses wrong pages", async () => {
    for (const query of ["?cursor=abc", "?limit=0", "?limit=201", "?page=2", `?cursor=${"x".repeat(65)}`]) {
      expect((await views.get(`${URL}${query}`)).statusCode, query).toBe(400);
    }
  });
});

describe("POST /api/reconciliations", () => {
  it("is for compliance and admins, and is written down with who ordered it", async () => {
    const refused = await order(APRIL, "support");
    expect([refused.statusCode, refused.json<ErrorBody>().error.code]).toEqual([403, "role_too_low"]);
    const answer = await order(APRIL);
    expect([answer.statusCode, answer.json<Ordered>()]).toEqual([202, { ordered: true }]);
    expect((await order({ ...APRIL, repair: false }, "admin")).json<Ordered>()).toEqual({ ordered: true });
    const orders = await db.pool.query(
      "SELECT from_day::text, to_day::text, repair, name FROM reconciliation_orders ORDER BY id",
    );
    expect(orders.rows).toEqual([
      { from_day: "2026-04-01", to_day: "2026-04-02", repair: true, name: "test compliance" },
      { from_day: "2026-04-01", to_day: "2026-04-02", repair: false, name: "test admin" },
    ]);
    const log = await db.pool.query("SELECT action, subject FROM access_log ORDER BY id");
    expect(log.rows).toEqual([
      { action: "reconciliation.order", subject: "2026-04-01 – 2026-04-02, repair" },
      { action: "reconciliation.order", subject: "2026-04-01 – 2026-04-02" },
    ]);
  });

  it("takes the same order once while it waits", async () => {
    const answers = await Promise.all([order(MARCH), order(MARCH), order(MARCH)]);
    expect(answers.filter((answer) => answer.json<Ordered>().ordered)).toHaveLength(1);
  });

  it("lets twenty wait and no more, whoever comes at once", async () => {
    const days = Array.from({ length: 25 }, (_, index) => `2026-03-${String(index + 1).padStart(2, "0")}`);
    const answers = await Promise.all(days.map(async (day) => order({ from: day, to: day, repair: false })));
    const taken = answers.filter(({ statusCode }) => statusCode === 202);
    const refused = answers.filter(({ statusCode }) => statusCode === 409);
    expect([taken.length, refused.length]).toEqual([20, 5]);
    expect(refused[0]?.json<ErrorBody>().error.code).toBe("orders_full");
  });

  it("looks no further than today in the accounts' zone", async () => {
    const today = dayIn("Pacific/Kiritimati", new Date());
    expect((await order({ from: today, to: today, repair: false })).statusCode).toBe(202);
    const tomorrow = addDays(today, 1);
    const answer = await order({ from: today, to: tomorrow, repair: false });
    expect([answer.statusCode, answer.json<ErrorBody>().error.message]).toEqual([
      400,
      `to must not be after today, ${today}`,
    ]);
  });

  it.each([
    [{}, "from"],
    [{ from: "2026-03-01", to: "2026-03-02" }, "repair"],
    [{ ...MARCH, repair: "maybe" }, "repair"],
    [{ ...MARCH, from: "2026-02-30" }, "from must be a day"],
    [{ ...MARCH, from: "2026-03-03" }, "from must not be after to"],
    [{ ...MARCH, from: "2025-11-30" }, "at most 92 days"],
    [{ ...MARCH, to: "'; DROP TABLE gaps" }, "to must be a day"],
    [{ ...MARCH, to: { $gt: "" } }, "to"],
    [[MARCH], "body"],
  ])("refuses %j by name", async (body, words) => {
    const answer = await order(body);
    expect(answer.statusCode, answer.body).toBe(400);
    expect(answer.json<ErrorBody>().error.message).toContain(words);
    expect((await db.pool.query("SELECT FROM reconciliation_orders")).rowCount).toBe(0);
  });
});
