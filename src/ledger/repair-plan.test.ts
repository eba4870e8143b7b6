import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ParsedEvent } from "./event.ts";
import { batchEvent, groupByMessage, likenessOf, type BatchEvent, type HeldEvent } from "./plan.ts";
import { readRepairItem, repairCopy } from "./repair-item.ts";
import { planGroup } from "./repair-plan.ts";
import { hasOwnId, isSameEvent } from "./same-event.ts";

function event(item: Record<string, unknown> = {}): ParsedEvent {
  const whole = { event: "open", timestamp: 1764511327, email: "a@example.com", sg_message_id: "m", ...item };
  const read = readRepairItem(JSON.stringify(whole));
  if (read === undefined) throw new Error("not an event");
  return read;
}

const webhook = (item: Record<string, unknown>): BatchEvent =>
  batchEvent({ event: event(item), source: 1, receipt: 1 });
let gaps = 0;
function order(item: Record<string, unknown> = {}): BatchEvent {
  gaps += 1;
  return batchEvent({ event: event(item), source: 1, receipt: null, order: { gap: gaps, origin: "messages" } });
}

/** What is held after these batches, each planned on what those before it left. */
function heldAfter(batches: readonly (readonly BatchEvent[])[]): HeldEvent[] {
  let held: HeldEvent[] = [];
  for (const batch of batches) {
    for (const group of groupByMessage(batch)) {
      const plan = planGroup(group, held);
      const gone = new Set(plan.repairs?.replaced.map(({ eventId }) => eventId));
      held = held.filter(({ eventId }) => !gone.has(eventId));
      for (const entry of plan.events) held.push(asHeld(entry, entry.twin));
    }
  }
  return held;
}

function asHeld({ event: filed, order: of }: BatchEvent, twin: boolean): HeldEvent {
  const copy = hasOwnId(filed) ? undefined : repairCopy(filed.detail["holdfast_copy"]);
  const repaired = of === undefined ? undefined : { twin, copy };
  return { eventId: filed.eventId, likeness: likenessOf(filed), seen: filed, repaired };
}

describe("two records tell of the same event", () => {
  const click = { event: "click", url: "https://example.com/1" };
  test.each([
    ["by one id, whatever else they say", { sg_event_id: "a" }, { sg_event_id: "a", event: "click" }, true],
    ["not by two ids, however alike", { sg_event_id: "a" }, { sg_event_id: "b" }, false],
    ["by type, second and recipient, where one has no id", { sg_event_id: "a" }, { email: "A@Example.com" }, true],
    ["within the second", { sg_event_id: "a", timestamp: 1764511327.9 }, {}, true],
    ["not beyond it", { sg_event_id: "a", timestamp: 1764511328 }, {}, false],
    ["not of another recipient", { sg_event_id: "a", email: "b@example.com" }, {}, false],
    ["not of none", { sg_event_id: "a", email: undefined }, {}, false],
    ["of one url", { ...click, sg_event_id: "a" }, click, true],
    ["of a url that one does not tell", { ...click, sg_event_id: "a" }, { event: "click" }, true],
    ["not of two urls", { ...click, sg_event_id: "a" }, { ...click, url: "https://example.com/2" }, false],
  ])("%s", (_what, a, b, expected) => {
    expect(isSameEvent(event(a), event(b))).toBe(expected);
    expect(isSameEvent(event(b), event(a))).toBe(expected);
  });
});

describe("the item of an order", () => {
  test("gives its own keys to no custom arg, and to the fingerprint", () => {
    const [one, two] = [event({ holdfast_copy: 1, order_id: 5 }), event({ holdfast_copy: 2, order_id: 5 })];
    expect(one).toMatchObject({ args: { order_id: "5" }, detail: { holdfast_copy: "1" } });
    expect(one.args).not.toHaveProperty("holdfast_copy");
    expect(one.eventId).not.toBe(two.eventId);
  });

  test.each([
    ["2", 2],
    [2, 2],
    ["0", undefined],
    ["-1", undefined],
    ["1.5", undefined],
    ["x", undefined],
    [null, undefined],
    [undefined, undefined],
  ])("is the copy that it says: %j is %j", (value, copy) => {
    expect(repairCopy(value)).toBe(copy);
  });
});

describe("the plan of a message", () => {
  test("lets a webhook take the place of the repaired event that looks the same, before one that only may be the same", () => {
    const held = heldAfter([[order({ holdfast_copy: 1, url: "u" }), order({ holdfast_copy: 2 })]]);
    const [group] = groupByMessage([webhook({ sg_event_id: "a" })]);
    const plan = group === undefined ? undefined : planGroup(group, held);
    expect(plan?.repairs?.replaced).toMatchObject([{ eventId: held[1]?.eventId, by: { event: { eventId: "a" } } }]);
  });

  test("gives what takes another's place that one's part among its twins", () => {
    const held = heldAfter([[order({ holdfast_copy: 1 }), order({ holdfast_copy: 2 })]]);
    expect(held.map(({ repaired }) => repaired?.twin)).toEqual([false, true]);
    const [group] = groupByMessage([webhook({ sg_event_id: "a" }), webhook({ sg_event_id: "b" })]);
    const plan = group === undefined ? undefined : planGroup(group, held);
    expect(plan?.events.map(({ twin }) => twin)).toEqual([false, true]);
    expect(plan?.state?.counts.opens).toBe(1);
  });

  test("files an order with an id before those without, so that nothing of a batch gives way to another part of it", () => {
    const held = heldAfter([[order(), order({ sg_event_id: "a" })]]);
    expect(held.map(({ eventId }) => eventId)).toEqual(["a"]);
  });

  test("of n events that cannot be told apart never has more than n, and in the end only the webhook's", () => {
    // Each step delivers or orders one of n; at the end all are delivered.
    const arbitrary = fc.integer({ min: 1, max: 5 }).chain((n) =>
      fc.record({
        n: fc.constant(n),
        steps: fc.array(
          fc.record({ what: fc.constantFrom("webhook", "copy", "log"), which: fc.integer({ min: 1, max: n }) }),
          { maxLength: 15 },
        ),
      }),
    );
    fc.assert(
      fc.property(arbitrary, ({ n, steps }) => {
        const id = (which: number): Record<string, unknown> => ({ sg_event_id: `e${which}` });
        const all = Array.from({ length: n }, (_one, index) => [webhook(id(index + 1))]);
        const batches = steps.map(({ what, which }) => {
          if (what === "webhook") return [webhook(id(which))];
          return [order(what === "log" ? id(which) : { holdfast_copy: which })];
        });
        for (let end = 0; end <= batches.length; end += 1) {
          expect(heldAfter(batches.slice(0, end)).length).toBeLessThanOrEqual(n);
        }
        const held = heldAfter([...batches, ...all]);
        expect(held.map(({ eventId }) => eventId).sort()).toEqual(
          Array.from({ length: n }, (_one, index) => `e${index + 1}`),
        );
        expect(held.every(({ repaired }) => repaired === undefined)).toBe(true);
      }),
      { numRuns: 2000 },
    );
  });

  test("files all copies that are missing, in any order, and no other", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 4 }),
        fc.shuffledSubarray([1, 2, 3, 4, 5, 6, 7], { minLength: 7 }),
        (brought, copies) => {
          const items = Array.from({ length: brought }, (_one, index) => webhook({ sg_event_id: `e${index}` }));
          const held = heldAfter([items, ...copies.map((copy) => [order({ holdfast_copy: copy })])]);
          expect(held).toHaveLength(7);
        },
      ),
    );
  });
});
