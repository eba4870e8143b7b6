import { daysBetween } from "../days.ts";
import type { CertificateWords } from "./certificate-words.ts";
import { type Figures, type Sums, sumOfKinds } from "./completeness-figures.ts";
import type { RepairedFrom } from "./completeness-rows.ts";

export type Tone = "ok" | "late" | "bad" | "unknown";

/** What a certificate certifies: one sentence, and what must be known beside it. */
export interface Verdict {
  tone: Tone;
  sentence: string;
  notes: string[];
}

interface VerdictFacts {
  figures: Figures;
  repairedFrom: readonly RepairedFrom[];
  /** The period within a sentence. */
  period: string;
}

/**
 * "SendGrid counts 5,000 events for 29 November 2026. Holdfast holds all of them; 37 were missing and have been repaired
 * from SendGrid's Email Logs."
 *
 * Invariant: it never says "all" while a checked day is missing something or unknown, and speaks of checked days only.
 * Test: certificate.test.ts.
 */
export function verdictOf({ figures, repairedFrom, period }: VerdictFacts, words: CertificateWords): Verdict {
  const { verdict } = words;
  const number = countFormat(words);
  const results = figures.days;
  if (results.length === 0) return { tone: "unknown", sentence: verdict.unchecked(verdict.period(period)), notes: [] };
  const sums = sumsOf(figures);
  const daysIn = (keep: (day: Figures["days"][number]) => boolean): number =>
    new Set(results.filter(keep).map(({ day }) => day)).size;
  const checked = daysIn(() => true);
  const unknown = daysIn(({ state }) => state === "unknown");
  const notFinal = daysIn(({ final }) => !final);
  const days = daysBetween(figures.from, figures.to).length;
  // What SendGrid counts is of the checked days only.
  const counting =
    checked === days ? verdict.period(period) : verdict.checkedDays(number(checked), number(days), checked, period);
  const counted =
    sums.sendgrid === null
      ? verdict.holdsOnly(number(sums.held), counting)
      : verdict.counts(number(sums.sendgrid), counting, sums.sendgrid);
  const notes = [
    ...(results.some(({ simulated }) => simulated) ? [verdict.simulated] : []),
    ...(unknown === 0 ? [] : [verdict.unknown(number(unknown), unknown, days)]),
    ...(notFinal === 0 ? [] : [verdict.notFinal(number(notFinal), notFinal, days)]),
  ];
  const from = originsText(repairedFrom, words);
  return {
    tone: toneOf(figures, checked === days && unknown === 0),
    sentence: [counted, ...outcome(figures, from, words)].join(" "),
    notes,
  };
}

function outcome(figures: Figures, from: string, words: CertificateWords): string[] {
  const { verdict } = words;
  const number = countFormat(words);
  const { repaired } = sumsOf(figures);
  const openIn = (state: string): number =>
    figures.days.filter((day) => day.state === state).reduce((sum, { open }) => sum + open, 0);
  const missing = openIn("missing");
  const suspected = openIn("suspected");
  const isKnown = figures.days.every(({ state }) => state !== "unknown");
  if (missing === 0 && suspected === 0) {
    if (repaired > 0)
      return [
        isKnown
          ? verdict.repaired(number(repaired), repaired, from)
          : verdict.alsoRepaired(number(repaired), repaired, from),
      ];
    return isKnown ? [verdict.all] : [];
  }
  return [
    ...(missing === 0 ? [] : [verdict.missing(number(missing), missing)]),
    ...(suspected === 0 ? [] : [verdict.suspected(number(suspected), suspected)]),
    ...(repaired === 0 ? [] : [verdict.alsoRepaired(number(repaired), repaired, from)]),
  ];
}

function toneOf({ days }: Figures, isWhole: boolean): Tone {
  if (days.some(({ state }) => state === "missing")) return "bad";
  if (days.some(({ state }) => state === "suspected")) return "late";
  return isWhole ? "ok" : "unknown";
}

/** Of all kinds and days. `missing`, `repaired` and `open` are the days' own: they may know more than the kinds. */
export function sumsOf({ days }: Figures): Sums {
  const kinds = sumOfKinds(days.flatMap((day) => day.kinds));
  const add = (name: "missing" | "repaired" | "open"): number => days.reduce((sum, day) => sum + day[name], 0);
  return { ...kinds, missing: add("missing"), repaired: add("repaired"), open: add("open") };
}

function originsText(repairedFrom: readonly RepairedFrom[], { origins, and }: CertificateWords): string {
  const names = [...new Set(repairedFrom.map(({ origin }) => origins[origin]))];
  if (names.length === 0) return origins.records;
  const last = names.at(-1) ?? "";
  return names.length === 1 ? last : `${names.slice(0, -1).join(", ")} ${and} ${last}`;
}

export function countFormat({ locale }: CertificateWords): (value: number) => string {
  const format = new Intl.NumberFormat(locale);
  return (value) => format.format(value);
}
