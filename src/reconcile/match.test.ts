import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { RecordedEvent } from "../sendgrid/record-types.ts";
import { matchEvents, type HeldEvent } from "./match.ts";

function recorded(type: string, second: number, eventId?: string, url?: string): RecordedEvent {
  return { type, occurredAtMs: second * 1000, eventId, item: { event: type, ...(url === undefined ? {} : { url }) } };
}

function held(type: string, second: number, eventId: string, twin = false): HeldEvent {
  return { type, second, eventId, twin, url: null };
}

function byText(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}

describe("matchEvents", () => {
  it("finds by id what the ledger lacks", () => {
    const { missing } = matchEvents([recorded("open", 1, "a"), recorded("open", 1, "b")], [held("open", 1, "a")]);
    expect(missing.map(({ event, n }) => [event.eventId, n])).toEqual([["b", 2]]);
  });

  it("takes a row of the same type and second for an event whose id it has not", () => {
    expect(matchEvents([recorded("open", 1, "a")], [held("open", 1, "fp:x")]).missing).toEqual([]);
    expect(matchEvents([recorded("open", 1, "a")], [held("open", 2, "fp:x")]).missing).toHaveLength(1);
  });

  it("counts alike events of a record without ids", () => {
    const events = [recorded("open", 1), recorded("open", 1), recorded("open", 1)];
    const { missing } = matchEvents(events, [held("open", 1, "a")]);
    expect(missing.map(({ n }) => n)).toEqual([2, 3]);
  });

  it("tells clicks of one second apart by their urls", () => {
    const events = [recorded("click", 1, undefined, "x"), recorded("click", 1, undefined, "y")];
    const { missing } = matchEvents(events, [{ ...held("click", 1, "a"), url: "x" }]);
    expect(missing.map(({ event, n }) => [event.item["url"], n])).toEqual([["y", 1]]);
  });

  it("says which twins SendGrid counts as events of their own", () => {
    const rows = [held("open", 1, "a"), held("open", 1, "b", true)];
    const byId = matchEvents([recorded("open", 1, "a"), recorded("open", 1, "b")], rows);
    expect([byId.missing, byId.counted.map(({ eventId }) => eventId)]).toEqual([[], ["b"]]);
    expect(matchEvents([recorded("open", 1)], rows)).toEqual({ missing: [], counted: [] });
    expect(matchEvents([recorded("open", 1), recorded("open", 1)], rows).counted).toHaveLength(1);
  });

  it("misses exactly what was taken away, with ids and without", () => {
    const event = fc.record({
      type: fc.constantFrom("open", "click", "deferred"),
      second: fc.nat(3),
      lost: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(event, { maxLength: 20 }), fc.boolean(), (events, hasIds) => {
        const rows = events.flatMap(({ type, second, lost }, index) =>
          lost ? [] : [held(type, second, `id${index}`)],
        );
        const record = events.map(({ type, second }, index) =>
          recorded(type, second, hasIds ? `id${index}` : undefined),
        );
        const { missing } = matchEvents(record, rows);
        const key = (type: string, second: number, id: string | undefined): string => `${type} ${second} ${id}`;
        const lost = events.flatMap(({ type, second, lost: isLost }, index) =>
          isLost ? [key(type, second, hasIds ? `id${index}` : undefined)] : [],
        );
        expect(
          missing.map(({ event: found, second }) => key(found.type, second, found.eventId)).toSorted(byText),
        ).toEqual(lost.toSorted(byText));
      }),
    );
  });
});
