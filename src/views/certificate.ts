import { daysBetween } from "../days.ts";
import {
  closePaper,
  type Column,
  facts,
  footers,
  gap,
  heading,
  letterhead,
  MUTED,
  openPaper,
  type Paper,
  paragraph,
  points,
  type Row,
  rule,
  table,
  verdictBox,
} from "./certificate-paper.ts";
import { countFormat, sumsOf, type Tone, verdictOf } from "./certificate-verdict.ts";
import { CERTIFICATE_WORDS, type CertificateWords } from "./certificate-words.ts";
import { type Figures, figuresHash, type KindSums, type Sums, sumByKind, sumOfKinds } from "./completeness-figures.ts";
import type { RepairedFrom } from "./completeness-rows.ts";
import type { DayState } from "./contract-completeness.ts";
import type { DayRange } from "./days.ts";

export interface CertificateFacts {
  figures: Figures;
  repairedFrom: readonly RepairedFrom[];
  timeZone: string;
  language: "en" | "de";
  version: string;
  /** The public address; undefined when none is set. */
  instance: string | undefined;
  /** For tests: text that can be read in the bytes. */
  isPlain?: boolean;
}

const TONES: Readonly<Record<Tone, string>> = { ok: "#1c7a4c", late: "#8f5a06", bad: "#bf3529", unknown: MUTED };
const STATE_TONES: Readonly<Record<DayState, Tone>> = {
  equal: "ok",
  repaired: "ok",
  suspected: "late",
  missing: "bad",
  unknown: "unknown",
};
/** Accounts named on the first page. */
const ACCOUNTS_NAMED_MAX = 8;

/**
 * The completeness certificate as a PDF. The same figures, language and version make the same bytes: nothing in it is of
 * the moment it is drawn. Test: certificate.test.ts.
 */
export async function drawCertificate(certificate: CertificateFacts): Promise<Buffer> {
  const { figures, repairedFrom, language, version, isPlain = false } = certificate;
  const words = CERTIFICATE_WORDS[language];
  const period = periodText(figures, words);
  const title = `${words.title}, ${period}`;
  const paper = openPaper({ title, language, createdAt: lastCheck(figures) ?? new Date(figures.from), isPlain });
  letterhead(paper);
  paragraph(paper, words.title, { size: 22, font: "Helvetica-Bold" });
  gap(paper, 2);
  paragraph(paper, period, { size: 13, colour: MUTED });
  gap(paper, 18);
  const verdict = verdictOf({ figures, repairedFrom, period }, words);
  verdictBox(paper, { ...verdict, colour: TONES[verdict.tone] });
  gap(paper, 18);
  facts(paper, factRows(certificate, words));
  if (figures.days.length > 0) {
    drawKinds(paper, figures, words);
    if (figures.from !== figures.to || accountsOf(figures).length > 1) drawDays(paper, figures, words);
    drawMethods(paper, figures, words);
  }
  heading(paper, words.headings.limits);
  points(paper, words.limits);
  const hash = figuresHash(figures);
  drawProof(paper, { figures, hash }, words);
  footers(paper, `Holdfast ${version} · SHA-256 ${hash.slice(0, 16)}…`, (page, pages) =>
    words.page(String(page), String(pages)),
  );
  return closePaper(paper);
}

function lastCheck({ days }: Figures): Date | undefined {
  const times = days.map(({ checkedAt }) => checkedAt).sort();
  const last = times.at(-1);
  return last === undefined ? undefined : new Date(last);
}

function accountsOf({ days }: Figures): string[] {
  return [...new Set(days.map(({ account }) => account))].sort();
}

function accountName(account: string, words: CertificateWords): string {
  return account === "" ? words.mainAccount : account;
}

function dayText(day: string, { locale }: CertificateWords): string {
  return new Intl.DateTimeFormat(locale, { dateStyle: "long", timeZone: "UTC" }).format(new Date(`${day}T00:00:00Z`));
}

