import { BaseSequencer, type TestSpecification } from "vitest/node";

/**
 * The order of the test files. What takes a minute comes first, so that no single file is left at the end: those with a browser, which
 * keep a core busy, in turns with those of faults, which mostly wait. Vitest's own order (the longest first, as far as its cache
 * knows; a fresh clone has none) holds within each kind.
 */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const browser = sorted.filter(({ moduleId }) => moduleId.includes("/test/browser/"));
    const faults = sorted.filter(({ moduleId }) => moduleId.includes("/test/faults/"));
    const inTurns = Array.from({ length: Math.max(browser.length, faults.length) }, (_, place) => [
      ...browser.slice(place, place + 1),
      ...faults.slice(place, place + 1),
    ]).flat();
    return [...inTurns, ...sorted.filter((file) => !inTurns.includes(file))];
  }
}
