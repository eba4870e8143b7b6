import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { keysOf, reconcileWorld, type Happening, type ReconcileWorld } from "../../test/reconcile-world.ts";

const DAY = "2026-03-09";
const NOON = Date.parse(`${DAY}T12:00:00Z`) / 1000;

/** Events of one mail: type, seconds after noon, and further fields. */
type Told = readonly [type: string, at: number, fields?: Record<string, unknown>];

function mail(name: string, ...told: readonly Told[]): Happening[] {
  return told.map(([event, at, fields]) => {
    const wire = {
      email: `${name.split(".")[0]}@example.com`,
      sg_message_id: name.includes(".") ? name : `${name}.recvd-1.0`,
      event,
      timestamp: NOON + at,
      sg_event_id: Buffer.from(`${event}-${name}-${at}-${"x".repeat(12)}`).toString("base64url"),
      ...fields,
    };
    return { wire, truth: wire };
  });
}

/** Mail that is complete, so that there is something to look through. */
function others(count: number): Happening[] {
  return Array.from({ length: count }, (_, index) =>
    mail(`other${index}`, ["processed", index], ["delivered", index + 1], ["open", index + 60]),
  ).flat();
}

function attemptId(name: string, attempt: number): string {
  return Buffer.from(`delivered-${attempt}-4711-${name}-0`).toString("base64url");
}

