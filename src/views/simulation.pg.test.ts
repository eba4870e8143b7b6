import type { LightMyRequestResponse } from "fastify";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { testDatabase, type TestDatabase } from "../../test/database.ts";
import { seedSource, seedTally } from "../../test/seed.ts";
import { viewsApp, type ViewsApp } from "../../test/views-app.ts";
import type { Simulation, SimulationOrder, SimulationRun } from "./contract-simulation.ts";
import type { SimulationControl } from "./deps.ts";

let db: TestDatabase;
let views: ViewsApp;
let started: SimulationOrder[] = [];
let run: SimulationRun | undefined;

const simulation: SimulationControl = {
  async start(order) {
    if (run !== undefined && run.endedAt === null) return false;
    started.push(order);
    run = { ...EMPTY_RUN, order };
    return true;
  },
  stop: () => run !== undefined && run.endedAt === null,
  state: () => run,
};

const ORDER: SimulationOrder = {
  events: 1000,
  rate: 100,
  duplicates: 0.1,
  shuffle: true,
  deadlocks: 2,
  dropConnection: false,
  seed: "one",
};

const EMPTY_RUN: SimulationRun = {
  phase: "posting",
  stopped: false,
  order: ORDER,
  startedAt: "2026-03-01T09:00:00.000Z",
  endedAt: null,
  acknowledged: 0,
  posts: { sent: 0, again: 0 },
  forced: { deadlocks: 0, connections: 0 },
  figures: { accepted: 0, stored: 0, duplicate: 0, quarantined: 0, lost: 0, retries: 0, rescued: 0, exhausted: 0 },
  samples: [{ atSeconds: 1, processed: 5, retries: 0 }],
  result: null,
  error: null,
};

beforeAll(async () => {
  db = await testDatabase();
  views = await viewsApp(db, { simulation });
});
afterAll(async () => {
  await views.close();
  await db.drop();
});
beforeEach(async () => {
  started = [];
  run = undefined;
  await db.pool.query("TRUNCATE purge_orders");
});

const admin = (method: "GET" | "POST" | "DELETE", url: string, payload?: object): Promise<LightMyRequestResponse> =>
  views.as("admin", { method, url, ...(payload === undefined ? {} : { payload }) });

const codeOf = (response: LightMyRequestResponse): unknown => [
  response.statusCode,
  response.json<{ error?: { code: string } }>().error?.code,
];

describe("/api/simulation", () => {
  test("starts what was ordered, once, and shows it", async () => {
    const response = await admin("POST", "/api/simulation", ORDER);
    expect(response.statusCode).toBe(202);
    expect(response.json<Simulation>().run).toMatchObject({ phase: "posting", order: ORDER });
    expect(codeOf(await admin("POST", "/api/simulation", ORDER))).toEqual([409, "simulation_running"]);
    expect(started).toEqual([ORDER]);
    expect((await admin("DELETE", "/api/simulation")).json()).toEqual({ ordered: true });
  });

  test("says what the ledger holds of simulated sources, and of those only", async () => {
    const [real, simulated] = [await seedSource(db.pool, "default"), await seedSource(db.pool, "simulation", true)];
    const hour = new Date("2026-03-01T09:00:00Z");
    await seedTally(db.pool, { hour, source: real, receipts: 7, accepted: 70, stored: 70 });
    await seedTally(db.pool, { hour, source: simulated, receipts: 2, accepted: 20, stored: 15, duplicate: 5 });
    const state = (await admin("GET", "/api/simulation")).json<Simulation>();
    expect(state).toEqual({ available: true, run: null, held: { receipts: 2, events: 15 }, purgeOrderedAt: null });
  });

  test("a purge is one order, and not beside a run", async () => {
    run = EMPTY_RUN;
    expect(codeOf(await admin("POST", "/api/simulation/purge"))).toEqual([409, "simulation_running"]);
    run = { ...EMPTY_RUN, endedAt: "2026-03-01T09:01:00.000Z" };
    expect((await admin("POST", "/api/simulation/purge")).json()).toEqual({ ordered: true });
    expect((await admin("POST", "/api/simulation/purge")).json()).toEqual({ ordered: false });
    expect((await admin("GET", "/api/simulation")).json<Simulation>().purgeOrderedAt).not.toBeNull();
    expect(codeOf(await admin("POST", "/api/simulation", ORDER))).toEqual([409, "simulation_running"]);
  });

  test.each([
    { ...ORDER, events: 0 },
    { ...ORDER, events: 200_001 },
    { ...ORDER, events: 1.5 },
    { ...ORDER, events: "many" },
    { ...ORDER, rate: -1 },
    { ...ORDER, rate: 10_001 },
    { ...ORDER, duplicates: 1.1 },
    { ...ORDER, duplicates: "NaN" },
    { ...ORDER, deadlocks: 21 },
    { ...ORDER, shuffle: "perhaps" },
    { ...ORDER, seed: "" },
    { ...ORDER, seed: "a\0" },
    { ...ORDER, seed: "x".repeat(41) },
    { events: 10 },
  ])("%j is refused", async (order) => {
    expect(codeOf(await admin("POST", "/api/simulation", order))).toEqual([400, "bad_request"]);
    expect(started).toEqual([]);
  });

  test("a process without intake says that it cannot", async () => {
    const without = await viewsApp(db, { tokens: views.tokens });
    const request = { method: "POST" as const, url: "/api/simulation", payload: ORDER };
    expect(codeOf(await without.as("admin", request))).toEqual([409, "simulation_unavailable"]);
    const state = await without.as("admin", { url: "/api/simulation" });
    expect(state.json<Simulation>()).toMatchObject({ available: false, run: null });
    await without.close();
  });
});
