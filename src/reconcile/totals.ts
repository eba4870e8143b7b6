import type { StatsDay, StatsMetric } from "../sendgrid/record-types.ts";
import type { Held } from "./held.ts";
import { KINDS, type Kind } from "./kinds.ts";

type Metrics = Readonly<Record<StatsMetric, number>>;

interface Mapping {
  kind: Kind;
  /** In the words of GET /v3/stats. */
  says: string;
  /** SendGrid's total; null where it counts no such thing. */
  total: (metrics: Metrics) => number | null;
  /** What is taken for equal, and why. */
  tolerance: string;
}

const EXACT = "none: the numbers must be equal";

/**
 * The one place that says which of SendGrid's totals stands against which events of the ledger. docs/completeness.md shows
 * it; totals.test.ts has a test for each row.
 */
export const MAPPINGS: readonly Mapping[] = [
  { kind: "processed", says: "processed", total: (m) => m.processed, tolerance: EXACT },
  { kind: "deferred", says: "deferred", total: (m) => m.deferred, tolerance: EXACT },
  { kind: "delivered", says: "delivered", total: (m) => m.delivered, tolerance: EXACT },
  { kind: "bounce", says: "bounces", total: (m) => m.bounces, tolerance: EXACT },
  { kind: "blocked", says: "blocks", total: (m) => m.blocks, tolerance: EXACT },
  {
    kind: "dropped",
    says: "requests − processed",
    total: (m) => Math.max(m.requests - m.processed, 0),
    tolerance: "none: every request is processed or dropped, whatever the reason of the drop",
  },
  { kind: "open", says: "opens", total: (m) => m.opens, tolerance: "none: machine opens are counted by both" },
  { kind: "click", says: "clicks", total: (m) => m.clicks, tolerance: EXACT },
  { kind: "spamreport", says: "spam_reports", total: (m) => m.spam_reports, tolerance: EXACT },
  {
    kind: "unsubscribe",
    says: "unsubscribes",
    total: (m) => m.unsubscribes,
    tolerance: "SendGrid does not say whether group unsubscribes are among them: with or without them counts as equal",
  },
  { kind: "group_unsubscribe", says: "–", total: () => null, tolerance: "no total" },
  { kind: "group_resubscribe", says: "–", total: () => null, tolerance: "no total" },
];

/** SendGrid's totals by kind. */
export type Totals = ReadonlyMap<Kind, number | null>;

export function totalsOf(day: StatsDay): Totals {
  return new Map(MAPPINGS.map(({ kind, total }) => [kind, total(day.metrics)]));
}

/** How SendGrid's total and a count of the ledger differ. At most one of the three is above 0. */
export interface Difference {
  /** Missing for certain. */
  missing: number;
  /** Worth looking for: at least as many as `missing`. */
  wanted: number;
  /** The ledger holds more than SendGrid counts. */
  surplus: number;
}

const EQUAL: Difference = { missing: 0, wanted: 0, surplus: 0 };

/** Compares a kind. Nothing can be said without a total: then only what is found by name is missing. */
export function difference(kind: Kind, totals: Totals | undefined, held: ReadonlyMap<Kind, Held>): Difference {
  const total = totals?.get(kind) ?? null;
  if (total === null) return EQUAL;
  const own = countOf(held, kind);
  if (kind !== "unsubscribe") return compare(total, own, own);
  const withGroups = own + countOf(held, "group_unsubscribe");
  return total === own || total === withGroups ? EQUAL : compare(total, own, withGroups);
}

function compare(total: number, least: number, most: number): Difference {
  return {
    missing: Math.max(total - most, 0),
    wanted: Math.max(total - least, 0),
    surplus: Math.max(least - total, 0),
  };
}

/** Of alike events the ledger counts one; where SendGrid's records have been seen to count another, so does this. */
function countOf(held: ReadonlyMap<Kind, Held>, kind: Kind): number {
  const found = held.get(kind);
  return found === undefined ? 0 : found.held + found.counted;
}

/** What is worth looking for, by kind; empty when all totals are equal. */
export function wantedKinds(totals: Totals, held: ReadonlyMap<Kind, Held>): Map<Kind, number> {
  const wanted = KINDS.map((kind) => [kind, difference(kind, totals, held).wanted] as const);
  return new Map(wanted.filter(([, count]) => count > 0));
}