/** "29 November 2026", "1 to 30 November 2026", "1. Oktober bis 30. November 2026". */
function periodText({ from, to }: DayRange, words: CertificateWords): string {
  if (from === to) return dayText(to, words);
  const { locale } = words;
  const sameYear = from.slice(0, 4) === to.slice(0, 4);
  const sameMonth = from.slice(0, 7) === to.slice(0, 7);
  const isGerman = locale.startsWith("de");
  const begin = new Intl.DateTimeFormat(locale, {
    timeZone: "UTC",
    day: "numeric",
    ...(sameMonth ? {} : { month: "long" as const }),
    ...(sameYear ? {} : { year: "numeric" as const }),
  }).format(new Date(`${from}T00:00:00Z`));
  const dot = isGerman && sameMonth && !begin.endsWith(".") ? "." : "";
  return `${begin}${dot} ${isGerman ? "bis" : "to"} ${dayText(to, words)}`;
}

function factRows(certificate: CertificateFacts, words: CertificateWords): [string, string][] {
  const { figures, timeZone, instance, version } = certificate;
  const accounts = figures.account === undefined ? accountsOf(figures) : [figures.account];
  const named = accounts.slice(0, ACCOUNTS_NAMED_MAX).map((account) => accountName(account, words));
  const more = accounts.length - named.length;
  const last = lastCheck(figures);
  const format = new Intl.DateTimeFormat(words.locale, { dateStyle: "long", timeStyle: "medium", timeZone });
  return [
    [words.facts.instance, instance ?? words.facts.noInstance],
    [words.facts.period, periodText(figures, words)],
    [words.facts.timeZone, timeZone],
    [words.facts.accounts, `${named.join(", ")}${more === 0 ? "" : ` ${words.moreAccounts(String(more))}`}` || "–"],
    [
      words.facts.checked,
      last === undefined ? words.facts.never : `${format.format(last)} (${timeZone}), ${last.toISOString()}`,
    ],
    [words.facts.software, `Holdfast ${version}`],
  ];
}

function number(label: string, share: number): Column {
  return { label, share, align: "right" };
}

/** The figures of a line, from SendGrid's count on. */
function figureCells(sums: Sums, words: CertificateWords): string[] {
  const count = countFormat(words);
  const sendgrid = sums.sendgrid === null ? words.noTotal : count(sums.sendgrid);
  return [sendgrid, ...[sums.held, sums.missing, sums.repaired, sums.open].map(count)];
}

function drawKinds(paper: Paper, figures: Figures, words: CertificateWords): void {
  const { columns, kinds } = words;
  const count = countFormat(words);
  const sums = sumByKind(figures.days);
  const all = { ...sumsOf(figures), surplus: sumOfKinds(sums).surplus };
  const line = (label: string, each: Sums, isSum = false): Row => ({
    cells: [label, ...figureCells(each, words), count(each.surplus)],
    colours: each.open > 0 ? { 5: TONES.bad } : {},
    isSum,
  });
  heading(paper, words.headings.kinds, 90);
  table(
    paper,
    [
      { label: columns.kind, share: 0.28, align: "left" },
      number(columns.sendgrid, 0.15),
      number(columns.held, 0.15),
      number(columns.missing, 0.1),
      number(columns.repaired, 0.1),
      number(columns.open, 0.1),
      number(columns.surplus, 0.12),
    ],
    [...sums.map((each) => line(kinds[each.kind] ?? each.kind, each)), line(columns.sum, all, true)],
  );
  if (all.surplus > 0) {
    gap(paper, 6);
    paragraph(paper, words.surplusNote, { size: 8.5, colour: MUTED });
  }
}

