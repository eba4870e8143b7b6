import type {
  Completeness,
  CompletenessDay,
  CompletenessOfDay,
  DayResult,
  DayState,
} from "../../../src/views/contract-completeness.ts";
import type { TextContext } from "./context.ts";
import { KINDS, type Mark } from "./kinds.ts";
import { formatCount } from "./number.ts";

/** A cell of the calendar, for one account or the worst of several. */
export type Cell = Pick<CompletenessDay, "day" | "final" | "missing" | "repaired" | "open"> & {
  state: DayState | "unchecked";
};

export const STATES = ["equal", "repaired", "suspected", "missing", "unknown", "unchecked"] as const;

export const DAY_MARKS: Readonly<Record<Cell["state"], Mark>> = {
  equal: { tone: "ok", shape: "full" },
  repaired: { tone: "ok", shape: "ring" },
  suspected: { tone: "late", shape: "quarter" },
  missing: { tone: "bad", shape: "triangle" },
  unknown: { tone: "unknown", shape: "ring" },
  unchecked: { tone: "unknown", shape: "minus" },
};

/** The state of several accounts together is the one that most needs a person. */
const WORST_FIRST: readonly DayState[] = ["missing", "suspected", "unknown", "repaired", "equal"];

/** Every checked day, of one account or, with undefined, of all. */
export function cellsByDay(days: readonly CompletenessDay[], account: string | undefined): Map<string, Cell> {
  const wanted = account === undefined ? days : days.filter((day) => day.account === account);
  const byDay = new Map<string, CompletenessDay[]>();
  for (const result of wanted) byDay.set(result.day, [...(byDay.get(result.day) ?? []), result]);
  return new Map([...byDay].map(([day, results]) => [day, together(day, results)]));
}

function together(day: string, results: readonly CompletenessDay[]): Cell {
  const sum = (name: "missing" | "repaired" | "open"): number =>
    results.reduce((total, result) => total + result[name], 0);
  const state = WORST_FIRST.find((candidate) => results.some((result) => result.state === candidate)) ?? "unknown";
  return {
    day,
    state,
    final: results.every(({ final }) => final),
    missing: sum("missing"),
    repaired: sum("repaired"),
    open: sum("open"),
  };
}

const utc = (day: string): Date => new Date(`${day}T00:00:00Z`);
const DAY_MS = 86_400_000;

export function addDays(day: string, days: number): string {
  return new Date(utc(day).getTime() + days * DAY_MS).toISOString().slice(0, 10);
}

export interface Month {
  /** 2026-11. */
  id: string;
  days: string[];
  /** How many cells of the first week are empty; weeks begin on Monday, in England and in Germany. */
  offset: number;
}

export function monthsOf(year: number): Month[] {
  return Array.from({ length: 12 }, (_, index) => {
    const first = new Date(Date.UTC(year, index, 1));
    const length = new Date(Date.UTC(year, index + 1, 0)).getUTCDate();
    const id = first.toISOString().slice(0, 7);
    const days = Array.from({ length }, (_day, at) => `${id}-${String(at + 1).padStart(2, "0")}`);
    return { id, days, offset: (first.getUTCDay() + 6) % 7 };
  });
}

/** The same day of another month, or the last one where that is shorter. */
function addMonths(day: string, months: number): string {
  const date = utc(day);
  const first = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + months, 1));
  const length = new Date(Date.UTC(first.getUTCFullYear(), first.getUTCMonth() + 1, 0)).getUTCDate();
  first.setUTCDate(Math.min(date.getUTCDate(), length));
  return first.toISOString().slice(0, 10);
}

