import type { Page } from "playwright-core";

/** The buttons that choose a language. */
const LANGUAGE_BUTTONS = { en: "English", de: "Deutsch" } as const;
type Language = keyof typeof LANGUAGE_BUTTONS;

/**
 * Gives the page each of these languages, on light paper and on dark, without another load of it: a load in a fresh profile costs
 * 0.6 s of CPU. One language alone is the one in which the page was opened.
 */
export async function* everyLook(
  page: Page,
  languages: readonly Language[] = ["en", "de"],
): AsyncGenerator<{ language: Language; scheme: "light" | "dark" }> {
  for (const language of languages) {
    if (languages.length > 1) await page.getByRole("button", { name: LANGUAGE_BUTTONS[language] }).click();
    await page.locator(`html[lang="${language}"]`).waitFor();
    for (const scheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme: scheme });
      await page.locator(`html[data-mantine-color-scheme="${scheme}"]`).waitFor();
      yield { language, scheme };
    }
  }
}
