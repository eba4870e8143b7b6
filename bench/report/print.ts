import { format, formatSpread } from "../numbers.ts";
import type { Comparison, Result } from "../recorder.ts";

/** Prints what a scenario found: the figures, the ratios, what must be so, and what was left out. */
export function printResult(scenario: string, result: Result): void {
  const lines = ["", `== ${scenario}`, ...figureLines(result), "", ...result.comparisons.map(comparisonLine)];
  for (const { what, ok, detail } of result.checks)
    lines.push(`  ${ok ? "ok    " : "FAILED"} ${what}${ok ? "" : `: ${detail}`}`);
  for (const note of result.notes) lines.push(`  note: ${note}`);
  console.log(`${lines.join("\n")}\n`);
}

/** One line for each case and subject, with all its figures. */
function figureLines({ measurements }: Result): string[] {
  const lines = new Map<string, string[]>();
  for (const { subject, case: inCase, metric, unit, values } of measurements) {
    const key = `  ${inCase.padEnd(8)} ${subject.padEnd(22)}`;
    const figures = lines.get(key) ?? [];
    figures.push(`${metric} ${formatSpread(values)} ${unit}`);
    lines.set(key, figures);
  }
  return Array.from(lines, ([key, figures]) => `${key} ${figures.join(" · ")}`);
}

function comparisonLine({ name, case: inCase, unit, values, goal, reached }: Comparison): string {
  const wanted =
    goal === undefined ? "" : ` (${goal.direction} ${format(goal.value)}${unit === "×" ? "×" : ` ${unit}`})`;
  const verdict = { true: " reached", false: " NOT REACHED", undefined: "" }[`${reached}`];
  const spread = unit === "×" ? `${formatSpread(values)}×` : `${formatSpread(values)} ${unit}`;
  return `  ratio ${inCase.padEnd(8)} ${name}: ${spread}${wanted}${verdict}`;
}
