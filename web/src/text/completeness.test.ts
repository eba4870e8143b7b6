import { describe, expect, test } from "vitest";
import type { CompletenessDay, CompletenessOfDay, DayResult } from "../../../src/views/contract-completeness.ts";
import { createTranslator } from "../i18n/i18n.ts";
import { LOCALES, type Language } from "../i18n/language.ts";
import {
  type Cell,
  cellLabel,
  cellsByDay,
  confidenceText,
  daySentence,
  dayTitle,
  meansText,
  monthsOf,
  ruleText,
  totalsOf,
  walk,
  yearSentence,
} from "./completeness.ts";
import type { TextContext } from "./context.ts";

async function textIn(language: Language): Promise<TextContext> {
  const { t } = await createTranslator(language);
  return { t, locale: LOCALES[language], timeZone: "UTC", now: Date.parse("2026-11-30T12:00:00Z") };
}

const en = await textIn("en");
const de = await textIn("de");

function result(
  of: string,
  state: CompletenessDay["state"] = "equal",
  more: Partial<CompletenessDay> = {},
): CompletenessDay {
  const rest = {
    account: "",
    final: true,
    missing: 0,
    repaired: 0,
    open: 0,
    simulated: false,
    checkedAt: `${of}T23:00:00Z`,
  };
  return { day: of, state, ...rest, ...more };
}

function cells(...days: CompletenessDay[]): Cell[] {
  return [...cellsByDay(days, undefined).values()];
}

const REPAIRED = result("2026-11-02", "repaired", { missing: 37, repaired: 37 });
const YEAR = { year: 2026 };

describe("the sentence above a year", () => {
  test("says that all is complete, and what was repaired", () => {
    const year = cells(result("2026-11-01"), REPAIRED, result("2026-11-03"));
    expect(yearSentence(year, YEAR, en)).toBe(
      "All 3 checked days are complete. 37 events were missing and have been repaired.",
    );
    expect(yearSentence(year, YEAR, de)).toBe(
      "Alle 3 geprüften Tage sind vollständig. 37 Ereignisse fehlten und wurden ergänzt.",
    );
    expect(yearSentence(cells(result("2026-11-01")), YEAR, en)).toBe("The one checked day is complete.");
    expect(yearSentence([], YEAR, en)).toBe("No day of 2026 has been checked yet.");
  });

  test("never says complete while something is missing, suspected or not known", () => {
    const missing = result("2026-11-04", "missing", { missing: 1_204, open: 1_204 });
    const suspected = result("2026-11-05", "suspected", { missing: 1, open: 1 });
    const unknown = result("2026-11-06", "unknown");
    expect(yearSentence(cells(result("2026-11-01"), missing, suspected, unknown, REPAIRED), YEAR, en)).toBe(
      "1,204 events are missing, on 1 of 5 checked days. 1 event is suspected to be missing. For 1 day SendGrid could not be asked. 37 events were missing and have been repaired.",
    );
    for (const bad of [missing, suspected, unknown]) {
      expect(yearSentence(cells(result("2026-11-01"), bad), YEAR, en)).not.toContain("complete");
      expect(yearSentence(cells(result("2026-11-01"), bad), YEAR, de)).not.toContain("vollständig");
    }
  });
});

describe("a day of several accounts", () => {
  test("shows the state that most needs a person, and sums the figures", () => {
    const days = [
      result("2026-11-01", "repaired", { missing: 3, repaired: 3 }),
      result("2026-11-01", "missing", { account: "shop", missing: 5, open: 5, final: false }),
      result("2026-11-01", "equal", { account: "b" }),
    ];
    expect(cellsByDay(days, undefined).get("2026-11-01")).toEqual({
      day: "2026-11-01",
      state: "missing",
      final: false,
      missing: 8,
      repaired: 3,
      open: 5,
    });
    expect(cellsByDay(days, "b").get("2026-11-01")).toMatchObject({ state: "equal", final: true });
    expect(cellsByDay(days, "c").size).toBe(0);
  });
});

