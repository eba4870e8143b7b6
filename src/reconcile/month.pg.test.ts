import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  hasTotal,
  keysOf,
  loseEvery,
  reconcileWorld,
  traffic,
  type Happening,
  type ReconcileWorld,
} from "../../test/reconcile-world.ts";
import { accountsOf } from "./accounts.ts";

const ZONE = "Europe/Berlin";
const DAYS = { fromDay: "2026-03-10", toDay: "2026-04-08" };
/** 28 minutes past eight in Berlin, so that traffic crosses midnight; the clocks go forward on 29 March. */
const BEGIN = "2026-03-10T07:28:00Z";
/** SendGrid goes on for 24 h with what is refused: of 30 h without an endpoint, what happened in the first six is lost. */
const OUTAGE = { fromMs: Date.parse("2026-03-28T20:00:00Z"), toMs: Date.parse("2026-03-29T02:00:00Z") };

describe("a month of two accounts", () => {
  let world: ReconcileWorld;

  beforeAll(async () => {
    world = await reconcileWorld();
  });

  afterAll(async () => {
    await world.end();
  });

  function isInOutage({ wire }: Happening): boolean {
    const ms = Number(wire["timestamp"]) * 1000;
    return ms >= OUTAGE.fromMs && ms < OUTAGE.toMs;
  }

  /** 1,300 mails of one minute, each delivered a second later. */
  function burst(): Happening[] {
    const at = Date.parse("2026-03-20T10:00:00Z") / 1000;
    return Array.from({ length: 1_300 }, (_, index) => index).flatMap((index) => {
      const mail = { email: `c${index}@example.com`, sg_message_id: `burst${index}.recvd-1.0`, category: ["burst"] };
      const second = at + Math.floor(index / 22);
      return ["processed", "delivered"].map((event, place) => {
        const wire = { ...mail, event, timestamp: second + place, sg_event_id: `${event}${index}` };
        return { wire, truth: wire };
      });
    });
  }

  it("names exactly what was lost over clock changes, an outage, a burst and subusers, day by day, and repairs it", async () => {
    await world.reset({ timeZone: ZONE, subusers: ["shop-subuser"] });
    world.setNow("2026-04-12T04:00:00Z");
    const main = [...traffic(BEGIN, 29 * 24, { events: 9_000, seed: "main" }), ...burst()];
    const shop = traffic(BEGIN, 29 * 24, { events: 2_000, seed: "shop" });
    world.happen(main);
    world.happen(shop, "shop-subuser");
    const lostHere = loseEvery(main, 150, 20);
    const lost = [...lostHere.lost, ...lostHere.kept.filter((event) => hasTotal(event) && isInOutage(event))];
    const lostShop = loseEvery(shop, 100, 30).lost;
    await world.deliver(main.filter((event) => !lost.includes(event)));
    // A second webhook of the same account brings some events a second time.
    await world.deliver(
      main.filter((event, index) => index % 7 === 0 && !lost.includes(event)),
      "second",
    );
    await world.deliver(
      shop.filter((event) => !lostShop.includes(event)),
      "shop",
    );

    const options = { timeZone: ZONE, accounts: accountsOf(new Map([["shop", "shop-subuser"]])), callsPerMinute: 6 };
    const result = await world.reconcile({ ...DAYS, repair: true }, options);
    const all = [...lost, ...lostShop];
    expect(await world.gapKeys("repaired")).toEqual(keysOf(all));
    expect(await world.gapKeys("open", "ordered", "arrived", "closed")).toEqual([]);
    expect(result).toMatchObject({ outcome: "complete", missing: all.length, repaired: all.length, open: 0 });
    expect(result.days).toHaveLength(60);
    expect(world.api.calls.refused).toBe(0);
    const shopDays = result.days.filter(({ account }) => account === "shop-subuser");
    expect(shopDays.reduce((sum, { missing }) => sum + missing, 0)).toBe(lostShop.length);
    // The day on which clocks went forward has its outage, counted in 23 hours.
    const days = await world.rows<{ day: string; missing: number }>(
      `SELECT (occurred_at AT TIME ZONE '${ZONE}')::date::text AS day, count(*)::int AS missing FROM gaps WHERE account = '' GROUP BY 1 ORDER BY 1`,
    );
    const reported = result.days.filter(({ account, missing }) => account === "" && missing > 0);
    expect(reported.map(({ day, missing }) => ({ day, missing }))).toEqual(days);
    expect(reported.find(({ day }) => day === "2026-03-29")?.missing).toBeGreaterThan(3);

    const again = await world.reconcile({ ...DAYS, repair: true }, options);
    expect(again).toMatchObject({ outcome: "complete", missing: all.length, repaired: all.length });
    expect(await world.rows("SELECT day FROM reconciliation_changes WHERE run > 1")).toEqual([]);
  });
});

describe("the price of a day", () => {
  let world: ReconcileWorld;

  beforeAll(async () => {
    world = await reconcileWorld();
  });

  afterAll(async () => {
    await world.end();
  });

  it("is at most 60 calls for 12,500 events of which a few dozen are missing, and 2 when the totals match", async () => {
    await world.reset();
    world.setNow("2026-03-10T12:00:00Z");
    const events = traffic("2026-03-09T00:00:00Z", 24, { events: 12_500, missingIds: true, twins: true });
    const { lost, kept } = loseEvery(
      events.filter(({ truth }) => truth !== undefined),
      400,
      11,
    );
    world.happen(events);
    await world.deliver([...kept, ...events.filter(({ truth }) => truth === undefined)]);
    const result = await world.reconcile({ fromDay: "2026-03-09", repair: true });
    expect(result).toMatchObject({ outcome: "complete", missing: lost.length, repaired: lost.length });
    expect(await world.gapKeys("repaired")).toEqual(keysOf(lost));
    expect(lost.length).toBeGreaterThan(30);
    expect(result.calls).toBeLessThanOrEqual(60);
    expect(await world.reconcile({ fromDay: "2026-03-09" })).toMatchObject({ calls: 2 });
  });
});
