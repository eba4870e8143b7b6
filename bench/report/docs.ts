import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { readResults, type KeptResult } from "../results.ts";
import { renderPlot, renderSection, renderSummary } from "./sections.ts";

const ROOT = join(import.meta.dirname, "../..");
const DOCS = join(ROOT, "docs");
const PAGES = [
  { file: join(DOCS, "performance.md"), render: renderWhole },
  { file: join(ROOT, "README.md"), render: renderSummary },
];

/** Writes the kept results into docs/performance.md and, in short, into the README, between each scenario's two marks, and the plot. */
export async function writeDocs(): Promise<void> {
  const results = await readResults();
  for (const { file, render } of PAGES) await writeFile(file, fillPage(await readFile(file, "utf8"), results, render));
  for (const result of results.values()) {
    const plot = renderPlot(result);
    if (plot !== undefined) await writeFile(join(DOCS, `performance-${result.scenario}.svg`), plot);
  }
}

/** The page with the figures of every scenario that it has marks for; what has no result says so. */
export function fillPage(
  page: string,
  results: ReadonlyMap<string, KeptResult>,
  render: (result: KeptResult) => string,
): string {
  return page.replaceAll(/<!-- figures: ([a-z]+) -->[\s\S]*?<!-- end -->/g, (_all, name: string) => {
    const result = results.get(name);
    const text = result === undefined ? "Not measured yet." : render(result);
    return `<!-- figures: ${name} -->\n${text}\n<!-- end -->`;
  });
}

function renderWhole(result: KeptResult): string {
  const section = renderSection(result);
  if (result.scenario !== "intake") return section;
  return `![Acknowledged events per second](performance-intake.svg)\n\n${section}`;
}
