import axe from "axe-core";
import type { Page } from "playwright-core";

/** The buttons that choose a language. */
const LANGUAGE_BUTTONS = { en: "English", de: "Deutsch" } as const;
const WCAG = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];

interface AxeResult {
  violations: { id: string; nodes: { html: string; failureSummary?: string }[] }[];
}

/**
 * What axe finds on a page against WCAG 2.2 AA. Through the browser's own protocol, since the content security policy
 * rightly lets no page load it.
 */
export async function violations(page: Page): Promise<string[]> {
  if (!(await page.evaluate<boolean>("'axe' in window"))) await page.evaluate(axe.source);
  // What fades in has no contrast yet.
  await page.evaluate("Promise.all(document.getAnimations().map((animation) => animation.finished.catch(() => null)))");
  const result = await page.evaluate<AxeResult>(
    `axe.run(document, { runOnly: ${JSON.stringify(WCAG)}, resultTypes: ["violations"] })`,
  );
  return result.violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 200)} ${failureSummary ?? ""}`),
  );
}

/**
 * The same in each of these languages, on light paper and on dark, from one load of the page: a load in a fresh profile costs 0.6 s of
 * CPU, what axe does 0.2 s. `content` is what the page shows when it is whole.
 */
export async function violationsInEveryLook(
  page: Page,
  content: string,
  languages: readonly (keyof typeof LANGUAGE_BUTTONS)[] = ["en", "de"],
): Promise<string[]> {
  const found: string[] = [];
  for (const language of languages) {
    if (languages.length > 1) await page.getByRole("button", { name: LANGUAGE_BUTTONS[language] }).click();
    await page.locator(`html[lang="${language}"]`).waitFor();
    for (const scheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme: scheme });
      await page.locator(`html[data-mantine-color-scheme="${scheme}"]`).waitFor();
      await page.locator(content).first().waitFor({ state: "attached" });
      for (const violation of await violations(page)) found.push(`${language}, ${scheme}: ${violation}`);
    }
  }
  return found;
}
