import { describe, expect, test } from "vitest";
import { CHANGE_REASONS, type ChangeReason } from "../../../src/views/contract-completeness.ts";
import { createTranslator } from "../i18n/i18n.ts";
import { LOCALES, type Language } from "../i18n/language.ts";
import { changeReasonText } from "./change-reason.ts";
import type { TextContext } from "./context.ts";
import { plain } from "./hostile.ts";

async function textIn(language: Language): Promise<TextContext> {
  const { t } = await createTranslator(language);
  return { t, locale: LOCALES[language], timeZone: "UTC", now: Date.parse("2026-11-30T12:00:00Z") };
}

const en = await textIn("en");
const de = await textIn("de");

describe("why a day's result changed", () => {
  test.each<[ChangeReason, string, string]>([
    [
      { code: "total_moved", kind: "delivered", before: null, after: 12_345 },
      "SendGrid's count of “Delivered” moved from unknown to 12,345.",
      "Die Zahl von SendGrid für „Zugestellt“ änderte sich von unbekannt auf 12.345.",
    ],
    [{ code: "late", kind: "open", count: 1 }, "1 event “Opened” arrived late.", "1 Ereignis „Geöffnet“ kam spät."],
    [
      { code: "repaired", kind: "click", count: 1_200 },
      "1,200 events “Clicked” were filed from SendGrid's records.",
      "1.200 Ereignisse „Geklickt“ wurden aus den Aufzeichnungen von SendGrid ergänzt.",
    ],
    [
      { code: "state_moved", before: "missing", after: "repaired" },
      "The result moved from “events missing” to “repaired”.",
      "Das Ergebnis änderte sich von „Ereignisse fehlen“ auf „ergänzt“.",
    ],
    [
      { code: "time_zone_moved", before: "UTC", after: "Europe/Berlin" },
      "The account's time zone moved from UTC to Europe/Berlin.",
      "Die Zeitzone des Kontos änderte sich von UTC auf Europe/Berlin.",
    ],
    [{ code: "sentence", text: "1 open event came." }, "1 open event came.", "1 open event came."],
  ])("is said in both languages: %o", (reason, english, german) => {
    expect(plain(changeReasonText(reason, en))).toBe(english);
    expect(plain(changeReasonText(reason, de))).toBe(german);
  });

  test("every code has words, whatever comes with it", () => {
    for (const code of CHANGE_REASONS.filter((each) => each !== "sentence"))
      for (const text of [en, de]) expect(changeReasonText({ code }, text)).not.toMatch(/completeness|undefined|\{\{/);
  });

  test("a kind that the page does not know stands as it is, and turns no words around it", () => {
    const sentence = changeReasonText({ code: "late", kind: "\u202enew_type", count: 2 }, en);
    expect(sentence).toContain("\u2068[U+202E]new_type\u2069");
  });
});
