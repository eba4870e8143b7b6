import axe from "axe-core";
import type { Page } from "playwright-core";
import { everyLook } from "./every-look.ts";

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

/** The same in every look, from one load: axe costs 0.2 s of CPU. `content` is what the page shows when it is whole. */
export async function violationsInEveryLook(
  page: Page,
  content: string,
  languages?: Parameters<typeof everyLook>[1],
): Promise<string[]> {
  const found: string[] = [];
  for await (const { language, scheme } of everyLook(page, languages)) {
    await page.locator(content).first().waitFor({ state: "attached" });
    for (const violation of await violations(page)) found.push(`${language}, ${scheme}: ${violation}`);
  }
  return found;
}
