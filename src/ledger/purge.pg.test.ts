import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { testDatabase, type TestDatabase } from "../../test/database.ts";
import { seedEvent, seedMessage } from "../../test/seed.ts";
import { createAppender } from "../intake/append.ts";
import { createLog } from "../log.ts";
import { createProjector } from "./projector.ts";
import { createPurger } from "./purge.ts";
import { drainRepairs } from "./repair.ts";

const log = createLog("silent");
let db: TestDatabase;
let real: number;
let simulated: number;

beforeAll(async () => {
  db = await testDatabase();
});
afterAll(async () => db.drop());

const TABLES = [
  "receipts",
  "inbox",
  "messages",
  "events",
  "quarantine",
  "tallies",
  "rates",
  "enrichments",
  "enrichment_orders",
  "replay_orders",
  "repair_orders",
  "repairs",
  "gaps",
  "source_keys",
  "tokens",
  "access_log",
  "arg_keys",
] as const;

beforeEach(async () => {
  await db.pool.query(`TRUNCATE ${TABLES.join(", ")}, sources, purge_orders RESTART IDENTITY`);
  [real, simulated] = [await insertSource("default", false), await insertSource("simulation", true)];
});

async function insertSource(name: string, isSimulated: boolean): Promise<number> {
  const { rows } = await db.pool.query<{ id: number }>(
    "INSERT INTO sources (name, simulated) VALUES ($1, $2) RETURNING id",
    [name, isSimulated],
  );
  return rows[0]?.id ?? 0;
}

const appender = (): ReturnType<typeof createAppender> => createAppender({ pool: db.pool, log });

async function append(source: number, items: readonly unknown[] | Buffer): Promise<void> {
  const body = Buffer.isBuffer(items) ? items : Buffer.from(JSON.stringify(items));
  const posted = { source, key: null, signedAt: null, signature: null, body, receivedAt: new Date() };
  expect((await appender().append(posted)).outcome).toBe("committed");
}

const itemOf = (mail: string, event = "delivered"): object => ({
  email: `${mail}@example.com`,
  event,
  timestamp: 1764511327,
  sg_event_id: `${mail}-${event}`,
  sg_message_id: mail,
  order_id: "4711",
  category: "invoice",
});

async function project(): Promise<void> {
  const projector = createProjector({ pool: db.pool, log, settleSeconds: 0 });
  while (await projector.tick());
}

/** Mail of both kinds, mixed, with something of everything, some of it still in the inbox. */
async function fill(): Promise<void> {
  for (let mail = 0; mail < 30; mail += 1) {
    await append(real, [itemOf(`real-${mail}`, "processed"), itemOf(`real-${mail}`)]);
    await append(simulated, [itemOf(`made-${mail}`, "processed"), itemOf(`made-${mail}`), { no: "type" }]);
  }
  for (const source of [real, simulated]) {
    await append(source, [
      { email: "late@example.com", event: "bounce", timestamp: 1764511327, sg_event_id: `late-${source}` },
    ]);
    await append(source, Buffer.from("not json"));
  }
  await project();
  await db.pool.query("INSERT INTO enrichment_orders (message) SELECT id FROM messages WHERE message_id LIKE '%-1'");
  await db.pool.query("INSERT INTO replay_orders (quarantine) SELECT id FROM quarantine");
  for (const [source, mail] of [
    [real, "real"],
    [simulated, "made"],
  ] as const) {
    await orderRepair(source, itemOf(`${mail}-1`, "open"));
    await orderRepair(source, itemOf(`${mail}-repaired`));
    await orderRepair(source, { no: "event" });
  }
  await drainRepairs(db.pool, { settleSeconds: 0 });
  for (const source of [real, simulated]) await orderRepair(source, itemOf(`ordered-${source}`));
  for (const source of [real, simulated]) await append(source, [itemOf(`waiting-${source}`)]);
}

/** As reconcile does it: the gap, and the order to repair it. */
async function orderRepair(source: number, item: object): Promise<void> {
  await db.pool.query(
    `WITH gap AS (
       INSERT INTO gaps (source, day, account, identity, kind, rule, confidence)
       VALUES ($1, '2026-03-01', '', $3::text || $2::text, 'open', 'logs', 'confirmed') RETURNING id
     ) INSERT INTO repair_orders (gap, origin, source, item) SELECT id, 'logs', $1, $2::jsonb FROM gap`,
    [source, JSON.stringify(item), String(source)],
  );
}

async function purge(): Promise<void> {
  await db.pool.query("INSERT INTO purge_orders DEFAULT VALUES");
  const purger = createPurger({ pool: db.pool, log });
  while (await purger.tick());
  expect((await db.pool.query("SELECT FROM purge_orders")).rowCount).toBe(0);
}

