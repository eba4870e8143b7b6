export const LANGUAGES = ["en", "de"] as const;
export type Language = (typeof LANGUAGES)[number];

/**
 * Which English, which German: one of each, so that two people on the phone read the same figures.
 * Both write days before months and count hours to 24.
 */
export const LOCALES: Readonly<Record<Language, string>> = { en: "en-GB", de: "de-DE" };

export function isLanguage(text: unknown): text is Language {
  return LANGUAGES.some((language) => language === text);
}

/** The chosen language, else the first of the browser's that we speak, else English. */
export function pickLanguage(chosen: string | null, browser: readonly string[]): Language {
  if (isLanguage(chosen)) return chosen;
  const spoken = browser.map((tag) => tag.slice(0, 2).toLowerCase());
  return spoken.find(isLanguage) ?? "en";
}
