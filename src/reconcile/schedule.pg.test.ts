import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import {
  keysOf,
  loseEvery,
  reconcileWorld,
  traffic,
  type Happening,
  type ReconcileWorld,
} from "../../test/reconcile-world.ts";
import { createReconciler, NIGHTLY, type Reconciler, type ReconcilerOptions } from "./schedule.ts";

const DAY = "2026-03-09";

describe("the schedule", () => {
  let world: ReconcileWorld;
  const started: Reconciler[] = [];

  beforeAll(async () => {
    world = await reconcileWorld();
  });

  beforeEach(async () => {
    await world.reset();
    world.setNow("2026-03-10T03:30:00Z");
  });

  afterAll(async () => {
    for (const one of started) await one.stop();
    await world.end();
  });

  function makeReconciler(changes: Partial<ReconcilerOptions> = {}): Reconciler {
    const made = createReconciler({
      ...world.options(),
      settleRepairsIn: async () => world.settleRepairs(),
      nightly: "repair",
      isKeySet: true,
      ...changes,
    });
    started.push(made);
    return made;
  }

  async function runs(): Promise<unknown[]> {
    return world.rows(
      `SELECT from_day::text AS "from", to_day::text AS "to", name, repair, state FROM reconciliation_runs ORDER BY id`,
    );
  }

  async function lossyDay(): Promise<Happening[]> {
    const events = traffic(`${DAY}T00:00:00Z`, 24, { events: 300 });
    const { lost, kept } = loseEvery(events, 40, 7);
    world.happen(events);
    await world.deliver(kept);
    return lost;
  }

  it("checks once a night the days before it that are not final, and repairs them", async () => {
    const lost = await lossyDay();
    const nightly = makeReconciler();
    expect(await nightly.tick()).toBe(true);
    expect(await world.gapKeys("repaired")).toEqual(keysOf(lost));
    expect(await nightly.tick()).toBe(false);
    world.setNow("2026-03-10T23:00:00Z");
    expect(await nightly.tick()).toBe(false);
    world.setNow("2026-03-11T02:59:00Z");
    expect(await nightly.tick()).toBe(false);
    world.setNow("2026-03-11T03:01:00Z");
    expect(await nightly.tick()).toBe(true);
    expect(await runs()).toEqual([
      { from: "2026-03-06", to: DAY, name: NIGHTLY, repair: true, state: "finished" },
      { from: "2026-03-07", to: "2026-03-10", name: NIGHTLY, repair: true, state: "finished" },
    ]);
  });

  it("tries a night that failed again, but not for ever", async () => {
    await lossyDay();
    const wait = async (): Promise<void> => {
      throw new Error("the connection was lost");
    };
    await world.rows("INSERT INTO inbox (receipt, received_at, bytes) VALUES (1, now(), 10)");
    const failing = makeReconciler({ wait });
    for (let time = 0; time < 3; time += 1) await expect(failing.tick()).rejects.toThrow("the connection was lost");
    expect(await failing.tick()).toBe(false);
    expect(await runs()).toHaveLength(3);
  });

  it("only looks when told to, and not at all when it is off or there is no key", async () => {
    const lost = await lossyDay();
    expect(await makeReconciler({ nightly: "off" }).tick()).toBe(false);
    expect(await makeReconciler({ isKeySet: false }).tick()).toBe(false);
    expect(await runs()).toEqual([]);
    expect(await makeReconciler({ nightly: "check" }).tick()).toBe(true);
    expect(await world.gapKeys("open")).toEqual(keysOf(lost));
  });

  it("has nothing to check before the first day has ended", async () => {
    const events = traffic("2026-03-10T00:00:00Z", 3, { events: 100 });
    world.happen(events);
    await world.deliver(events.slice(50));
    expect(await makeReconciler().tick()).toBe(false);
    expect(await runs()).toEqual([]);
  });

  it("carries out what people order at once, each order once", async () => {
    const lost = await lossyDay();
    await world.rows(
      "INSERT INTO reconciliation_orders (from_day, to_day, repair, name) VALUES ($1, $1, true, 'Ada'), ($1, $1, false, 'Ben')",
      [DAY],
    );
    const ordered = makeReconciler({ nightly: "off" });
    expect(await ordered.tick()).toBe(true);
    expect(await ordered.tick()).toBe(true);
    expect(await ordered.tick()).toBe(false);
    expect(await world.gapKeys("repaired")).toEqual(keysOf(lost));
    expect(await runs()).toMatchObject([
      { name: "Ada", repair: true },
      { name: "Ben", repair: false },
    ]);
  });

  it("ends an order that cannot be carried out without a key, and says so", async () => {
    await world.rows(
      "INSERT INTO reconciliation_orders (from_day, to_day, repair, name) VALUES ($1, $1, true, 'Ada')",
      [DAY],
    );
    expect(await makeReconciler({ isKeySet: false }).tick()).toBe(true);
    expect(await world.rows("SELECT name, state, error FROM reconciliation_runs")).toEqual([
      { name: "Ada", state: "failed", error: "SENDGRID_API_KEY is not set: SendGrid cannot be asked." },
    ]);
    expect(await world.rows("SELECT * FROM reconciliation_orders")).toEqual([]);
  });

  it("lets one of several processes do it", async () => {
    await lossyDay();
    const ticked = await Promise.all([makeReconciler().tick(), makeReconciler().tick(), makeReconciler().tick()]);
    expect(ticked.filter(Boolean).length).toBeGreaterThanOrEqual(1);
    expect(await runs()).toHaveLength(1);
  });

  it("forgets what belongs to simulated sources when their events are purged, and nothing else", async () => {
    const lost = await lossyDay();
    await world.reconcile({ fromDay: DAY });
    await world.rows("INSERT INTO sources (name, simulated) VALUES ('simulation', true)");
    await world.rows(
      `INSERT INTO gaps (day, account, identity, kind, rule, confidence, source)
       SELECT $1, '', 'simulated', 'open', 'logs', 'confirmed', id FROM sources WHERE simulated`,
      [DAY],
    );
    await world.rows("INSERT INTO tallies (hour, source) SELECT now(), id FROM sources WHERE simulated");
    const forgetting = makeReconciler({ isKeySet: false });
    const count = async (): Promise<unknown> => world.rows("SELECT count(*) FROM gaps");
    await forgetting.tick();
    expect(await count()).toEqual([{ count: lost.length + 1 }]);
    await world.rows("DELETE FROM tallies WHERE source IN (SELECT id FROM sources WHERE simulated)");
    await forgetting.tick();
    expect(await count()).toEqual([{ count: lost.length }]);
    expect(await world.rows("SELECT day FROM reconciliations")).toHaveLength(1);
    await world.rows("DELETE FROM sources WHERE simulated");
  });
});