describe("the calendar", () => {
  test("has every day of the year once, leap days too, in weeks that begin on Monday", () => {
    expect(monthsOf(2026).flatMap(({ days }) => days)).toHaveLength(365);
    const leap = monthsOf(2024);
    expect(leap.flatMap(({ days }) => days)).toHaveLength(366);
    expect(leap[1]?.days.at(-1)).toBe("2024-02-29");
    // 1 November 2026 is a Sunday, 1 June 2026 a Monday.
    expect([monthsOf(2026)[10]?.offset, monthsOf(2026)[5]?.offset]).toEqual([6, 0]);
  });

  test("is walked by keys, and never left", () => {
    const within = { first: "2026-01-01", last: "2026-11-30" };
    const from = (begin: string, key: string): string | undefined => walk(begin, key, within);
    expect(from("2026-03-01", "ArrowLeft")).toBe("2026-02-28");
    expect(from("2026-02-28", "ArrowRight")).toBe("2026-03-01");
    expect(from("2026-03-01", "ArrowUp")).toBe("2026-02-22");
    expect(from("2026-03-01", "ArrowDown")).toBe("2026-03-08");
    expect(from("2026-03-31", "PageUp")).toBe("2026-02-28");
    expect(from("2026-01-31", "PageDown")).toBe("2026-02-28");
    expect(from("2026-02-11", "Home")).toBe("2026-02-01");
    expect(from("2026-02-11", "End")).toBe("2026-02-28");
    expect(from("2026-01-03", "ArrowUp")).toBe("2026-01-01");
    expect(from("2026-11-28", "ArrowDown")).toBe("2026-11-30");
    expect(from("2026-11-28", "Enter")).toBeUndefined();
  });

  test("tells of each day in words what the colours show", () => {
    const [repaired] = cells(REPAIRED);
    const [missing] = cells(result("2026-11-30", "missing", { missing: 5, open: 5, final: false }));
    const unchecked: Cell = { day: "2026-11-01", state: "unchecked", final: true, missing: 0, repaired: 0, open: 0 };
    const label = (cell: Cell | undefined, text: TextContext): string | undefined =>
      cell === undefined ? undefined : cellLabel(cell, "2026-11-30", text);
    expect(label(repaired, en)).toBe("2 November 2026: repaired, 37");
    expect(label(missing, en)).toBe("30 November 2026: events missing, 5 open, not final, today");
    expect(label(unchecked, en)).toBe("1 November 2026: not checked");
    expect(label(missing, de)).toBe("30. November 2026: Ereignisse fehlen, 5 offen, vorläufig, heute");
  });
});

function day(state: DayResult["state"], more: Partial<DayResult> = {}): DayResult {
  const kind = { kind: "open", sendgrid: 5_000, held: 5_000, missing: 0, repaired: 0, open: 0, surplus: 0 };
  const kinds = [{ ...kind, checkedBy: "totals", confidence: "certain" }];
  return { ...result("2026-11-29", state), timeZone: "UTC", kinds, repairedFrom: [], ...more };
}

describe("the sentence of a day", () => {
  test("says what SendGrid counts, what Holdfast holds, and where repaired events came from", () => {
    const repaired = day("repaired", { missing: 37, repaired: 37, repairedFrom: [{ origin: "logs", count: 37 }] });
    expect(daySentence(repaired, en)).toBe(
      "SendGrid counts 5,000 events for 29 November 2026. Holdfast holds all of them; 37 were missing and have been repaired from SendGrid's Email Logs.",
    );
    expect(daySentence(repaired, de)).toBe(
      "Für den 29. November 2026 zählt SendGrid 5.000 Ereignisse. Holdfast hält sie alle; 37 fehlten und wurden aus den Email Logs von SendGrid ergänzt.",
    );
    expect(daySentence(day("equal"), en)).toContain("Holdfast holds all of them.");
  });

  test("says what is missing, suspected or not known, and then claims no more", () => {
    const missing = day("missing", { missing: 40, repaired: 37, open: 3 });
    expect(daySentence(missing, en)).toBe(
      "SendGrid counts 5,000 events for 29 November 2026. 3 of them are missing here. 37 more were missing and have been repaired from SendGrid's records.",
    );
    expect(daySentence(day("suspected", { missing: 1, open: 1 }), en)).toContain("1 event is suspected to be missing");
    const [kind] = day("equal").kinds;
    if (kind === undefined) throw new Error("the day has no kinds");
    const unasked = day("unknown", { kinds: [{ ...kind, sendgrid: null, held: 12 }] });
    expect(daySentence(unasked, en)).toBe(
      "Holdfast holds 12 events of 29 November 2026; SendGrid has given no total. SendGrid could not be asked, so nothing is known.",
    );
  });

  test("speaks of all accounts together, and of a day that was not checked", () => {
    const page: CompletenessOfDay = {
      day: "2026-11-29",
      timeZone: "UTC",
      today: "2026-11-30",
      isChecked: true,
      accounts: [day("equal"), day("missing", { account: "shop", missing: 2, open: 2 })],
      accountsLeftOut: 0,
      changes: [],
      changesLeftOut: 0,
      gaps: [],
      nextCursor: null,
    };
    expect(dayTitle(page, en)).toBe("SendGrid counts 10,000 events for 29 November 2026. 2 of them are missing here.");
    expect(dayTitle({ ...page, isChecked: false, accounts: [] }, de)).toBe(
      "Der 29. November 2026 ist noch nicht geprüft.",
    );
  });

  test("leaves kinds without a total out of SendGrid's count, not out of Holdfast's", () => {
    const [kind] = day("equal").kinds;
    if (kind === undefined) throw new Error("the day has no kinds");
    expect(totalsOf([kind, { ...kind, sendgrid: null, held: 4, surplus: 1 }])).toEqual({
      sendgrid: 5_000,
      held: 5_004,
      surplus: 1,
    });
    expect(totalsOf([]).sendgrid).toBeNull();
  });
});

test("means, rules and confidences are put into words, and unknown ones keep their own", () => {
  expect(meansText("totals+logs", en)).toBe("daily totals, Email Logs");
  expect(meansText("totals+oracle", de)).toBe("Tageszahlen, oracle");
  expect(meansText("constructor", en)).toBe("constructor");
  expect(confidenceText("partial", de)).toBe("zum Teil");
  expect(confidenceText("0.5", en)).toBe("0.5");
  expect(ruleText("copy_missing", en)).toBe("Other copies of the same mail are there");
  expect(ruleText("new_rule", en)).toBe("new_rule");
});
