import type { Page } from "playwright-core";
import { beforeAll, describe, expect, test } from "vitest";
import { startBrowser } from "./browser.ts";
import { daysAgo, seedYear } from "./completeness-year.ts";
import { keepPages } from "./opened-pages.ts";
import { itemOf, type PageWorld, startPageWorld } from "./page-world.ts";

/** Every parameter of every address, wrong or hostile: a clear page, never a blank one, and nothing of it runs. */

const started = await startBrowser();
const isSkipped = "reason" in started;
if (isSkipped) process.stderr.write(`\nThe browser test is SKIPPED: ${started.reason}\n\n`);

/** What people, programs and attackers put where a word should be. */
const HOSTILE = {
  // Markup, quotes, a template and marks that turn the writing, in one: each page is loaded for each of these.
  script: `<script>document.title='taken'</script><img src=x onerror=document.title='taken'>"'\`--;){{7*7}}\${7*7}\u202Egpj.exe\u2066`,
  nothing: "\u0000",
  path: "../../etc/passwd",
  long: "x".repeat(3_000),
  number: "-1e999",
  lone: "\uD800",
} as const;

/** The address's own way of writing it; what is no text at all is written byte by byte. */
function encoded(name: keyof typeof HOSTILE): string {
  return name === "lone" ? "%ED%A0%80" : encodeURIComponent(HOSTILE[name]);
}

/** What each page reads of the part after "?". */
const PARAMETERS: Readonly<Record<string, readonly string[]>> = {
  "/": ["balance"],
  "/messages": ["q", "recipient", "state", "kind", "source", "category", "period", "columns"],
  "/completeness": ["year", "account"],
  "/settings/access": ["name", "action", "subject"],
};

/** These read nothing of it. */
const DEAF = [
  "/quarantine",
  "/alerts",
  "/settings/tokens",
  "/settings/sources",
  "/settings/status",
  "/simulation",
] as const;

/** Pages whose address itself names something. */
const NAMING = ["/messages/", "/recipients/", "/completeness/", "/settings/", "/"] as const;

/**
 * Comes to the address as by a link of another page: what is new is shown, from nothing, in the page that is loaded already. That
 * costs 0.13 s of CPU, a load 0.3 s. The server does not look at what follows "?", so one load for each parameter does.
 */
async function comeByLink(page: Page, address: string): Promise<void> {
  const isAtAlerts = page.locator('.rail [href="/alerts"][aria-current="page"]');
  for (const [to, state] of [
    ["/alerts", "attached"],
    [address, "detached"],
  ] as const) {
    await page.evaluate(`history.pushState(null, "", ${JSON.stringify(to)})`);
    await isAtAlerts.waitFor({ state });
  }
}

