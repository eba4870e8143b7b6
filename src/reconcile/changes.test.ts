import { describe, expect, it } from "vitest";
import { reasonsFor, type Figures } from "./changes.ts";

const OPEN = { kind: "open" as const, sendgrid: 10, held: 10, repaired: 0, missing: 0, open: 0, surplus: 0 };

function figures(changes: Partial<Figures> = {}, kind: Partial<typeof OPEN> = {}): Figures {
  return { state: "equal", final: false, missing: 0, repaired: 0, open: 0, kinds: [{ ...OPEN, ...kind }], ...changes };
}

describe("why a result changed", () => {
  it("says nothing of a result that is the same", () => {
    expect(reasonsFor(figures(), figures())).toEqual([]);
  });

  it.each<[string, Figures, Figures, string[]]>([
    ["SendGrid's total", figures(), figures({}, { sendgrid: 11 }), ["SendGrid's total of open moved from 10 to 11."]],
    [
      "a total that was unknown",
      figures({}, { sendgrid: 10 }),
      figures({ kinds: [{ ...OPEN, sendgrid: null }] }),
      ["SendGrid's total of open moved from 10 to unknown."],
    ],
    ["late events", figures({}, { held: 9 }), figures({}, { held: 10 }), ["1 open event arrived late."]],
    ["lost events", figures({}, { held: 10 }), figures({}, { held: 7 }), ["3 open events left the ledger."]],
    [
      "repairs",
      figures({}, { held: 8, missing: 2, open: 2 }),
      figures({}, { held: 10, repaired: 2, missing: 2 }),
      ["2 open events filed from SendGrid's records."],
    ],
    [
      "a webhook's event in the place of a repaired one",
      figures({}, { repaired: 2, missing: 2 }),
      figures({}, { repaired: 1, missing: 1 }),
      ["1 open event arrived late.", "1 open event no longer repaired: the webhook's took their place."],
    ],
    ["found gaps", figures(), figures({}, { missing: 3, open: 3 }), ["3 open events found to be missing."]],
    ["gaps that were none", figures({}, { missing: 1 }), figures(), ["1 open event no longer found to be missing."]],
    ["a surplus", figures(), figures({}, { surplus: 2 }), ["The surplus of open moved from 0 to 2."]],
    ["time", figures(), figures({ final: true }), ["The day is final: SendGrid's figures no longer move."]],
    ["an answer", figures({ state: "unknown" }), figures(), ["SendGrid could be asked this time."]],
    ["a suspicion", figures(), figures({ state: "suspected" }), ["A rule says that something may be missing."]],
    [
      "the end of one",
      figures({ state: "suspected" }),
      figures(),
      ["What was suspected to be missing is there, or never was."],
    ],
  ])("names %s", (_, before, after, reasons) => {
    expect(reasonsFor(before, after)).toEqual(reasons);
  });
});
