import fc from "fast-check";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import {
  hasTotal,
  keysOf,
  loseEvery,
  reconcileWorld,
  traffic,
  type Happening,
  type ReconcileWorld,
} from "../../test/reconcile-world.ts";
import type { RecordsClient } from "../sendgrid/records-client.ts";
import type { ChangeReason } from "./changes.ts";
import type { ReconcileRequest } from "./run.ts";

const DAY = "2026-03-09";
const ALL_STATES = ["open", "ordered", "repaired", "arrived", "closed"] as const;

describe("reconciliation", () => {
  let world: ReconcileWorld;

  beforeAll(async () => {
    world = await reconcileWorld();
  });

  beforeEach(async () => {
    await world.reset();
    world.setNow("2026-03-10T12:00:00Z");
  });

  afterAll(async () => {
    await world.end();
  });

  /** A day of which some events are lost. */
  async function lossyDay(n = 30, offset = 7): Promise<{ events: Happening[]; lost: Happening[] }> {
    const events = traffic(`${DAY}T00:00:00Z`, 24);
    const { lost, kept } = loseEvery(events, n, offset);
    world.happen(events);
    await world.deliver(kept);
    return { events, lost };
  }

  /** The reasons of each change. */
  async function changes(): Promise<ChangeReason[][]> {
    const rows = await world.rows<{ reasons: ChangeReason[] }>(
      "SELECT reasons FROM reconciliation_changes ORDER BY id",
    );
    return rows.map(({ reasons }) => reasons);
  }

  it("says with two calls that nothing is missing when all totals match", async () => {
    const events = traffic(`${DAY}T00:00:00Z`, 24);
    world.happen(events);
    await world.deliver(events);
    const result = await world.reconcile({ fromDay: DAY });
    expect(result).toMatchObject({ outcome: "complete", missing: 0, calls: 2 });
    expect(result.days).toMatchObject([{ day: DAY, account: "", state: "equal", final: false, missing: 0 }]);
    expect(world.tightCalls()).toBe(1);
  });

  it.each([
    ["both APIs", ["logs", "messages"]],
    ["Email Logs", ["logs"]],
    ["the Messages API", ["messages"]],
  ] as const)(
    "names exactly the events that no webhook brought, and files them when told to, with %s",
    async (_, apis) => {
      const { lost } = await lossyDay();
      const found = await world.reconcile({ fromDay: DAY }, { apis });
      expect(await world.gapKeys("open")).toEqual(keysOf(lost));
      expect(found).toMatchObject({ outcome: "missing", missing: lost.length, open: lost.length, repaired: 0 });
      const repaired = await world.reconcile({ fromDay: DAY, repair: true }, { apis });
      expect(repaired).toMatchObject({ outcome: "complete", missing: lost.length, open: 0, repaired: lost.length });
      expect(await world.gapKeys("repaired")).toEqual(keysOf(lost));
      expect(await world.gapKeys(...ALL_STATES)).toEqual(keysOf(lost));
      expect(repaired.days).toMatchObject([{ state: "repaired" }]);
    },
  );

  it("gives the same answer when a day is checked again, and says what changed when it did", async () => {
    const { lost } = await lossyDay();
    await world.reconcile({ fromDay: DAY });
    const before = await world.rows("SELECT state, missing, repaired, open, kinds FROM reconciliations");
    await world.reconcile({ fromDay: DAY });
    expect(await world.rows("SELECT state, missing, repaired, open, kinds FROM reconciliations")).toEqual(before);
    expect(await changes()).toEqual([]);
    await world.reconcile({ fromDay: DAY, repair: true });
    expect((await changes())[0]).toContainEqual(expect.objectContaining({ code: "repaired" }));
    await world.reconcile({ fromDay: DAY, repair: true });
    expect(await changes()).toHaveLength(1);
    await world.deliver(lost);
    const late = await world.reconcile({ fromDay: DAY });
    expect(late).toMatchObject({ outcome: "complete", missing: 0, repaired: 0, calls: 2 });
    expect(await world.gapKeys("arrived")).toEqual(keysOf(lost));
    expect((await changes())[1]).toContainEqual(expect.objectContaining({ code: "late" }));
  });

  it("lets an event that arrives before its repair close its gap by itself", async () => {
    const { lost } = await lossyDay();
    await world.reconcile({ fromDay: DAY });
    await world.deliver(lost);
    const result = await world.reconcile({ fromDay: DAY, repair: true });
    expect(result).toMatchObject({ outcome: "complete", missing: 0, repaired: 0 });
    expect(await world.gapKeys("arrived")).toEqual(keysOf(lost));
    expect(await world.rows("SELECT * FROM repairs")).toEqual([]);
  });

  it("finds nothing where events came twice, out of order, as twins, or without their ids", async () => {
    const events = traffic(`${DAY}T00:00:00Z`, 24, { twins: true, missingIds: true });
    world.happen(events);
    await world.deliver(events.toReversed());
    await world.deliver(events.slice(0, 200), "second");
    const result = await world.reconcile({ fromDay: DAY, repair: true });
    expect(await world.gapKeys(...ALL_STATES)).toEqual([]);
    expect(result).toMatchObject({ outcome: "complete", missing: 0, repaired: 0, open: 0 });
  });

  it("does not take an event for missing whose id was changed on its way", async () => {
    const { events, lost } = await lossyDay();
    const kept = events.filter((event) => !lost.includes(event));
    await world.reset();
    world.happen(events);
    await world.deliver(
      kept.map(({ wire, truth }, index) => ({
        truth,
        wire: index % 50 === 3 ? Object.assign({}, wire, { sg_event_id: `changed${index}` }) : wire,
      })),
    );
    const result = await world.reconcile({ fromDay: DAY, repair: true });
    expect(await world.gapKeys("repaired")).toEqual(keysOf(lost));
    expect(result).toMatchObject({ outcome: "complete", missing: lost.length, repaired: lost.length });
  });

  it("finds what the webhook lost of a mail whose first event is of the day before", async () => {
    const events = traffic("2026-03-08T00:00:00Z", 48);
    const isLate = ({ wire }: Happening): boolean =>
      wire["event"] === "open" && Number(wire["timestamp"]) >= Date.parse(`${DAY}T00:00:00Z`) / 1000;
    const first = new Map<unknown, number>();
    for (const { wire } of events) {
      if (!first.has(wire["sg_message_id"])) first.set(wire["sg_message_id"], Number(wire["timestamp"]));
    }
    const lost = events.filter(
      (event) => isLate(event) && (first.get(event.wire["sg_message_id"]) ?? 0) < Date.parse(`${DAY}T00:00:00Z`) / 1000,
    );
    expect(lost.length).toBeGreaterThan(0);
    world.happen(events);
    await world.deliver(events.filter((event) => !lost.includes(event)));
    await world.reconcile({ fromDay: DAY, repair: true });
    expect(await world.gapKeys("repaired")).toEqual(keysOf(lost));
  });

  it("decides by lists where SendGrid tells no totals", async () => {
    const { lost } = await lossyDay();
    const { client } = world.options();
    const withoutTotals: RecordsClient = { ...client, stats: async () => ({ kind: "forbidden", reason: "no scope" }) };
    const result = await world.reconcile({ fromDay: DAY, repair: true }, { client: withoutTotals });
    // Lists do not show a deferral before a delivery, a complaint, or an unsubscription.
    const shown = lost.filter(({ wire }) =>
      ["processed", "delivered", "open", "click", "bounce", "dropped"].includes(String(wire["event"])),
    );
    expect(await world.gapKeys("repaired")).toEqual(expect.arrayContaining(keysOf(shown)));
    expect(result.days).toMatchObject([{ state: "repaired" }]);
    expect(result.days[0]?.kinds.every(({ sendgrid }) => sendgrid === null)).toBe(true);
  });

  it("says what totals and rules say where neither list may be asked, and that of the rest it cannot know", async () => {
    const { lost } = await lossyDay();
    world.setNow("2026-03-14T12:00:00Z");
    await world.reset({ logsAllowed: false, messagesAllowed: false });
    const { events } = { events: traffic(`${DAY}T00:00:00Z`, 24) };
    world.happen(events);
    await world.deliver(events.filter((event) => !keysOf(lost).includes(keysOf([event])[0] ?? "")));
    const result = await world.reconcile({ fromDay: DAY, repair: true });
    expect(result).toMatchObject({ outcome: "missing", missing: lost.length, repaired: 0, open: lost.length });
    expect(result.days).toMatchObject([{ state: "missing", final: true }]);
    expect(await world.gapKeys(...ALL_STATES)).toEqual([]);
    const suspected = await world.rows<{ rule: string }>(
      "SELECT DISTINCT rule FROM gaps WHERE state = 'open' ORDER BY rule",
    );
    expect(suspected.map(({ rule }) => rule)).toContain("delivered_without_processed");
  });

  it("follows SendGrid's totals when they move days later", async () => {
    const events = traffic(`${DAY}T00:00:00Z`, 24);
    const opens = events.filter(({ wire }) => wire["event"] === "open");
    const lost = opens.slice(0, 3);
    world.happen(events);
    world.api.moveStats(DAY, { opens: -3 });
    await world.deliver(events.filter((event) => !lost.includes(event)));
    expect(await world.reconcile({ fromDay: DAY })).toMatchObject({ outcome: "complete", missing: 0 });
    world.api.moveStats(DAY, { opens: 3 });
    expect(await world.reconcile({ fromDay: DAY })).toMatchObject({ outcome: "missing", missing: 3 });
    expect(await world.gapKeys("open")).toEqual(keysOf(lost));
    const moved = { code: "total_moved", kind: "open", before: opens.length - 3, after: opens.length };
    expect((await changes())[0]?.[0]).toEqual(moved);
  });

  it("shows what the ledger holds beyond SendGrid's totals, and does not call it a fault", async () => {
    const events = traffic(`${DAY}T00:00:00Z`, 24);
    world.happen(events);
    await world.deliver([
      ...events,
      { wire: { ...events[0]?.wire, event: "click", sg_event_id: "forged" }, truth: undefined },
    ]);
    const result = await world.reconcile({ fromDay: DAY });
    expect(result).toMatchObject({ outcome: "complete", missing: 0 });
    expect(result.days[0]?.kinds.find(({ kind }) => kind === "click")).toMatchObject({ surplus: 1, missing: 0 });
  });

  it("waits out SendGrid's 429 and finds the same", async () => {
    const { lost } = await lossyDay();
    const result = await world.reconcile(
      {
        fromDay: DAY,
        repair: true,
        onStep: ({ calls }) => world.api.fault(calls % 10 === 5 ? "429" : undefined),
      },
      {
        async wait(seconds) {
          world.api.fault(undefined);
          world.advance(seconds);
        },
      },
    );
    expect(world.api.calls.refused).toBeGreaterThan(0);
    expect(result).toMatchObject({ outcome: "complete", missing: lost.length, repaired: lost.length });
    expect(await world.gapKeys("repaired")).toEqual(keysOf(lost));
  });

  it("leaves open as a number what it has no calls for, and says how much it asked for", async () => {
    const { lost } = await lossyDay();
    const callLimits = { day: 6, guesses: 0 };
    const result = await world.reconcile({ fromDay: DAY, repair: true }, { callLimits });
    expect(result).toMatchObject({ outcome: "missing", missing: lost.length });
    expect(result.repaired).toBeGreaterThan(0);
    expect(result.open).toBe(lost.length - result.repaired);
    expect(world.tightCalls()).toBe(6);
    const [day] = result.days;
    expect(day?.checked).toMatchObject({ lists: 1, messages: 5 });
    expect(day?.kinds.filter(({ open }) => open > 0).every(({ confidence }) => confidence === "partial")).toBe(true);
    // The next run has new calls, and goes on from what is left.
    await world.reconcile({ fromDay: DAY, repair: true });
    expect(await world.gapKeys("repaired")).toEqual(keysOf(lost));
  });

  it("goes on without an API that does not answer, and says that it could not ask", async () => {
    const { lost } = await lossyDay();
    world.api.fault("500");
    const result = await world.reconcile({ fromDay: DAY, repair: true });
    expect(result).toMatchObject({ outcome: "unknown", missing: 0 });
    // A rule needs no API.
    expect(result.days).toMatchObject([{ state: "suspected" }]);
    world.api.fault(undefined);
    expect(await world.reconcile({ fromDay: DAY, repair: true })).toMatchObject({ repaired: lost.length, open: 0 });
  });

  it("waits for receipts that wait to be projected, and fails when nobody projects them", async () => {
    await world.rows("INSERT INTO inbox (receipt, received_at, bytes) VALUES (1, now(), 10)");
    await expect(world.reconcile({ fromDay: DAY })).rejects.toThrow("receipts wait to be projected");
    expect(await world.rows("SELECT state FROM reconciliation_runs")).toEqual([{ state: "failed" }]);
    let waits = 0;
    const wait = async (): Promise<void> => {
      waits += 1;
      if (waits === 3) await world.rows("DELETE FROM inbox");
    };
    expect(await world.reconcile({ fromDay: DAY }, { wait })).toMatchObject({ outcome: "complete" });
    expect(waits).toBe(3);
  });

  it("goes on where an interrupted run stopped", async () => {
    const { lost } = await lossyDay();
    const abort = new AbortController();
    const stopped = await world.reconcile({
      fromDay: DAY,
      repair: true,
      signal: abort.signal,
      onStep: ({ calls }) => calls >= 12 && abort.abort(),
    });
    expect(stopped).toMatchObject({ outcome: "interrupted" });
    const calls = world.tightCalls();
    const result = await world.reconcile({ fromDay: DAY, repair: true });
    expect(result).toMatchObject({ outcome: "complete", missing: lost.length, repaired: lost.length });
    expect(await world.gapKeys("repaired")).toEqual(keysOf(lost));
    const runs = await world.rows("SELECT state, calls FROM reconciliation_runs");
    expect(runs).toEqual([{ state: "finished", calls: result.calls }]);
    expect(result.calls).toBeGreaterThan(world.tightCalls() - calls);
  });

  it("never runs twice at once: a second run waits for the first", async () => {
    const { lost } = await lossyDay();
    const phases: string[] = [];
    const run = async (): Promise<number> => {
      const onStep: ReconcileRequest["onStep"] = ({ phase }) => phases.push(phase);
      const result = await world.reconcile({ fromDay: DAY, repair: true, onStep });
      expect(result).toMatchObject({ outcome: "complete", missing: lost.length, repaired: lost.length });
      return result.calls;
    };
    const calls = await Promise.all([run(), run()]);
    expect(Math.min(...calls)).toBe(2);
    expect(Math.max(...calls)).toBeGreaterThan(lost.length);
    expect(phases).toContain("waiting");
    expect(await world.gapKeys("repaired")).toEqual(keysOf(lost));
  });

  it.each([
    ["Email Logs", ["logs"]],
    ["the Messages API", ["messages"]],
    ["both", ["logs", "messages"]],
  ] as const)("names exactly what was lost, whatever it was, with %s", async (_, apis) => {
    const events = traffic(`${DAY}T00:00:00Z`, 24, { events: 150, seed: "any" });
    const losable = events.filter(hasTotal);
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(fc.nat(losable.length - 1), { maxLength: 150 }), async (indexes) => {
        await world.reset({ callsPerMinute: Infinity });
        const lost = new Set(indexes.map((index) => losable[index]));
        world.happen(events);
        await world.deliver(events.filter((event) => !lost.has(event)));
        const result = await world.reconcile({ fromDay: DAY }, { apis, callsPerMinute: 6_000 });
        expect(await world.gapKeys(...ALL_STATES)).toEqual(keysOf([...lost].flatMap((event) => event ?? [])));
        expect(result).toMatchObject({ missing: lost.size, open: lost.size });
      }),
      { numRuns: 8 },
    );
  });
});