describe.skipIf(isSkipped)("hostile addresses in a browser", () => {
  let world: PageWorld;
  // Answers of 4xx are what these tests ask for, and Chrome writes each to the console.
  const { open, openForAll, opened, session, at } = keepPages(
    started,
    () => world,
    (text) => /status of 4\d\d/.test(text),
  );
  /** An admin's, for all tests that only look at addresses. */
  let desk: Page;

  beforeAll(async () => {
    world = await startPageWorld();
    await world.post([itemOf("held", "processed"), itemOf("held", "delivered")]);
    await seedYear(world, { days: 5, special: [{ daysAgo: 2, state: "missing", count: 3 }] });
    const kept = await openForAll();
    await kept.context.addCookies(await session());
    desk = kept.page;
  });

  /** After a load. */
  async function expectClear(address: string): Promise<void> {
    await desk.goto(address);
    await expectClearHere(desk, address);
  }

  async function expectClearByLink(address: string): Promise<void> {
    await comeByLink(desk, address);
    await expectClearHere(desk, address);
  }

  /** The page around it stands, the page itself says something, has stopped loading, and nothing of the address ran. */
  async function expectClearHere(page: Page, address: string): Promise<void> {
    await page.getByRole("navigation", { name: "Pages" }).waitFor();
    await page.locator("main :is(h1, table, .nothing-title, .papers)").first().waitFor({ state: "attached" });
    await page.locator("main .loading").first().waitFor({ state: "detached" });
    const said = (await page.locator("main").innerText()).trim();
    expect(said.length, `${address} is blank`).toBeGreaterThan(10);
    expect(said, address).not.toMatch(/undefined|NaN|\[object|Invalid Date/);
    expect(await page.title(), address).toContain("Holdfast");
    expect(await page.locator("main script, main img").count(), address).toBe(0);
    expect(await page.evaluate("document.documentElement.scrollWidth <= innerWidth"), `${address} is too wide`).toBe(
      true,
    );
  }

  const names = Object.keys(HOSTILE) as (keyof typeof HOSTILE)[];

  describe.each(Object.entries(PARAMETERS))("%s", (path, parameters) => {
    test.each(parameters)("whatever its parameter %s is, the page is clear", async (parameter) => {
      // Each page is shown for each value, so neighbours share the values between them; markup is for all.
      const turn = parameters.indexOf(parameter) % 2;
      const values = names.filter((name, index) => name === "script" || index % 2 === turn);
      await expectClear(`${path}?${parameter}=a&${parameter}=b`);
      for (const name of values) await expectClearByLink(`${path}?${parameter}=${encoded(name)}`);
      await expectClearByLink(`${path}?${parameter}`);
    });
  });

  test.each(DEAF)("%s is clear, whatever parameters it is given", async (path) => {
    await expectClear(`${path}?state=${encoded("script")}&cursor=${encoded("nothing")}&limit=${encoded("number")}`);
  });

  test.each(NAMING)("whatever follows %s, the page is clear", async (path) => {
    for (const name of names.filter((each) => each !== "path")) await expectClear(`${path}${encoded(name)}`);
    for (const rest of ["%E0%A4%A", "a%2Fb", "a/b/c"]) await expectClear(`${path}${rest}`);
  });

  test.each(["2026-02-30", "2026-13-01", "0000-00-00", "9999-12-31", "2026-1-1", "today", "2026-02-28T00:00", "-1"])(
    "the day %s is told apart from days that the calendar has",
    async (day) => {
      await expectClear(`/completeness/${day}`);
      await expectClearByLink(`/completeness/${day}?account=${encoded("script")}&state=${encoded("number")}`);
    },
  );

  test("a page whose script is gone, as after an update, says so and can be loaded anew", async () => {
    const page = await at("/");
    await page.locator('[data-figure="lost"]').waitFor();
    await page.route("**/assets/completeness-*.js", (route) => route.abort());
    await page.getByRole("link", { name: "Completeness", exact: true }).click();
    await page.getByText("This could not be loaded.").waitFor();
    // Everything around it still works.
    await page.getByRole("link", { name: "Alerts" }).click();
    await page.getByRole("heading", { level: 1, name: "Alerts" }).waitFor();
    await page.getByRole("link", { name: "Completeness", exact: true }).click();
    await page.unroute("**/assets/completeness-*.js");
    await page.getByRole("button", { name: "Try again" }).click();
    await page.locator(".calendar").waitFor();
    const complaints = opened.flatMap((each) => each.complaints.splice(0));
    expect(complaints.filter((text) => !/dynamically imported|ERR_FAILED/.test(text))).toEqual([]);
  });

  test("a parameter of the calendar that means nothing leaves the year as it is", async () => {
    const page = await at("/completeness?year=abcd");
    const year = daysAgo(0).slice(0, 4);
    for (const asked of ["year=abcd", "year=20266", "year=1999", "year=0x7EA", "year=", "account=nobody"]) {
      await comeByLink(page, `/completeness?${asked}`);
      await page.locator(".year-switch b").waitFor();
      expect(await page.locator(".year-switch b").textContent(), asked).toBe(year);
      expect(await page.locator(".calendar").count(), asked).toBe(1);
    }
    await comeByLink(page, "/completeness?year=2999");
    await page.locator(".verdict").getByText("2999").waitFor();
  });

  test.each([
    ["en", "Your access does not include this.", "Ask an admin for a token with a higher role."],
    ["de", "Ihr Zugang umfasst das nicht.", "Bitten Sie einen Admin um ein Token mit höherer Rolle."],
  ] as const)("support on an admin's page is told so, in %s", async (language, what, todo) => {
    const page = await at("/settings/tokens", { language }, "support");
    for (const path of ["tokens", "sources", "access?name=x", "status"].map((name) => `/settings/${name}`)) {
      await comeByLink(page, path);
      await page.getByText(what).waitFor();
      await page.getByText(todo).waitFor();
    }
    for (const path of ["/settings", "/simulation"]) {
      await comeByLink(page, path);
      await page.getByText(what).waitFor();
      expect(await page.locator("main").getByRole("button").count(), path).toBe(0);
    }
  });

  test.each([
    "/messages?q=held&state=delivered&period=today",
    "/completeness?year=2025",
    `/completeness/${daysAgo(2)}`,
    "/recipients/purchasing%40example.com",
    "/alerts",
    "/settings/access?action=key.add",
    "/simulation",
    "/messages/100%2525%2Fx",
  ])("a session that has ended leads back to %s", async (path) => {
    const page = await at(path);
    await page.getByRole("navigation", { name: "Pages" }).waitFor();
    await page.context().clearCookies();
    await page.reload();
    await page.waitForURL(`**/login?next=${new URLSearchParams({ next: path }).toString().slice("next=".length)}`);
    await page.getByLabel("Token", { exact: true }).waitFor();
    // As a sign-in does, without being limited to some times a minute.
    await page.context().addCookies(await session());
    await page.route("**/api/session", (route) =>
      route.request().method() === "POST"
        ? route.fulfill({ json: { name: "admin", role: "admin" } })
        : route.continue(),
    );
    await page.getByLabel("Token", { exact: true }).fill(world.adminToken);
    await page.keyboard.press("Enter");
    await page.waitForURL(`**${path}`);
    expect(new URL(page.url()).pathname + new URL(page.url()).search).toBe(path);
    await page.getByRole("navigation", { name: "Pages" }).waitFor();
  });

  test.each([
    "//evil.example",
    "https://evil.example/x",
    "/\\evil.example",
    "javascript:alert(1)",
    "/login?next=/login",
  ])("signing in does not lead to %s", async (next) => {
    const { page } = await open();
    await page.route("**/api/session", (route) =>
      route.request().method() === "POST"
        ? route.fulfill({ json: { name: "admin", role: "admin" } })
        : route.continue(),
    );
    await page.goto(`/login?${new URLSearchParams({ next }).toString()}`);
    await page.context().addCookies(await session());
    await page.getByLabel("Token", { exact: true }).fill(world.adminToken);
    await page.keyboard.press("Enter");
    await page.locator('[data-figure="lost"]').waitFor();
    expect(page.url()).toBe(`${world.service.url}/`);
  });
});
