import i18next, { type i18n } from "i18next";
import { initReactI18next } from "react-i18next";
import { de } from "./de.ts";
import { en } from "./en.ts";
import { isLanguage, type Language, pickLanguage } from "./language.ts";

declare module "i18next" {
  interface CustomTypeOptions {
    resources: { translation: typeof en };
  }
}

const STORAGE_KEY = "holdfast.language";

/** A translator of its own, for tests and for the page. React shows text as text, so nothing is escaped here. */
export async function createTranslator(language: Language, plugins: "react" | "none" = "none"): Promise<i18n> {
  const translator = i18next.createInstance();
  if (plugins === "react") translator.use(initReactI18next);
  await translator.init({
    lng: language,
    fallbackLng: "en",
    supportedLngs: ["en", "de"],
    resources: { en: { translation: en }, de: { translation: de } },
    interpolation: { escapeValue: false, skipOnVariables: true },
    returnNull: false,
  });
  return translator;
}

/** Starts the page's translator in the reader's language. */
export async function startTranslator(): Promise<i18n> {
  let chosen: string | null = null;
  try {
    chosen = localStorage.getItem(STORAGE_KEY);
  } catch {
    // Storage can be forbidden; the browser's language then decides.
  }
  const translator = await createTranslator(pickLanguage(chosen, navigator.languages), "react");
  document.documentElement.lang = translator.language;
  return translator;
}

/** Changes the language by hand, and remembers it. */
export async function changeLanguage(translator: i18n, language: Language): Promise<void> {
  try {
    localStorage.setItem(STORAGE_KEY, language);
  } catch {
    // It then holds for this page only.
  }
  await translator.changeLanguage(language);
  document.documentElement.lang = language;
}

export function languageOf(translator: i18n): Language {
  return isLanguage(translator.language) ? translator.language : "en";
}
