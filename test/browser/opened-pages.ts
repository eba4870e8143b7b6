import { afterAll, afterEach, expect } from "vitest";
import type { BrowserStart } from "./browser.ts";
import { type Look, type OpenedPage, openPage, type PageWorld } from "./page-world.ts";

export interface OpenedPages {
  /** Opens a fresh browser profile, not signed in, until the test under way ends. */
  open(look?: Partial<Look>): Promise<OpenedPage>;
  /** The same until the last test ends: a load in a fresh profile costs 0.6 s of CPU, the next one in an open page 0.3 s. */
  openForAll(look?: Partial<Look>): Promise<OpenedPage>;
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
  const openedForAll: OpenedPage[] = [];

  afterAll(async () => {
    if ("browser" in started) await started.browser.close();
    await world().stop();
  });
  afterEach(async () => {
    const pages = opened.splice(0);
    const complaints = [...pages, ...openedForAll].flatMap((page) => page.complaints.splice(0));
    for (const { context } of pages) await context.close();
    expect(complaints.filter((complaint) => !isExpected(complaint))).toEqual([]);
  });

  const openInto = async (pages: OpenedPage[], look: Partial<Look> = {}): Promise<OpenedPage> => {
    if ("reason" in started) throw new Error(started.reason);
    const page = await openPage({ browser: started.browser, world: world(), look });
    pages.push(page);
    return page;
  };
  return {
    opened,
    open: async (look) => openInto(opened, look),
    openForAll: async (look) => openInto(openedForAll, look),
  };
}