describe("what points at a missing event", () => {
  let world: ReconcileWorld;

  beforeAll(async () => {
    world = await reconcileWorld();
  });

  beforeEach(async () => {
    world.setNow("2026-03-10T12:00:00Z");
    await world.reset();
  });

  afterAll(async () => {
    await world.end();
  });

  it.each<[string, Happening[], number, number]>([
    ["a delivery without its processing", mail("a", ["processed", 0], ["delivered", 1]), 0, 2],
    ["an open without its delivery", mail("a", ["processed", 0], ["delivered", 1], ["open", 9]), 1, 2],
    [
      "the number of an attempt that says of an earlier one",
      mail(
        "a",
        ["processed", 0],
        ["deferred", 1, { attempt: "0" }],
        ["deferred", 61, { attempt: "1" }],
        ["delivered", 400],
      ),
      1,
      2,
    ],
    [
      "the number of the attempt in the id of a delivery",
      mail(
        "a",
        ["processed", 0],
        ["deferred", 1, { attempt: "0" }],
        ["delivered", 61, { sg_event_id: attemptId("a", 1) }],
      ),
      1,
      2,
    ],
    [
      "an address on the list of those who complained",
      mail("a", ["processed", 0], ["delivered", 1], ["open", 9], ["spamreport", 99]),
      3,
      3,
    ],
    [
      "an address on the list of those who unsubscribed",
      mail("a", ["processed", 0], ["delivered", 1], ["unsubscribe", 99]),
      2,
      3,
    ],
    [
      "a hole in the numbers of the copies of one send",
      [
        ...mail("s.recvd-1.0", ["processed", 0]),
        ...mail("s.recvd-1.1", ["processed", 0]),
        ...mail("s.recvd-1.2", ["processed", 0]),
      ],
      1,
      2,
    ],
  ])("is %s: Email Logs are asked for that message alone", async (_, told, lostAt, callsMax) => {
    const lost = told.slice(lostAt, lostAt + 1);
    const all = [...others(50), ...told];
    world.happen(all);
    await world.deliver(all.filter((event) => !lost.includes(event)));
    const result = await world.reconcile({ fromDay: DAY, repair: true }, { apis: ["logs"] });
    expect(result).toMatchObject({ outcome: "complete", missing: 1, repaired: 1 });
    expect(await world.gapKeys("repaired")).toEqual(keysOf(lost));
    expect(world.tightCalls()).toBe(1);
    expect(result.calls).toBeLessThanOrEqual(callsMax);
  });

  it("is a group unsubscription that only a list of the Messages API shows, since SendGrid has no total of it", async () => {
    const told = mail("a", ["processed", 0], ["delivered", 1], ["group_unsubscribe", 99]);
    world.happen([...others(50), ...told]);
    await world.deliver([...others(50), ...told.slice(0, 2)]);
    const result = await world.reconcile({ fromDay: DAY, repair: true });
    expect(result).toMatchObject({ outcome: "complete", missing: 1, repaired: 1, calls: 3 });
    expect(await world.gapKeys("repaired")).toEqual(keysOf(told.slice(2)));
  });

  it("is nothing while an event may still be on its way", async () => {
    world.setNow(`${DAY}T12:01:30Z`);
    const told = mail("a", ["processed", 0], ["delivered", 1]);
    world.happen([...others(1), ...told]);
    await world.deliver([...others(1), ...told.slice(1)]);
    const result = await world.reconcile({ fromDay: DAY });
    expect(result).toMatchObject({ outcome: "complete", missing: 0 });
    expect(await world.rows("SELECT * FROM gaps")).toEqual([]);
  });

  it("is only suspected while SendGrid cannot be asked, for as long as the rule says so", async () => {
    const told = mail("a", ["processed", 0], ["delivered", 1], ["open", 9]);
    await world.reset({ logsAllowed: false, messagesAllowed: false });
    const refusing = {
      ...world.options().client,
      stats: async () => ({ kind: "forbidden" as const, reason: "no scope" }),
    };
    const check = async (): Promise<unknown> => {
      const { days, missing } = await world.reconcile({ fromDay: DAY }, { client: refusing });
      return [days[0]?.state, missing];
    };
    world.happen(told);
    await world.deliver(told.filter(({ wire }) => wire["event"] !== "delivered"));
    // A day is given to what may be late.
    expect(await check()).toEqual(["unknown", 0]);
    world.setNow("2026-03-10T15:00:00Z");
    expect(await check()).toEqual(["suspected", 0]);
    expect(await world.rows("SELECT rule, confidence, kind, state, day::text FROM gaps")).toEqual([
      { rule: "opened_without_delivered", confidence: "suspected", kind: "delivered", state: "open", day: DAY },
    ]);
    await world.deliver(told);
    expect(await check()).toEqual(["unknown", 0]);
    expect(await world.rows("SELECT state FROM gaps")).toEqual([{ state: "closed" }]);
  });

  it("is suspected of mails that were processed or deferred and never ended, after the 72 hours of trying", async () => {
    const told = [...mail("a", ["processed", 0]), ...mail("b", ["processed", 0], ["deferred", 5, { attempt: "0" }])];
    await world.reset({ logsAllowed: false, messagesAllowed: false });
    world.happen([...told, ...mail("a", ["delivered", 9]), ...mail("b", ["delivered", 99])]);
    await world.deliver(told);
    world.setNow("2026-03-12T12:00:00Z");
    await world.reconcile({ fromDay: DAY });
    expect(await world.rows("SELECT * FROM gaps")).toEqual([]);
    world.setNow("2026-03-12T15:30:00Z");
    const result = await world.reconcile({ fromDay: DAY });
    expect(await world.rows("SELECT rule FROM gaps ORDER BY rule")).toEqual([
      { rule: "deferred_without_end" },
      { rule: "processed_without_end" },
    ]);
    // The totals say for certain that as many are missing.
    expect(result).toMatchObject({ outcome: "missing", missing: 2, open: 2 });
  });

  it("asks with half of the calls while enrichment has something to ask", async () => {
    const told = Array.from({ length: 12 }, (_, index) => mail(`m${index}`, ["processed", 0], ["delivered", 1])).flat();
    world.happen(told);
    await world.deliver(told.filter((_, index) => index % 2 === 1));
    const begin = world.now().getTime();
    await world.reconcile({ fromDay: DAY }, { apis: ["logs"] });
    const alone = world.now().getTime() - begin;
    await world.reset();
    world.happen(told);
    await world.deliver(told.filter((_, index) => index % 2 === 1));
    await world.rows("UPDATE enrichments SET state = 'pending', next_attempt_at = '2026-03-01'");
    const beginShared = world.now().getTime();
    await world.reconcile({ fromDay: DAY }, { apis: ["logs"] });
    expect(world.now().getTime() - beginShared).toBeGreaterThan(alone * 1.5);
    expect(world.api.calls.refused).toBe(0);
  });
});
