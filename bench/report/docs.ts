import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { readResults, type KeptResult } from "../results.ts";
import { renderPlot, renderSection } from "./sections.ts";

const DOCS = join(import.meta.dirname, "../../docs");
const PAGE = join(DOCS, "performance.md");

/** Writes the kept results into docs/performance.md, between each scenario's two marks, and the plot beside it. */
export async function writeDocs(): Promise<void> {
  const results = await readResults();
  await writeFile(PAGE, fillPage(await readFile(PAGE, "utf8"), results));
  for (const result of results.values()) {
    const plot = renderPlot(result);
    if (plot !== undefined) await writeFile(join(DOCS, `performance-${result.scenario}.svg`), plot);
  }
}

/** The page with every scenario's figures; what has no result says so. */
export function fillPage(page: string, results: ReadonlyMap<string, KeptResult>): string {
  return page.replaceAll(/<!-- figures: ([a-z]+) -->[\s\S]*?<!-- end -->/g, (_all, name: string) => {
    const result = results.get(name);
    const text = result === undefined ? "Not measured yet." : renderSection(result);
    const plot =
      name === "intake" && result !== undefined ? "![Acknowledged events per second](performance-intake.svg)\n\n" : "";
    return `<!-- figures: ${name} -->\n${plot}${text}\n<!-- end -->`;
  });
}
