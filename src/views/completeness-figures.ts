import { createHash } from "node:crypto";
import type { FiguresRow } from "./completeness-rows.ts";
import type { KindFigures } from "./contract-completeness.ts";
import type { DayRange } from "./days.ts";

/** What completeness says of a range, in a form that anybody can compute the same hash over. */
export interface Figures extends DayRange {
  /** Present only when one account was asked for. */
  account?: string;
  days: (Omit<FiguresRow, "checkedAt"> & { checkedAt: string })[];
}

export function figuresOf(range: DayRange & { account?: string }, rows: readonly FiguresRow[]): Figures {
  const days = rows.map(({ checkedAt, ...row }) => ({ ...row, checkedAt: checkedAt.toISOString() }));
  return { ...range, days };
}

/**
 * JSON in one form only, so that the same figures have the same bytes: the keys of every object in the order of their
 * code units, no white space, UTF-8 (what RFC 8785 makes of whole numbers and text).
 */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) =>
    typeof part === "object" && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([left], [right]) => (left < right ? -1 : 1)))
      : part,
  );
}

/** What the certificate prints, and `curl …/api/completeness.json?… | sha256sum` computes again. */
export function figuresHash(figures: Figures): string {
  return createHash("sha256").update(canonicalJson(figures)).digest("hex");
}

export interface Sums {
  /** Null where SendGrid has no count. */
  sendgrid: number | null;
  held: number;
  missing: number;
  repaired: number;
  open: number;
  surplus: number;
}

function sumOf(parts: readonly Sums[]): Sums {
  const sum = { sendgrid: 0 as number | null, held: 0, missing: 0, repaired: 0, open: 0, surplus: 0 };
  for (const part of parts) {
    sum.sendgrid = sum.sendgrid === null || part.sendgrid === null ? null : sum.sendgrid + part.sendgrid;
    sum.held += part.held;
    sum.missing += part.missing;
    sum.repaired += part.repaired;
    sum.open += part.open;
    sum.surplus += part.surplus;
  }
  return sum;
}

export interface KindSums extends Sums {
  kind: string;
  checkedBy: string[];
  confidence: string[];
}

/** The figures of a range by kind: kinds in the order of their first day. */
export function sumByKind(days: readonly { kinds: readonly KindFigures[] }[]): KindSums[] {
  const byKind = Map.groupBy(
    days.flatMap(({ kinds }) => kinds),
    ({ kind }) => kind,
  );
  return [...byKind].map(([kind, parts]) =>
    Object.assign(sumOf(parts), {
      kind,
      checkedBy: [...new Set(parts.map(({ checkedBy }) => checkedBy))],
      confidence: [...new Set(parts.map(({ confidence }) => confidence))],
    }),
  );
}

/** What days hold in all; SendGrid's count is of the kinds that it counts. */
export function sumOfKinds(kinds: readonly Sums[]): Sums {
  const counted = kinds.filter(({ sendgrid }) => sendgrid !== null);
  return { ...sumOf(kinds), sendgrid: counted.length === 0 ? null : sumOf(counted).sendgrid };
}
