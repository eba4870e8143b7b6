import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { arbitraryItems } from "../../test/arbitrary-item.ts";
import { readItem, type ParsedEvent } from "./event.ts";
import type { JsonObject } from "./json.ts";
import { mergeStates, type MessageState } from "./merge.ts";
import { batchEvent, groupByMessage, planMessage, type HeldEvent, likenessOf } from "./plan.ts";

function event(item: Record<string, unknown>): ParsedEvent {
  const read = readItem({ timestamp: 1764511327, sg_message_id: "m1", ...(item as JsonObject) }, 0);
  if (!("event" in read)) throw new Error(`not an event: ${read.reason}`);
  return read.event;
}

/** The state that a message has after these deliveries, each filed as a batch of its own. */
function stateAfter(batches: readonly (readonly ParsedEvent[])[]): MessageState | undefined {
  let state: MessageState | undefined;
  const held: HeldEvent[] = [];
  for (const batch of batches) {
    for (const group of groupByMessage(batch.map((entry) => batchEvent({ event: entry, source: 1, receipt: 1 })))) {
      const plan = planMessage(group, held);
      for (const { event: stored } of plan.events)
        held.push({ eventId: stored.eventId, likeness: likenessOf(stored), seen: stored });
      if (plan.state !== undefined) state = state === undefined ? plan.state : mergeStates(state, plan.state);
    }
  }
  return state;
}

describe("a message's state", () => {
  test.each([
    [["processed", "delivered"], "delivered"],
    [["delivered", "processed"], "delivered"],
    [["delivered", "deferred"], "delivered"],
    [["bounce", "delivered"], "bounced"],
    [["open"], "unknown"],
    [["dropped"], "dropped"],
  ])("after %j is %s (cases 51 to 53)", (types, delivery) => {
    const state = stateAfter(types.map((type, index) => [event({ event: type, sg_event_id: `e${index}` })]));
    expect(state?.delivery).toBe(delivery);
  });

  test("is blocked, not bounced, when the bounce says so", () => {
    expect(stateAfter([[event({ event: "bounce", type: "blocked", sg_event_id: "e" })]])?.delivery).toBe("blocked");
  });

  test("counts a machine's open apart from a person's (case 56)", () => {
    const state = stateAfter([
      [
        event({ event: "open", sg_event_id: "a", sg_machine_open: true }),
        event({ event: "open", sg_event_id: "b", sg_machine_open: false }),
      ],
    ]);
    expect(state?.counts).toEqual({ opens: 1, machine_opens: 1, clicks: 0 });
  });

  test("counts a twin once, and a duplicate not at all (cases 45, 46 and 49)", () => {
    const open = { event: "open", useragent: "x" };
    const state = stateAfter([
      [event({ ...open, sg_event_id: "a" }), event({ ...open, sg_event_id: "a" })],
      [event({ ...open, sg_event_id: "b" })],
      [event({ ...open, sg_event_id: "a" })],
    ]);
    expect(state?.counts.opens).toBe(1);
  });

  test("has the first and the last time of each kind", () => {
    const at = (timestamp: number, id: string): ParsedEvent =>
      event({ event: "click", timestamp, sg_event_id: id, url: id });
    const state = stateAfter([[at(1764511400, "b")], [at(1764511300, "a")], [at(1764511500, "c")]]);
    expect(state?.times).toMatchObject({ first_click_at: 1764511300000, last_click_at: 1764511500000 });
    expect(state?.counts.clicks).toBe(3);
  });

  test("is the same in any order, in any batches, with any repetition (promise P3)", () => {
    const scenario = arbitraryItems().chain((items) =>
      fc.record({
        items: fc.constant(items),
        order: fc.shuffledSubarray([...items, ...items], { minLength: items.length * 2 }),
        cuts: fc.array(fc.nat(items.length * 2), { maxLength: 4 }),
      }),
    );
    fc.assert(
      fc.property(scenario, ({ items, order, cuts }) => {
        const batches: ParsedEvent[][] = [];
        let from = 0;
        for (const to of [...cuts, order.length].sort((a, b) => a - b)) {
          batches.push(order.slice(from, to).map(event));
          from = to;
        }
        expect(stateAfter(batches)).toEqual(stateAfter([items.map(event)]));
      }),
      { numRuns: 500 },
    );
  });
});
