import { expect, test } from "vitest";
import { createTranslator } from "../i18n/i18n.ts";
import { LOCALES, type Language } from "../i18n/language.ts";
import type { TextContext } from "./context.ts";
import { repairedSentence } from "./repaired.ts";

async function textIn(language: Language): Promise<TextContext> {
  const { t } = await createTranslator(language);
  return { t, locale: LOCALES[language], timeZone: "UTC", now: Date.parse("2026-11-30T12:00:00Z") };
}

const en = await textIn("en");
const de = await textIn("de");
const repairedAt = "2026-11-28T10:00:00Z";

test("an event that no webhook brought says where it came from and when", () => {
  expect(repairedSentence({ origin: "logs", repairedAt }, en)).toBe(
    "Repaired from SendGrid's Email Logs on 28 November, 10:00: no webhook brought it.",
  );
  expect(repairedSentence({ origin: "messages", repairedAt }, de)).toBe(
    "Am 28. November um 10:00 aus der Email Activity von SendGrid ergänzt: Kein Webhook hat es gebracht.",
  );
  expect(repairedSentence({ origin: "csv", repairedAt: null }, en)).toBe(
    "Repaired from a CSV export of SendGrid's: no webhook brought it.",
  );
});

test("an event whose webhook came late says that it took a repaired one's place, and others say nothing", () => {
  expect(repairedSentence({ origin: "webhook", repairedAt }, en)).toBe(
    "Its webhook came late: it had been repaired on 28 November, 10:00, and now stands in that one's place.",
  );
  expect(repairedSentence({ origin: "webhook", repairedAt: null }, en)).toBeUndefined();
});
