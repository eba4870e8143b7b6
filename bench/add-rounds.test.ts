import { describe, expect, it } from "vitest";
import { addRounds, isSameSetup } from "./add-rounds.ts";
import type { KeptResult } from "./results.ts";

const BEFORE: KeptResult = {
  scenario: "intake",
  startedAt: "2026-12-01T12:00:00.000Z",
  holdfast: "0.1.0",
  machine: { cpu: "fast", cores: 2, memoryGb: 25, system: "linux", node: "24.0.0" },
  postgres: "18.4",
  postgresSettings: { fsync: "on" },
  settings: {},
  measurements: [
    { subject: "a", case: "B=1", metric: "events", unit: "events/s", values: [10] },
    { subject: "a", case: "B=10", metric: "events", unit: "events/s", values: [100] },
  ],
  comparisons: [
    { name: "a / b", case: "B=1", unit: "×", values: [9], goal: { direction: "at least", value: 10 }, reached: false },
    { name: "a / b", case: "B=10", unit: "×", values: [90], goal: undefined, reached: undefined },
  ],
  checks: [
    { what: "kept", ok: false, detail: "one is lost" },
    { what: "filed", ok: true, detail: "" },
  ],
  notes: ["no peer c"],
};
const NOW: KeptResult = {
  ...BEFORE,
  startedAt: "2026-12-01T13:00:00.000Z",
  measurements: [{ subject: "a", case: "B=1", metric: "events", unit: "events/s", values: [12, 14] }],
  comparisons: [
    {
      name: "a / b",
      case: "B=1",
      unit: "×",
      values: [11, 12],
      goal: { direction: "at least", value: 10 },
      reached: true,
    },
  ],
  checks: [
    { what: "kept", ok: true, detail: "" },
    { what: "new", ok: true, detail: "" },
  ],
};

describe("the rounds of two runs", () => {
  it("are those of one, judged by the median of all, and what the second left out stays", () => {
    const { startedAt, measurements, comparisons } = addRounds(BEFORE, NOW);
    expect(startedAt).toBe(BEFORE.startedAt);
    expect(measurements.map(({ case: inCase, values }) => [inCase, values])).toEqual([
      ["B=1", [10, 12, 14]],
      ["B=10", [100]],
    ]);
    expect(comparisons.map(({ case: inCase, values, reached }) => [inCase, values, reached])).toEqual([
      ["B=1", [9, 11, 12], true],
      ["B=10", [90], undefined],
    ]);
  });

  it("have failed where one of them has", () => {
    const { checks, notes } = addRounds(BEFORE, NOW);
    expect(checks.map(({ what, ok }) => [what, ok])).toEqual([
      ["kept", false],
      ["filed", true],
      ["new", true],
    ]);
    expect(notes).toEqual(["no peer c"]);
  });

  it("belong together on the same machine, with the same versions and settings", () => {
    expect(isSameSetup(BEFORE, NOW)).toBe(true);
    expect(isSameSetup(BEFORE, { ...NOW, machine: { ...NOW.machine, cpu: "slow" } })).toBe(false);
    expect(isSameSetup(BEFORE, { ...NOW, settings: { HOLDFAST_ROLES: "intake" } })).toBe(false);
  });
});
