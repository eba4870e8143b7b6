import { format, formatSpread, median } from "../numbers.ts";
import type { Comparison, Measurement } from "../recorder.ts";
import type { KeptResult } from "../results.ts";
import { plotBars } from "./plot.ts";

/** What of a result goes into docs/performance.md and the README. */

/** In the order of the table and of the bars. */
const INTAKE_SUBJECTS = [
  { name: "holdfast-intake", label: "Holdfast, intake alone", colour: "#2f81f7" },
  { name: "holdfast-all", label: "Holdfast, all roles", colour: "#79b8ff" },
  { name: "django", label: "Django system", colour: "#d1702b" },
  { name: "anymail", label: "behind django-anymail", colour: "#e3a06f" },
  { name: "express", label: "Express", colour: "#8957e5" },
  { name: "limit-append", label: "limit (a): append", colour: "#6e7681" },
  { name: "limit-http", label: "limit (d): bare HTTP", colour: "#a5acb5" },
] as const;
/** What the README compares. */
const SYSTEMS: ReadonlySet<string> = new Set(["holdfast-all", "django", "express"]);

/** The section of one scenario: when and where it was measured, the goals, and the figures. */
export function renderSection(result: KeptResult): string {
  const lines = [describeWhere(result), ""];
  if (result.comparisons.length > 0) lines.push(...comparisonTable(result.comparisons), "");
  lines.push(...(result.scenario === "intake" ? intakeTable(result) : figureTable(result.measurements)));
  if (result.notes.length > 0) lines.push("", ...result.notes.map((note) => `- ${note}`));
  return lines.join("\n");
}

/** The intake scenario for the README: what the whole of Holdfast acknowledges, and what the others do. */
export function renderSummary(result: KeptResult): string {
  const cases = casesOf(result);
  const rows = INTAKE_SUBJECTS.filter(({ name }) => SYSTEMS.has(name)).flatMap(({ name, label }) => {
    const cells = cases.flatMap((inCase) => {
      const events = valuesOf(result, name, inCase, "events");
      return events === undefined ? [] : [format(median(events))];
    });
    return cells.length === cases.length ? [`| ${label} | ${cells.join(" | ")} |`] : [];
  });
  const { machine, startedAt } = result;
  return [
    ...intakeHead(`events/s, ${machine.cores} cores (${machine.cpu}), ${startedAt.slice(0, 10)}`, cases),
    ...rows,
  ].join("\n");
}

/** The plot of the intake scenario; undefined for the others. */
export function renderPlot(result: KeptResult): string | undefined {
  if (result.scenario !== "intake") return undefined;
  const present = INTAKE_SUBJECTS.filter(({ name }) => result.measurements.some(({ subject }) => subject === name));
  const groups = casesOf(result).map((inCase) => ({
    label: `${inCase.replace("B=", "")} per POST`,
    values: present.map(({ name }) => {
      const values = valuesOf(result, name, inCase, "events");
      return values === undefined ? undefined : median(values);
    }),
  }));
  return plotBars("Acknowledged events per second (logarithmic)", present, groups);
}

function describeWhere({
  startedAt,
  machine,
  postgres,
  postgresSettings,
  measurements,
  holdfast,
  settings,
}: KeptResult): string {
  const given = Object.entries(settings).map(([name, value]) => `${name}=${value}`);
  // Of what was really measured: some scenarios run once, whatever was asked for.
  const rounds = Math.max(...measurements.map(({ values }) => values.length));
  const turns = rounds === 1 ? "one run" : `${rounds} rounds in turns, median and range`;
  const server = Object.entries(postgresSettings).map(([name, value]) => `${name} ${value}`);
  return [
    `Measured ${startedAt.slice(0, 10)}, Holdfast ${holdfast}, ${machine.cores} cores (${machine.cpu}), ${machine.memoryGb} GB, ${machine.system},`,
    `Node ${machine.node}, PostgreSQL ${postgres} (${server.join(", ")}); ${turns}.`,
    ...(given.length > 0 ? [`Settings: ${given.join(", ")}.`] : []),
  ].join("\n");
}

function comparisonTable(comparisons: readonly Comparison[]): string[] {
  return [
    "| | case | measured | wanted | |",
    "|---|---|---|---|---|",
    ...comparisons.map(({ name, case: inCase, unit, values, goal, reached }) => {
      const suffix = unit === "×" ? "×" : ` ${unit}`;
      const wanted = goal === undefined ? "" : `${goal.direction} ${format(goal.value)}${suffix}`;
      return `| ${name} | ${inCase} | ${formatSpread(values)}${suffix} | ${wanted} | ${verdict(reached)} |`;
    }),
  ];
}

function verdict(reached: boolean | undefined): string {
  if (reached === undefined) return "";
  return reached ? "reached" : "**not reached**";
}

function intakeTable(result: KeptResult): string[] {
  const cases = casesOf(result);
  const rows = INTAKE_SUBJECTS.flatMap(({ name, label }) => {
    const cells = cases.map((inCase) => {
      const events = valuesOf(result, name, inCase, "events");
      if (events === undefined) return "–";
      const further = (metric: string, unit: string): string[] => {
        const values = valuesOf(result, name, inCase, metric);
        return values === undefined ? [] : [`${metric} ${format(median(values))} ${unit}`];
      };
      return [formatSpread(events), ...further("p99", "ms"), ...further("filed after", "s")].join("<br>");
    });
    return cells.every((cell) => cell === "–") ? [] : [`| ${label} | ${cells.join(" | ")} |`];
  });
  return [...intakeHead("events/s", cases), ...rows];
}

function intakeHead(what: string, cases: readonly string[]): string[] {
  const heads = cases.map((inCase) => `${inCase.replace("B=", "")} per POST`);
  return [`| ${what} | ${heads.join(" | ")} |`, `|---|${"---|".repeat(cases.length)}`];
}

/** In the order in which they were measured. */
function casesOf({ measurements }: KeptResult): string[] {
  return [...new Set(measurements.map((measurement) => measurement.case))];
}

function figureTable(measurements: readonly Measurement[]): string[] {
  return [
    "| subject | case | figure | measured |",
    "|---|---|---|---|",
    ...measurements.map(({ subject, case: inCase, metric, unit, values }) =>
      `| ${subject} | ${inCase} | ${metric} | ${formatSpread(values)} ${unit} |`.replaceAll(/ {2,}/g, " "),
    ),
  ];
}

function valuesOf(result: KeptResult, subject: string, inCase: string, metric: string): readonly number[] | undefined {
  return result.measurements.find((m) => m.subject === subject && m.case === inCase && m.metric === metric)?.values;
}
