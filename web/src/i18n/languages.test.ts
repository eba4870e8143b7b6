import { describe, expect, test } from "vitest";
import { de } from "./de.ts";
import { en } from "./en.ts";
import { createTranslator } from "./i18n.ts";
import { pickLanguage } from "./language.ts";

/** Every text of a language under its dotted key. */
function flatten(texts: object, prefix = ""): Map<string, string> {
  const flat = new Map<string, string>();
  for (const [key, value] of Object.entries(texts) as [string, unknown][]) {
    if (typeof value === "string") flat.set(prefix + key, value);
    else if (typeof value === "object" && value !== null)
      for (const [below, text] of flatten(value, `${prefix}${key}.`)) flat.set(below, text);
  }
  return flat;
}

const placeholders = (text: string): string[] =>
  [...text.matchAll(/\{\{(\w+)\}\}/g)].map((match) => match[1] ?? "").sort();

const english = flatten(en);
const german = flatten(de);

/** German says "einer" or "einem" where English says 1, and both say "one" where they please. */
const mayDiffer = (key: string): boolean => key.endsWith("_one");

describe("the page's languages", () => {
  test("English and German have exactly the same keys", () => {
    expect([...german.keys()].sort()).toEqual([...english.keys()].sort());
    expect(english.size).toBeGreaterThan(300);
  });

  test("no text is empty, and each takes the same values in both languages", () => {
    for (const [key, text] of english) {
      expect(text.trim(), key).not.toBe("");
      expect(german.get(key)?.trim(), key).not.toBe("");
    }
    const strict = [...english].filter(([key]) => !mayDiffer(key));
    for (const [key, text] of strict) expect(placeholders(german.get(key) ?? ""), key).toEqual(placeholders(text));
  });

  test("what has a singular has a plural", () => {
    const singulars = [...english.keys(), ...german.keys()].filter((key) => key.endsWith("_one"));
    const plurals = singulars.map((key) => key.replace(/_one$/, "_other"));
    expect(plurals.filter((key) => !english.has(key) || !german.has(key))).toEqual([]);
  });

  test("nothing shouts, nothing says Oops, and German says Sie", () => {
    for (const [key, text] of [...english, ...german]) expect(text, key).not.toMatch(/!|\boops\b/i);
    for (const [key, text] of german) expect(text, key).not.toMatch(/\b([Dd]u|[Dd]ein\w*|[Dd]ich|[Dd]ir)\b/);
  });

  test("a missing German text would fall back to English, and plurals work in both", async () => {
    const translator = await createTranslator("de");
    expect(translator.t("live.new", { count: 1, formatted: "1" })).toBe("1 neues Ereignis");
    expect(translator.t("live.new", { count: 12, formatted: "12" })).toBe("12 neue Ereignisse");
    await translator.changeLanguage("en");
    expect(translator.t("live.new", { count: 12, formatted: "12" })).toBe("12 new events");
  });

  test("a foreign value is never taken for a text to translate or to fill in", async () => {
    const translator = await createTranslator("en");
    expect(translator.t("message.leadNoSender", { subject: "$t(nav.live) {{sender}}" })).toBe(
      "“$t(nav.live) {{sender}}”",
    );
  });
});

describe("the choice of language", () => {
  test("a choice by hand wins over the browser's", () => {
    expect(pickLanguage("de", ["en-GB"])).toBe("de");
  });

  test("else the browser's first language that the page speaks", () => {
    expect(pickLanguage(null, ["fr-FR", "de-CH", "en"])).toBe("de");
    expect(pickLanguage("klingon", ["en-US", "de"])).toBe("en");
  });

  test("else English", () => {
    expect(pickLanguage(null, ["ja"])).toBe("en");
    expect(pickLanguage(null, [])).toBe("en");
  });
});
