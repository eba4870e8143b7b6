import { describe, expect, it } from "vitest";
import { readCommandLine } from "./flags.ts";

describe("the command line", () => {
  it("measures everything with every peer, or nothing but whether it works", () => {
    expect(readCommandLine([])).toMatchObject({ flags: { rounds: 3, peers: ["django", "express", "anymail"] } });
    expect(readCommandLine(["--quick", "intake"])).toMatchObject({
      flags: { scenarios: ["intake"], rounds: 1, peers: [], batches: [1, 100] },
    });
  });

  it("takes settings with equals signs in their values", () => {
    expect(readCommandLine(["--set", "A=b=c", "--set", "D="])).toMatchObject({
      flags: { settings: { A: "b=c", D: "" } },
    });
  });

  it.each([[["--rounds", "0"]], [["--peers", "rails"]], [["--batches", "1,x"]], [["--set", "A"]], [["--nothing"]]])(
    "refuses %j",
    (args) => {
      expect(readCommandLine(args)).toMatchObject({ fault: expect.any(String) as string });
    },
  );

  it("shows the help without a fault", () => {
    expect(readCommandLine(["--help"])).toEqual({ fault: undefined });
  });
});
