import { isReached, type Check, type Comparison, type Measurement } from "./recorder.ts";
import type { KeptResult, RunDescription } from "./results.ts";

/** Whether two runs may be put together: on the same machine, with the same versions and settings. */
export function isSameSetup(one: RunDescription, other: RunDescription): boolean {
  const text = ({ holdfast, machine, postgres, postgresSettings, settings }: RunDescription): string =>
    JSON.stringify({ holdfast, machine, postgres, postgresSettings, settings });
  return text(one) === text(other);
}

/**
 * The rounds of two runs of a scenario as those of one: a long scenario is measured in pieces, and what one run left out stays as
 * the other found it. Ratios are of figures of the same round, so they are put together as they are, and judged anew.
 */
export function addRounds(before: KeptResult, now: KeptResult): KeptResult {
  return {
    ...now,
    startedAt: before.startedAt,
    measurements: merged(before.measurements, now.measurements, keyOfMeasurement),
    comparisons: merged(before.comparisons, now.comparisons, keyOfComparison).map(judged),
    checks: mergedChecks([...before.checks, ...now.checks]),
    notes: [...new Set([...before.notes, ...now.notes])],
  };
}

function keyOfMeasurement({ subject, case: inCase, metric }: Measurement): string {
  return `${subject} ${inCase} ${metric}`;
}

function keyOfComparison({ name, case: inCase }: Comparison): string {
  return `${name} ${inCase}`;
}

/** Each of both lists once, in the order of the first, with the values of both. */
function merged<T extends { values: number[] }>(
  before: readonly T[],
  now: readonly T[],
  keyOf: (entry: T) => string,
): T[] {
  const all = new Map(before.map((entry) => [keyOf(entry), entry]));
  for (const entry of now) {
    const values = [...(all.get(keyOf(entry))?.values ?? []), ...entry.values];
    all.set(keyOf(entry), { ...entry, values });
  }
  return [...all.values()];
}

function judged(comparison: Comparison): Comparison {
  const { goal, values } = comparison;
  return { ...comparison, reached: goal === undefined ? undefined : isReached(goal, values) };
}

/** What failed once has failed. */
function mergedChecks(checks: readonly Check[]): Check[] {
  const all = new Map<string, Check>();
  for (const check of checks) if (all.get(check.what)?.ok !== false) all.set(check.what, check);
  return [...all.values()];
}
