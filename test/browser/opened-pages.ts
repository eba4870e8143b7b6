import type { BrowserContext, Page } from "playwright-core";
import { afterAll, afterEach, expect } from "vitest";
import type { TokenRole } from "../../src/views/contract.ts";
import type { BrowserStart } from "./browser.ts";
import { type Look, makeToken, type OpenedPage, openPage, type PageWorld, signIn } from "./page-world.ts";

type Cookies = Awaited<ReturnType<BrowserContext["cookies"]>>;

export interface OpenedPages {
  /** Opens a fresh browser profile, not signed in, until the test under way ends. */
  open(look?: Partial<Look>): Promise<OpenedPage>;
  /** The same until the last test ends: a load in a fresh profile costs 0.6 s of CPU, the next one in an open page 0.3 s. */
  openForAll(look?: Partial<Look>): Promise<OpenedPage>;
  /** The cookies of a session with this role, an admin's by default: one for all pages, since signing in is limited to some times a minute. */
  session(role?: TokenRole): Promise<Cookies>;
  /** Opens a page of that session, until the test under way ends. */
  openSignedIn(look?: Partial<Look>, role?: TokenRole): Promise<OpenedPage>;
  /** The same, at an address. */
  at(path: string, look?: Partial<Look>, role?: TokenRole): Promise<Page>;
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
  const sessions = new Map<TokenRole, Promise<Cookies>>();

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
  const open: OpenedPages["open"] = async (look) => openInto(opened, look);

  async function beginSession(role: TokenRole): Promise<Cookies> {
    const page = await open();
    await signIn(page, role === "admin" ? world().adminToken : await makeToken(world(), role));
    return page.context.cookies();
  }
  const session: OpenedPages["session"] = async (role = "admin") => {
    const begun = sessions.get(role) ?? beginSession(role);
    sessions.set(role, begun);
    return begun;
  };
  const openSignedIn: OpenedPages["openSignedIn"] = async (look, role) => {
    const page = await open(look);
    await page.context.addCookies(await session(role));
    return page;
  };
  return {
    opened,
    open,
    openForAll: async (look) => openInto(openedForAll, look),
    session,
    openSignedIn,
    async at(path, look, role) {
      const { page } = await openSignedIn(look, role);
      await page.goto(path);
      return page;
    },
  };
}
