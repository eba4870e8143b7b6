import type { DayResult, KindResult } from "../reconcile/report.ts";
import type { ReconcileResult } from "../reconcile/run.ts";

const COLUMNS = ["kind", "SendGrid", "held", "missing", "repaired", "open", "checked by", "sure"] as const;

/** What a check found, for a terminal: each day with its kinds, and the sum. */
export function describeReconciliation(result: ReconcileResult, isRepair: boolean): string {
  const { outcome, missing, repaired, open, calls, days } = result;
  const lines = days.flatMap((day) => describeDay(day).concat(""));
  if (outcome === "interrupted") lines.push("Interrupted. The same command goes on where it stopped.");
  lines.push(`missing ${missing}`, `repaired ${repaired}`, `open ${open}`, `API calls ${calls}`);
  if (open > 0 && !isRepair) lines.push("File what SendGrid's records tell of it with: holdfast reconcile --repair");
  return lines.join("\n");
}

const STATES: Readonly<Record<DayResult["state"], string>> = {
  equal: "nothing is missing",
  repaired: "all that was missing is repaired",
  suspected: "something may be missing",
  missing: "something is missing",
  unknown: "SendGrid could not be asked",
};

function describeDay({ day, account, state, final, kinds, checked }: DayResult): string[] {
  const place = account === "" ? day : `${day} ${account}`;
  const rows = kinds.filter(({ sendgrid, held, missing }) => (sendgrid ?? 0) > 0 || held > 0 || missing > 0);
  const head = `${place}  ${STATES[state]}${final ? "" : " (not final)"}`;
  return [head, ...(rows.length === 0 ? [] : table(rows)), ...describeSample(checked)];
}

/** Said only where not all could be asked. */
function describeSample({ lists, listsPlanned, messages }: DayResult["checked"]): string[] {
  if (lists >= listsPlanned) return [];
  return [`  A sample: ${lists} of ${listsPlanned} lists and ${messages} single messages were asked for.`];
}

function table(kinds: readonly KindResult[]): string[] {
  const count = (value: number | null): string => (value === null ? "–" : value.toLocaleString("en-GB"));
  const rows = kinds.map(({ kind, sendgrid, held, missing, repaired, open, checkedBy, confidence }) => [
    kind,
    count(sendgrid),
    count(held),
    ...[missing, repaired, open].map(count),
    checkedBy,
    confidence,
  ]);
  const all = [[...COLUMNS], ...rows];
  const widths = COLUMNS.map((_, column) => Math.max(...all.map((row) => (row[column] ?? "").length)));
  const isNumber = (column: number): boolean => column >= 1 && column <= 5;
  return all.map((row) =>
    `  ${row.map((cell, column) => (isNumber(column) ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0))).join("  ")}`.trimEnd(),
  );
}
