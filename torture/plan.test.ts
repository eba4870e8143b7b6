import { describe, expect, test } from "vitest";
import { FAULTS } from "./faults/all.ts";
import { planRun } from "./plan.ts";

const plan = (seed: string, minutes = 20): ReturnType<typeof planRun> => planRun({ faults: FAULTS, seed, minutes });

describe("the plan of a run", () => {
  test("is the same for the same seed, and another for another", () => {
    expect(plan("1")).toEqual(plan("1"));
    expect(plan("1")).not.toEqual(plan("2"));
  });

  test("has every fault strike in every world that can have it, however short the run", () => {
    for (const minutes of [0.1, 20]) {
      for (const { world, strikes } of plan("1", minutes)) {
        const struck = new Set(strikes.map(({ fault }) => fault));
        expect([...struck].sort()).toEqual(
          FAULTS.filter(({ worlds }) => worlds.includes(world))
            .map(({ name }) => name)
            .sort(),
        );
      }
    }
  });

  test("keeps to the time it is given", () => {
    const seconds = plan("1", 20)
      .flatMap(({ strikes }) => strikes)
      .reduce((sum, { holdMs, restMs }) => sum + (holdMs + restMs) / 1000, 0);
    expect(seconds).toBeGreaterThan(10 * 60);
    expect(seconds).toBeLessThan(21 * 60);
  });

  test("gives each strike choices of its own", () => {
    const seeds = plan("1").flatMap(({ strikes }) => strikes.map(({ seed }) => seed));
    expect(new Set(seeds).size).toBe(seeds.length);
  });
});
