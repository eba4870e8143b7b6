import { describe, expect, it } from "vitest";
import { SCENARIOS, wantedScenarios } from "./all.ts";

const wanted = (scenarios: string[], against?: string): string | string[] => {
  const found = wantedScenarios({ scenarios, against });
  return typeof found === "string" ? found : found.map(({ name }) => name);
};

describe("the scenarios of a run", () => {
  it("are all but the comparison of two checkouts, where none is named", () => {
    expect(wanted([])).toHaveLength(SCENARIOS.length - 1);
    expect(wanted([])).not.toContain("versions");
  });

  it("run in their own order, whatever the order of their names", () => {
    expect(wanted(["disk", "intake"])).toEqual(["intake", "disk"]);
  });

  it("include the comparison where both it and the other checkout are named", () => {
    expect(wanted(["versions"], "/other")).toEqual(["versions"]);
    expect(wanted(["versions"])).toBe("versions needs --against FOLDER.");
    expect(wanted([], "/other")).toBe("--against belongs to the scenario versions.");
    expect(wanted(["intake"], "/other")).toBe("--against belongs to the scenario versions.");
  });

  it("must exist", () => {
    expect(wanted(["intake", "everything"])).toBe("There is no scenario everything.");
  });
});
