import { afterAll, afterEach, expect } from "vitest";
import type { BrowserStart } from "./browser.ts";
import { type Look, type OpenedPage, openPage, type PageWorld } from "./page-world.ts";

export interface OpenedPages {
  /** Opens a fresh browser profile, not signed in, until the test under way ends. */
  open(look?: Partial<Look>): Promise<OpenedPage>;
  /** Those of the test under way. */
  opened: readonly OpenedPage[];
}

/**
 * Keeps the pages of a browser test: after each test they are closed, and the browser may have complained of nothing but
 * what `isExpected`; after the last one the browser and the world end. To be called inside the describe.
 */
export function keepPages(
  started: BrowserStart,
  world: () => PageWorld,
  isExpected: (complaint: string) => boolean = () => false,
): OpenedPages {
  const opened: OpenedPage[] = [];

  afterAll(async () => {
    if ("browser" in started) await started.browser.close();
    await world().stop();
  });
  afterEach(async () => {
    const pages = opened.splice(0);
    const complaints = pages.flatMap((page) => page.complaints).filter((complaint) => !isExpected(complaint));
    for (const { context } of pages) await context.close();
    expect(complaints).toEqual([]);
  });

  return {
    opened,
    async open(look = {}) {
      if ("reason" in started) throw new Error(started.reason);
      const page = await openPage({ browser: started.browser, world: world(), look });
      opened.push(page);
      return page;
    },
  };
}
