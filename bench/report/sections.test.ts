import { describe, expect, it } from "vitest";
import type { KeptResult } from "../results.ts";
import { fillPage } from "./docs.ts";
import { renderPlot, renderSection, renderSummary } from "./sections.ts";

const RESULT: KeptResult = {
  scenario: "intake",
  startedAt: "2026-11-29T10:00:00.000Z",
  holdfast: "0.1.0",
  machine: { cpu: "Test <1>", cores: 2, memoryGb: 8, system: "linux 6", node: "24.0.0" },
  postgres: "18.4",
  postgresSettings: { fsync: "on" },
  settings: {},
  measurements: [
    { subject: "holdfast-intake", case: "B=1", metric: "events", unit: "events/s", values: [5_000, 5_200, 4_900] },
    { subject: "holdfast-intake", case: "B=1", metric: "p99", unit: "ms", values: [20, 30, 40] },
    { subject: "django", case: "B=1", metric: "events", unit: "events/s", values: [200, 210, 190] },
  ],
  comparisons: [
    {
      name: "intake alone / Django system",
      case: "B=1",
      unit: "×",
      values: [25, 24.8, 25.8],
      goal: { direction: "at least", value: 22 },
      reached: true,
    },
  ],
  checks: [],
  notes: ["the peer express is left out: a test"],
};

describe("the page of figures", () => {
  it("shows medians, ranges, goals, and who was left out", () => {
    const section = renderSection(RESULT);
    expect(section).toContain("| intake alone / Django system | B=1 | 25 (24.8–25.8)× | at least 22× | reached |");
    expect(section).toContain("| Holdfast, intake alone | 5,000 (4,900–5,200)<br>p99 30 ms |");
    expect(section).toContain("2 cores (Test <1>)");
    expect(section).toContain("3 rounds in turns, median and range.");
    expect(section).toContain("- the peer express is left out: a test");
  });

  it("says how long a subject that files after its answers needed for the rest", () => {
    const all = { subject: "holdfast-all", case: "B=1" };
    const measurements = [
      { ...all, metric: "events", unit: "events/s", values: [2_000] },
      { ...all, metric: "filed after", unit: "s", values: [1, 4, 3] },
    ];
    expect(renderSection({ ...RESULT, measurements })).toContain("| Holdfast, all roles | 2,000<br>filed after 3 s |");
  });

  it("says that a scenario ran once, whatever number of rounds was asked for", () => {
    const measurements = [{ subject: "holdfast", case: "B=1", metric: "disk", unit: "bytes/event", values: [900] }];
    expect(renderSection({ ...RESULT, scenario: "disk", measurements })).toContain("; one run.");
  });

  it("is filled between a scenario's marks, and says what was not measured", () => {
    const page =
      "before\n<!-- figures: intake -->\nstale\n<!-- end -->\n<!-- figures: burst -->\nstale\n<!-- end -->\nafter\n";
    const filled = fillPage(page, new Map([["intake", RESULT]]), renderSection);
    expect(filled).not.toContain("stale");
    expect(filled).toMatch(/<!-- figures: burst -->\nNot measured yet\.\n<!-- end -->\nafter\n$/);
    expect(fillPage(filled, new Map([["intake", RESULT]]), renderSection)).toBe(filled);
  });

  it("has a short form with the medians of Holdfast as a whole and of the others, as far as they were measured", () => {
    const all = {
      subject: "holdfast-all",
      case: "B=1",
      metric: "events",
      unit: "events/s",
      values: [3_000, 9_000, 4_000],
    };
    expect(renderSummary({ ...RESULT, measurements: [...RESULT.measurements, all] }).split("\n")).toEqual([
      "| events/s, 2 cores (Test <1>), 2026-11-29 | 1 per POST |",
      "|---|---|",
      "| Holdfast, all roles | 4,000 |",
      "| Django system | 200 |",
    ]);
  });

  it("has a bar for each subject that was measured, longer for more", () => {
    const plot = renderPlot(RESULT) ?? "";
    const widths = [...plot.matchAll(/<rect x="120" y="\d+" width="([\d.]+)" height="12"/g)].map(([, width]) =>
      Number(width),
    );
    expect(widths).toHaveLength(2);
    expect(widths[0]).toBeGreaterThan(widths[1] ?? Infinity);
    expect(plot).toContain("5,000");
    expect(plot).not.toContain("Express");
  });
});
