import { describe, expect, it } from "vitest";
import { createRecorder } from "./recorder.ts";

const EVENTS = { case: "B=1", metric: "events", unit: "events/s" };
const RULE = { name: "ours / theirs", case: "B=1", metric: "events", of: "ours", to: "theirs" };

describe("a recorder", () => {
  it("compares figures of the same round, and judges the median", () => {
    const recorder = createRecorder(true);
    for (const value of [100, 60, 90]) recorder.add({ subject: "ours", ...EVENTS }, value);
    for (const value of [10, 10, 30]) recorder.add({ subject: "theirs", ...EVENTS }, value);
    recorder.ratio({ ...RULE, goal: { direction: "at least", value: 6 } });
    recorder.ratio({ ...RULE, goal: { direction: "at least", value: 7 } });
    recorder.ratio({ ...RULE, goal: { direction: "at most", value: 7 } });
    const { comparisons } = recorder.result();
    expect(comparisons[0]?.values).toEqual([10, 6, 3]);
    expect(comparisons.map(({ reached }) => reached)).toEqual([true, false, true]);
  });

  it("compares each round with a figure that was measured once", () => {
    const recorder = createRecorder(true);
    for (const value of [8, 4]) recorder.add({ subject: "ours", ...EVENTS }, value);
    recorder.add({ subject: "theirs", ...EVENTS }, 2);
    recorder.ratio(RULE);
    expect(recorder.result().comparisons[0]?.values).toEqual([4, 2]);
  });

  it("says nothing about a peer that was left out", () => {
    const recorder = createRecorder(true);
    recorder.add({ subject: "ours", ...EVENTS }, 8);
    recorder.ratio(RULE);
    recorder.goal("theirs alone", { subject: "theirs", ...EVENTS }, { direction: "at least", value: 1 });
    expect(recorder.result().comparisons).toEqual([]);
  });

  it("judges nothing in a quick run", () => {
    const recorder = createRecorder(false);
    recorder.add({ subject: "ours", ...EVENTS }, 1);
    recorder.goal("ours alone", { subject: "ours", ...EVENTS }, { direction: "at least", value: 100 });
    expect(recorder.result().comparisons[0]).toMatchObject({ values: [1], reached: undefined });
  });
});