/** Every row of every table. */
async function dump(): Promise<unknown> {
  const dumped: Record<string, unknown> = {};
  for (const table of TABLES)
    dumped[table] = (await db.pool.query<object>(`SELECT t.* FROM ${table} AS t ORDER BY t::text`)).rows;
  return dumped;
}

/** The rows of one source, table by table. */
const OF_SOURCE: Readonly<Record<string, string>> = {
  receipts: "source = $1",
  inbox: "receipt IN (SELECT id FROM receipts WHERE source = $1)",
  messages: "source = $1",
  events: "source = $1",
  quarantine: "source = $1",
  tallies: "source = $1",
  rates: "source = $1",
  enrichments: "message IN (SELECT id FROM messages WHERE source = $1)",
  enrichment_orders: "message IN (SELECT id FROM messages WHERE source = $1)",
  replay_orders: "quarantine IN (SELECT id FROM quarantine WHERE source = $1)",
  repair_orders: "source = $1",
  repairs: "gap IN (SELECT id FROM gaps WHERE source = $1)",
};

async function realRows(): Promise<unknown> {
  const rows: Record<string, unknown> = {};
  for (const [table, condition] of Object.entries(OF_SOURCE)) {
    const found = await db.pool.query<object>(`SELECT t.* FROM ${table} t WHERE ${condition} ORDER BY t::text`, [real]);
    rows[table] = found.rows;
  }
  return rows;
}

async function countsOf(source: number): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const [table, condition] of Object.entries(OF_SOURCE)) {
    const { rows } = await db.pool.query<{ count: number }>(
      `SELECT count(*) AS count FROM ${table} WHERE ${condition}`,
      [source],
    );
    counts[table] = rows[0]?.count ?? -1;
  }
  return counts;
}

describe("the purge of simulated data", () => {
  test("leaves not one row of a simulated source, and every row of a real one as it was", async () => {
    await fill();
    const before = await countsOf(real);
    for (const [table, count] of Object.entries(before)) expect(count, table).toBeGreaterThan(0);
    for (const [table, count] of Object.entries(await countsOf(simulated))) expect(count, table).toBeGreaterThan(0);
    const wanted = await realRows();
    await purge();
    expect(await realRows()).toEqual(wanted);
    expect(await countsOf(simulated)).toEqual(Object.fromEntries(Object.keys(OF_SOURCE).map((table) => [table, 0])));
    expect(await countsOf(real)).toEqual(before);
  });

  test("does nothing without an order, and deletes nothing where nothing is simulated", async () => {
    await fill();
    const before = await dump();
    expect(await createPurger({ pool: db.pool, log }).tick()).toBe(false);
    expect(await dump()).toEqual(before);
    await db.pool.query("UPDATE sources SET simulated = false");
    await purge();
    expect(await dump()).toEqual(before);
  });

  test("keeps a message whole that a real source has written to as well", async () => {
    const shared = await seedMessage(db.pool, { source: simulated, messageId: "shared" });
    await seedEvent(db.pool, { message: shared, source: simulated, eventId: "a", type: "processed" });
    await seedEvent(db.pool, { message: shared, source: real, eventId: "b", type: "delivered" });
    const gone = await seedMessage(db.pool, { source: simulated, messageId: "gone" });
    await seedEvent(db.pool, { message: gone, source: simulated, eventId: "a", type: "processed" });
    await purge();
    const { rows } = await db.pool.query("SELECT message, event_id FROM events ORDER BY event_id");
    expect(rows).toEqual([
      { message: shared, event_id: "a" },
      { message: shared, event_id: "b" },
    ]);
    expect((await db.pool.query<object>("SELECT message_id FROM messages")).rows).toEqual([{ message_id: "shared" }]);
  });

  test("begins again with what arrived while it ran, and ends with a balance of nothing", async () => {
    await fill();
    await db.pool.query("INSERT INTO purge_orders DEFAULT VALUES");
    const purger = createPurger({ pool: db.pool, log });
    let steps = 0;
    while (await purger.tick()) {
      steps += 1;
      if (steps > 3) continue;
      await append(simulated, [itemOf(`meanwhile-${steps}`)]);
      await project();
    }
    expect(steps).toBeGreaterThan(5);
    expect(await countsOf(simulated)).toEqual(Object.fromEntries(Object.keys(OF_SOURCE).map((table) => [table, 0])));
  });

  test("goes on where it was after a crash", async () => {
    await fill();
    await db.pool.query("INSERT INTO purge_orders DEFAULT VALUES");
    await createPurger({ pool: db.pool, log }).tick();
    const { rows } = await db.pool.query<{ phase: string; after: number }>("SELECT phase, after FROM purge_orders");
    expect(rows[0]?.after).toBeGreaterThan(0);
    const restarted = createPurger({ pool: db.pool, log });
    while (await restarted.tick());
    expect(await countsOf(simulated)).toMatchObject({ receipts: 0, events: 0, messages: 0 });
  });
});
