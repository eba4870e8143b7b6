import type { TimeRange } from "../sendgrid/query.ts";

/** Which times a list has been asked for, so that no two days of a run ask for the same. */
export type Coverage = Map<string, TimeRange[]>;

/** The parts of a range that have not been asked for. */
export function uncovered(coverage: Coverage, key: string, range: TimeRange): TimeRange[] {
  let parts = range.fromMs < range.toMs ? [range] : [];
  for (const covered of coverage.get(key) ?? []) {
    parts = parts.flatMap((part) =>
      [
        { fromMs: part.fromMs, toMs: Math.min(part.toMs, covered.fromMs) },
        { fromMs: Math.max(part.fromMs, covered.toMs), toMs: part.toMs },
      ].filter(({ fromMs, toMs }) => fromMs < toMs),
    );
  }
  return parts;
}

/** Adds a range; ranges that touch become one. */
export function cover(coverage: Coverage, key: string, range: TimeRange): void {
  let { fromMs, toMs } = range;
  const apart: TimeRange[] = [];
  for (const other of coverage.get(key) ?? []) {
    if (other.toMs < fromMs || other.fromMs > toMs) apart.push(other);
    else [fromMs, toMs] = [Math.min(fromMs, other.fromMs), Math.max(toMs, other.toMs)];
  }
  coverage.set(key, [...apart, { fromMs, toMs }]);
}