function drawDays(paper: Paper, figures: Figures, words: CertificateWords): void {
  const { columns, states } = words;
  const byDay = Map.groupBy(figures.days, ({ day }) => day);
  const hasAccounts = accountsOf(figures).length > 1;
  const label = new Intl.DateTimeFormat(words.locale, {
    timeZone: "UTC",
    weekday: "short",
    day: "2-digit",
    month: "2-digit",
    year: "numeric",
  });
  const dayName = (day: string): string => label.format(new Date(`${day}T00:00:00Z`));
  const rows = daysBetween(figures.from, figures.to).flatMap((day, index, days): Row[] => {
    const name = dayName(day);
    const results = byDay.get(day);
    if (results === undefined) {
      // Days in a row that were not checked share a line.
      if (index > 0 && !byDay.has(days[index - 1] ?? "")) return [];
      const next = days.findIndex((other, at) => at > index && byDay.has(other));
      const last = (next === -1 ? days.at(-1) : days[next - 1]) ?? day;
      const text = last === day ? states.unchecked : words.uncheckedTo(dayName(last));
      return [{ cells: [name, ...(hasAccounts ? [""] : []), text], colours: { 1: MUTED, 2: MUTED } }];
    }
    return results.map((result) => {
      const { sendgrid, held } = sumOfKinds(result.kinds);
      const { account, state, final, missing, repaired, open } = result;
      const sums = { sendgrid, held, missing, repaired, open, surplus: 0 };
      const stateText = final ? states[state] : `${states[state]}, ${words.notFinalMark}`;
      return {
        cells: [name, ...(hasAccounts ? [accountName(account, words)] : []), stateText, ...figureCells(sums, words)],
        colours: { [hasAccounts ? 2 : 1]: TONES[STATE_TONES[state]] },
      };
    });
  });
  heading(paper, words.headings.days, 90);
  const extra = hasAccounts ? 0 : 0.02;
  table(
    paper,
    [
      { label: columns.day, share: 0.17, align: "left" },
      ...(hasAccounts ? [{ label: columns.account, share: 0.16, align: "left" as const }] : []),
      { label: columns.result, share: hasAccounts ? 0.15 : 0.21, align: "left" },
      number(columns.sendgrid, 0.13 + extra),
      number(columns.held, 0.13 + extra),
      number(columns.missing, 0.09 + extra),
      number(columns.repaired, 0.09 + extra),
      number(columns.open, 0.08 + extra),
    ],
    [...rows, sumRow(figures, hasAccounts, words)],
  );
}

function sumRow(figures: Figures, hasAccounts: boolean, words: CertificateWords): Row {
  return {
    cells: [words.columns.sum, ...(hasAccounts ? [""] : []), "", ...figureCells(sumsOf(figures), words)],
    isSum: true,
  };
}

function drawMethods(paper: Paper, figures: Figures, words: CertificateWords): void {
  const methodOf = ({ checkedBy, confidence }: KindSums): string => {
    const methods = new Set(checkedBy.flatMap((each) => each.split(/[\s,+]+/)));
    const by = [...methods].map((method) => words.methods[method] ?? method).join(", ");
    const sure = confidence.map((each) => words.confidence[each] ?? each).join(", ");
    return `${by} (${sure})`;
  };
  const byMethod = Map.groupBy(sumByKind(figures.days), methodOf);
  heading(paper, words.headings.how);
  points(
    paper,
    [...byMethod].map(
      ([method, kinds]) => `${kinds.map(({ kind }) => words.kinds[kind] ?? kind).join(", ")}: ${method}.`,
    ),
  );
}

function drawProof(paper: Paper, proof: { figures: Figures; hash: string }, words: CertificateWords): void {
  const { from, to, account } = proof.figures;
  const query = new URLSearchParams({ from, to, ...(account === undefined ? {} : { account }) });
  heading(paper, words.headings.proof, 110);
  paragraph(paper, words.proof);
  gap(paper, 6);
  paragraph(paper, `GET /api/completeness.json?${query.toString()}`, { font: "Courier", size: 9 });
  gap(paper, 2);
  paragraph(paper, proof.hash, { font: "Courier", size: 9 });
  gap(paper, 4);
  rule(paper);
}