/** Where a key leads from a day of the calendar; undefined for keys that lead nowhere. */
export function walk(day: string, key: string, within: { first: string; last: string }): string | undefined {
  const month = day.slice(0, 7);
  const steps: Record<string, () => string> = {
    ArrowLeft: () => addDays(day, -1),
    ArrowRight: () => addDays(day, 1),
    ArrowUp: () => addDays(day, -7),
    ArrowDown: () => addDays(day, 7),
    PageUp: () => addMonths(day, -1),
    PageDown: () => addMonths(day, 1),
    Home: () => `${month}-01`,
    End: () => addDays(addMonths(`${month}-01`, 1), -1),
  };
  const next = steps[key]?.();
  if (next === undefined) return undefined;
  if (next < within.first) return within.first;
  return next > within.last ? within.last : next;
}

/** "29 November 2026": a day of the account's calendar, whatever the reader's zone. */
export function longDay(day: string, { locale }: TextContext): string {
  return new Intl.DateTimeFormat(locale, { dateStyle: "long", timeZone: "UTC" }).format(utc(day));
}

/** What a screen reader says of a cell. */
export function cellLabel(cell: Cell, today: string, text: TextContext): string {
  const { t, locale } = text;
  const state = t(`completeness.states.${cell.state}`);
  let words = state;
  if (cell.open > 0) words = t("completeness.dayMissing", { state, formatted: formatCount(cell.open, locale) });
  else if (cell.state === "repaired")
    words = t("completeness.dayRepaired", { state, formatted: formatCount(cell.repaired, locale) });
  const parts = [t("completeness.dayLabel", { day: longDay(cell.day, text), state: words })];
  if (cell.state !== "unchecked" && !cell.final) parts.push(t("completeness.notFinal"));
  if (cell.day === today) parts.push(t("completeness.today"));
  return parts.join(", ");
}

/** "All 30 checked days are complete. 37 events were missing and have been repaired." */
export function yearSentence(
  cells: readonly Cell[],
  { year }: Pick<Completeness, "year">,
  { t, locale }: TextContext,
): string {
  if (cells.length === 0) return t("completeness.none", { year });
  const count = (value: number): { count: number; formatted: string } => ({
    count: value,
    formatted: formatCount(value, locale),
  });
  const of = (state: DayState): readonly Cell[] => cells.filter((cell) => cell.state === state);
  const sum = (some: readonly Cell[], name: "open" | "repaired"): number =>
    some.reduce((total, cell) => total + cell[name], 0);
  const missing = of("missing");
  const suspected = of("suspected");
  const unknown = of("unknown");
  const repaired = sum(cells, "repaired");
  const sentences: string[] = [];
  if (missing.length > 0) {
    const numbers = { days: formatCount(missing.length, locale), checked: formatCount(cells.length, locale) };
    sentences.push(t("completeness.missing", { ...count(sum(missing, "open")), ...numbers }));
  }
  if (suspected.length > 0) sentences.push(t("completeness.suspected", count(sum(suspected, "open"))));
  if (sentences.length === 0 && unknown.length === 0)
    sentences.push(t("completeness.allComplete", count(cells.length)));
  if (unknown.length > 0) sentences.push(t("completeness.unknown", count(unknown.length)));
  if (repaired > 0) sentences.push(t("completeness.repaired", count(repaired)));
  return sentences.join(" ");
}

/** The sum over kinds; SendGrid's is of those it counts, and null where it counts none. */
export function totalsOf(kinds: DayResult["kinds"]): { sendgrid: number | null; held: number; surplus: number } {
  const counted = kinds.flatMap(({ sendgrid }) => (sendgrid === null ? [] : [sendgrid]));
  const add = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0);
  return {
    sendgrid: counted.length === 0 ? null : add(counted),
    held: add(kinds.map(({ held }) => held)),
    surplus: add(kinds.map(({ surplus }) => surplus)),
  };
}

/** Where repaired events came from, as words after "from". */
function originsText(origins: DayResult["repairedFrom"], { t, locale }: TextContext): string {
  const names = origins.map(({ origin }) => t(`completeness.origins.${origin}`));
  if (names.length === 0) return t("completeness.origins.records");
  return new Intl.ListFormat(locale).format(names);
}

