import axe from "axe-core";
import type { Page } from "playwright-core";

const WCAG = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];

interface AxeResult {
  violations: { id: string; nodes: { html: string; failureSummary?: string }[] }[];
}

/**
 * What axe finds on a page against WCAG 2.2 AA. Through the browser's own protocol, since the content security policy
 * rightly lets no page load it.
 */
export async function violations(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  // What fades in has no contrast yet.
  await page.evaluate("Promise.all(document.getAnimations().map((animation) => animation.finished.catch(() => null)))");
  const result = await page.evaluate<AxeResult>(
    `axe.run(document, { runOnly: ${JSON.stringify(WCAG)}, resultTypes: ["violations"] })`,
  );
  return result.violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 200)} ${failureSummary ?? ""}`),
  );
}
