import { describe, expect, it } from "vitest";
import { type ChangeReason, reasonsFor, type Figures } from "./changes.ts";

const OPEN = { kind: "open" as const, sendgrid: 10, held: 10, repaired: 0, missing: 0, open: 0, surplus: 0 };

function figures(changes: Partial<Figures> = {}, kind: Partial<typeof OPEN> = {}): Figures {
  return { state: "equal", final: false, missing: 0, repaired: 0, open: 0, kinds: [{ ...OPEN, ...kind }], ...changes };
}

describe("why a result changed", () => {
  it("says nothing of a result that is the same", () => {
    expect(reasonsFor(figures(), figures())).toEqual([]);
  });

  it.each<[string, Figures, Figures, ChangeReason[]]>([
    [
      "SendGrid's total",
      figures(),
      figures({}, { sendgrid: 11 }),
      [{ code: "total_moved", kind: "open", before: 10, after: 11 }],
    ],
    [
      "a total that was unknown",
      figures({}, { sendgrid: 10 }),
      figures({ kinds: [{ ...OPEN, sendgrid: null }] }),
      [{ code: "total_moved", kind: "open", before: 10, after: null }],
    ],
    ["late events", figures({}, { held: 9 }), figures({}, { held: 10 }), [{ code: "late", kind: "open", count: 1 }]],
    ["lost events", figures({}, { held: 10 }), figures({}, { held: 7 }), [{ code: "left", kind: "open", count: 3 }]],
    [
      "repairs",
      figures({}, { held: 8, missing: 2, open: 2 }),
      figures({}, { held: 10, repaired: 2, missing: 2 }),
      [{ code: "repaired", kind: "open", count: 2 }],
    ],
    [
      "a webhook's event in the place of a repaired one",
      figures({}, { repaired: 2, missing: 2 }),
      figures({}, { repaired: 1, missing: 1 }),
      [
        { code: "late", kind: "open", count: 1 },
        { code: "replaced", kind: "open", count: 1 },
      ],
    ],
    [
      "found gaps",
      figures(),
      figures({}, { missing: 3, open: 3 }),
      [{ code: "found_missing", kind: "open", count: 3 }],
    ],
    ["gaps that were none", figures({}, { missing: 1 }), figures(), [{ code: "not_missing", kind: "open", count: 1 }]],
    [
      "a surplus",
      figures(),
      figures({}, { surplus: 2 }),
      [{ code: "surplus_moved", kind: "open", before: 0, after: 2 }],
    ],
    ["time", figures(), figures({ final: true }), [{ code: "final" }]],
    ["an answer", figures({ state: "unknown" }), figures(), [{ code: "answered" }]],
    ["no answer", figures(), figures({ state: "unknown" }), [{ code: "unanswered" }]],
    ["a suspicion", figures(), figures({ state: "suspected" }), [{ code: "suspicion" }]],
    ["the end of one", figures({ state: "suspected" }), figures(), [{ code: "suspicion_ended" }]],
    [
      "another result",
      figures({ state: "missing" }),
      figures({ state: "repaired" }),
      [{ code: "state_moved", before: "missing", after: "repaired" }],
    ],
  ])("names %s", (_, before, after, reasons) => {
    expect(reasonsFor(before, after)).toEqual(reasons);
  });
});