/** What one account's day comes to, in one or two sentences. */
export function daySentence(result: DayResult, text: TextContext): string {
  const { t, locale } = text;
  const count = (value: number): { count: number; formatted: string } => ({
    count: value,
    formatted: formatCount(value, locale),
  });
  const { sendgrid, held } = totalsOf(result.kinds);
  const { state, repaired, open } = result;
  const day = longDay(result.day, text);
  const from = originsText(result.repairedFrom, text);
  const begin =
    sendgrid === null
      ? t("completeness.day.holds", { ...count(held), day })
      : t("completeness.day.counts", { ...count(sendgrid), day });
  const more = repaired > 0 ? [t("completeness.day.alsoRepaired", { ...count(repaired), from })] : [];
  const rest = {
    equal: () => [t("completeness.day.all")],
    repaired: () => [t("completeness.day.allRepaired", { ...count(repaired), from })],
    missing: () => [t("completeness.day.missing", count(open)), ...more],
    suspected: () => [t("completeness.day.suspected", count(open)), ...more],
    unknown: () => [t("completeness.day.unknown"), ...more],
  }[state]();
  return [begin, ...rest].join(" ");
}

/** The sentence above a day: of its only account, or of all of them together. */
export function dayTitle(data: CompletenessOfDay, text: TextContext): string {
  const [first] = data.accounts;
  if (first === undefined) return text.t("completeness.day.unchecked", { day: longDay(data.day, text) });
  const cell = cellsByDay(data.accounts, undefined).get(data.day);
  if (data.accounts.length === 1 || cell === undefined || cell.state === "unchecked") return daySentence(first, text);
  const byOrigin = new Map<DayResult["repairedFrom"][number]["origin"], number>();
  for (const { origin, count } of data.accounts.flatMap(({ repairedFrom }) => repairedFrom))
    byOrigin.set(origin, (byOrigin.get(origin) ?? 0) + count);
  const { final, missing, repaired, open, state } = cell;
  const all = {
    final,
    missing,
    repaired,
    open,
    state,
    kinds: data.accounts.flatMap(({ kinds }) => kinds),
    repairedFrom: [...byOrigin].map(([origin, count]) => ({ origin, count })),
  };
  return daySentence({ ...first, ...all }, text);
}

const MEANS = ["totals", "logs", "messages", "csv", "suppressions", "rules"] as const;

/** What a record is called, for a word that may be several: "totals+logs". An unknown one stays as it is. */
export function meansText(checkedBy: string, { t }: TextContext): string {
  const words = checkedBy.split(/[\s,+]+/).map((name) => {
    const known = MEANS.find((each) => each === name);
    return known === undefined ? name : t(`completeness.means.${known}`);
  });
  return words.join(", ");
}

const CONFIDENCES = ["confirmed", "certain", "likely", "partial", "suspected", "unknown"] as const;

export function confidenceText(confidence: string, { t }: TextContext): string {
  const known = CONFIDENCES.find((each) => each === confidence);
  return known === undefined ? confidence : t(`completeness.confidence.${known}`);
}

const RULES = [
  "logs",
  "messages",
  "csv",
  "suppression",
  "register",
  "delivered_without_processed",
  "opened_without_delivered",
  "deferral_missing",
  "deferred_without_end",
  "processed_without_end",
  "copy_missing",
] as const;

export function ruleText(rule: string, { t }: TextContext): string {
  const known = RULES.find((each) => each === rule);
  return known === undefined ? rule : t(`completeness.gapRules.${known}`);
}

/** A type of event as the page calls it, where two must not have one name; undefined for one that it does not know. */
export function kindText(kind: string, { t }: TextContext): string | undefined {
  const known = KINDS.find((each) => each === kind);
  if (known === undefined) return undefined;
  return known === "bounce" || known === "blocked" ? t(`kindFilter.${known}`) : t(`kind.${known}`);
}
