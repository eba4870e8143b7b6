import { median } from "./numbers.ts";

/** One figure of one subject in one case, once for each round. */
export interface Measurement {
  subject: string;
  /** Such as `B=100`; empty where a scenario has one case only. */
  case: string;
  metric: string;
  unit: string;
  values: number[];
}

/** What a figure, or the ratio of two, must reach in a full run. */
export interface Goal {
  direction: "at least" | "at most";
  value: number;
}

export interface Comparison {
  name: string;
  case: string;
  unit: string;
  /** One value for each round: figures of the same round are compared with each other. */
  values: number[];
  goal: Goal | undefined;
  /** undefined without a goal, and in a quick run. */
  reached: boolean | undefined;
}

/** Something that must be so whatever the speed. */
export interface Check {
  what: string;
  ok: boolean;
  detail: string;
}

export interface Result {
  measurements: Measurement[];
  comparisons: Comparison[];
  checks: Check[];
  notes: string[];
}

export interface Figure {
  subject: string;
  case?: string;
  metric: string;
  unit: string;
}

export interface RatioRule {
  name: string;
  case?: string;
  metric: string;
  of: string;
  /** The subject compared with, or a subject and another metric of it. */
  to: string | { subject: string; metric?: string; case?: string };
  goal?: Goal;
}

export interface Recorder {
  add(figure: Figure, value: number): void;
  /** Compares two figures that were added. Nothing happens where one of them is missing: a peer that was skipped. */
  ratio(rule: RatioRule): void;
  /** Holds one figure against its goal. */
  goal(name: string, figure: Figure, goal: Goal): void;
  check(what: string, ok: boolean, detail?: string): void;
  note(text: string): void;
  values(figure: Omit<Figure, "unit">): readonly number[];
  result(): Result;
}

export function isReached({ direction, value }: Goal, values: readonly number[]): boolean {
  return direction === "at least" ? median(values) >= value : median(values) <= value;
}

/** Collects what a scenario finds. `judges` is false in a quick run, whose figures mean nothing. */
export function createRecorder(judges: boolean): Recorder {
  const measurements: Measurement[] = [];
  const comparisons: Comparison[] = [];
  const checks: Check[] = [];
  const notes: string[] = [];

  function find({ subject, case: name = "", metric }: Omit<Figure, "unit">): Measurement | undefined {
    return measurements.find((m) => m.subject === subject && m.case === name && m.metric === metric);
  }

  function reached(goal: Goal | undefined, values: readonly number[]): boolean | undefined {
    return goal === undefined || !judges || values.length === 0 ? undefined : isReached(goal, values);
  }

  return {
    add(figure, value) {
      const known = find(figure);
      if (known !== undefined) known.values.push(value);
      else measurements.push({ ...figure, case: figure.case ?? "", values: [value] });
    },
    ratio({ name, case: inCase = "", metric, of, to, goal }) {
      const other = typeof to === "string" ? { subject: to } : to;
      const upper = find({ subject: of, case: inCase, metric });
      const lower = find({ case: inCase, metric, ...other });
      if (upper === undefined || lower === undefined) return;
      // Measured once for all rounds, such as a limit that does not change.
      const values = upper.values.map((value, round) => value / (lower.values[round] ?? median(lower.values)));
      comparisons.push({ name, case: inCase, unit: "×", values, goal, reached: reached(goal, values) });
    },
    goal(name, figure, goal) {
      const { values = [] } = find(figure) ?? {};
      if (values.length === 0) return;
      const { case: inCase = "", unit } = figure;
      comparisons.push({ name, case: inCase, unit, values: [...values], goal, reached: reached(goal, values) });
    },
    check(what, ok, detail = "") {
      checks.push({ what, ok, detail });
    },
    note(text) {
      if (!notes.includes(text)) notes.push(text);
    },
    values: (figure) => find(figure)?.values ?? [],
    result: () => ({ measurements, comparisons, checks, notes }),
  };
}
