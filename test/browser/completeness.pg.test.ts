import { readFile } from "node:fs/promises";
import type { Page } from "playwright-core";
import { beforeAll, describe, expect, test } from "vitest";
import { violationsInEveryLook } from "./accessibility.ts";
import { startBrowser } from "./browser.ts";
import { daysAgo, seedYear } from "./completeness-year.ts";
import { keepPages } from "./opened-pages.ts";
import { itemOf, type PageWorld, startPageWorld } from "./page-world.ts";

/** Whether anything is missing, in a browser: the calendar, a day, a check, the certificate; by keyboard, on every paper. */

const CHECKED_DAYS = 20;
const MISSING = { daysAgo: 1, state: "missing", count: 37 } as const;
const REPAIRED = { daysAgo: 6, state: "repaired", count: 60 } as const;
const SUSPECTED = { daysAgo: 8, state: "suspected", count: 2 } as const;
const UNKNOWN = { daysAgo: 9, state: "unknown", count: 0 } as const;

const started = await startBrowser();
const isSkipped = "reason" in started;
if (isSkipped) process.stderr.write(`\nThe browser test is SKIPPED: ${started.reason}\n\n`);

describe.skipIf(isSkipped)("completeness in a browser", () => {
  let world: PageWorld;
  const { opened, at } = keepPages(started, () => world);
  const held = itemOf("held", "delivered");

  /** The calendar of the year in which a day lies. */
  const yearOf = (day: string): string => `/completeness?year=${day.slice(0, 4)}`;
  const cell = (page: Page, days: number) => page.locator(`[data-day="${daysAgo(days)}"]`);

  beforeAll(async () => {
    world = await startPageWorld();
    await world.post([itemOf("held", "processed"), held]);
    await seedYear(world, {
      days: CHECKED_DAYS,
      special: [MISSING, REPAIRED, SUSPECTED, UNKNOWN],
      account: { name: "shop", days: 3 },
      messageId: String(held["sg_message_id"]),
    });
  });

  test("the calendar says of each day how it stands, in words, signs and colour, and in one sentence of them all", async () => {
    const page = await at("/completeness");
    await page.locator('.calendar [aria-current="date"]').waitFor();
    for (const [days, words, signs] of [
      [MISSING.daysAgo, /: events missing, 37 open, not final$/, 1],
      [REPAIRED.daysAgo, /: repaired, 60$/, 1],
      [SUSPECTED.daysAgo, /: suspected gap, 2 open$/, 1],
      [UNKNOWN.daysAgo, /: not known$/, 1],
      [5, /: complete$/, 0],
      [CHECKED_DAYS + 1, /: not checked$/, 0],
    ] as const) {
      // In January some of these days are of the year before.
      if (!page.url().endsWith(yearOf(daysAgo(days)))) await page.goto(yearOf(daysAgo(days)));
      await cell(page, days).waitFor();
      expect(await cell(page, days).getAttribute("aria-label")).toMatch(words);
      expect(await cell(page, days).locator("svg").count()).toBe(signs);
    }
    await page.goto(yearOf(daysAgo(MISSING.daysAgo)));
    await page
      .locator(".verdict")
      .getByText(/^37 events are missing, on 1 of \d+ checked days\./)
      .waitFor();
    expect(await page.locator(".lead").textContent()).toContain("Days are those of UTC");
  });

  test("one account alone has a calendar of its own, and the address says which", async () => {
    const page = await at(yearOf(daysAgo(1)));
    await page.getByLabel("Account", { exact: true }).selectOption({ label: "shop" });
    await page.waitForURL("**account=shop");
    await page
      .locator(".verdict")
      .getByText(/^(All \d checked days are|The one checked day is) complete\.$/)
      .waitFor();
    expect(await cell(page, 1).getAttribute("aria-label")).toMatch(/: complete$/);
    await page.reload();
    await page.locator(".verdict").getByText("complete").waitFor();
    expect(await cell(page, 1).getAttribute("aria-label")).toMatch(/: complete$/);
  });

  test("the whole way by keyboard: into the calendar, across its days, into one, and to the next", async () => {
    // Last year's calendar is whole on every day of this one.
    const year = Number(daysAgo(0).slice(0, 4)) - 1;
    const page = await at(`/completeness?year=${year}`);
    await page.locator(".calendar").waitFor();
    await page.getByLabel("The year after").focus();
    const focused = (): Promise<string> => page.evaluate("document.activeElement.dataset.day ?? ''");
    // Only one of the days is in the order of Tab: the last.
    for (let presses = 0; presses < 8 && (await focused()) === ""; presses += 1) await page.keyboard.press("Tab");
    for (const [key, day] of [
      ["ArrowLeft", "12-30"],
      ["ArrowUp", "12-23"],
      ["PageUp", "11-23"],
      ["Home", "11-01"],
      ["ArrowLeft", "10-31"],
      ["PageDown", "11-30"],
      ["ArrowDown", "12-07"],
      ["End", "12-31"],
      ["ArrowRight", "12-31"],
      ["ArrowUp", "12-24"],
    ] as const) {
      await page.keyboard.press(key);
      expect(await focused()).toBe(`${year}-${day}`);
    }
    await page.keyboard.press("Enter");
    await page.waitForURL(`**/completeness/${year}-12-24`);
    await page.getByRole("heading", { level: 1, name: "has not been checked yet." }).waitFor();
    await page.getByLabel("The day after").focus();
    await page.keyboard.press("Enter");
    await page.waitForURL(`**/completeness/${year}-12-25`);
  });

  test("a day shows its figures by kind, every gap with its mail, and what changed and why", async () => {
    const page = await at(`/completeness/${daysAgo(REPAIRED.daysAgo)}`);
    await page
      .getByRole("heading", { level: 1 })
      .getByText("60 were missing and have been repaired from SendGrid's Email Logs.")
      .waitFor();
    const delivered = page.locator("table.kinds tr").filter({ hasText: /^Delivered/ });
    expect(await delivered.locator("td").allTextContents()).toEqual([
      "Delivered",
      "1,561",
      "1,561",
      "60",
      "60",
      "0",
      "0",
      "daily totals, Email Logs",
      "certain",
    ]);
    const gaps = page.locator(".gaps > li");
    await gaps.nth(49).waitFor();
    expect(await gaps.count()).toBe(50);
    await page.getByRole("button", { name: "More gaps" }).click();
    await gaps.nth(59).waitFor();
    expect(await gaps.first().textContent()).toMatch(/Found in SendGrid's Email Logs \(certain\) · repaired from/);
    const change = page.locator(".changes li");
    expect(await change.textContent()).toContain("Result: events missing → repaired");
    expect(await change.textContent()).toContain("60 events “Delivered” were filed from SendGrid's records.");
    await page.getByLabel("Show only one state").selectOption("open");
    await page.getByText("No gap of this day is of that kind.").waitFor();
    await page.getByLabel("Show only one state").selectOption("");
    await gaps.first().getByRole("button", { name: "Evidence" }).click();
    expect(await gaps.first().locator("pre").textContent()).toContain('"status": "delivered"');
    await gaps.first().getByRole("link", { name: "the mail" }).click();
    await page.locator(".timeline li").first().waitFor();
  });

  test("a check is ordered, carried out, and stands in the list with its end", async () => {
    const page = await at("/completeness");
    await page.getByLabel("From", { exact: true }).fill(daysAgo(0));
    await page.getByText("At most 92 days, none after today").waitFor();
    expect(await page.getByRole("button", { name: "Check now" }).isDisabled()).toBe(true);
    await page.getByLabel("From", { exact: true }).fill(daysAgo(15));
    await page.getByLabel("To", { exact: true }).fill(daysAgo(15));
    await page.getByRole("button", { name: "Check now" }).click();
    await page.getByText("Ordered. It begins within a minute.").waitFor();
    const run = page.locator(".runs tbody tr").first();
    await run.getByText(/finished|failed/).waitFor();
    expect(await run.textContent()).toMatch(/check/);
  });

  test("the certificate comes as a PDF in the language of the page, and the figures as CSV", async () => {
    const page = await at(`/completeness/${daysAgo(1)}`, { language: "de" });
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("link", { name: "Bescheinigung dieses Tages (PDF)" }).click(),
    ]);
    expect(download.suggestedFilename()).toBe(`completeness-certificate-${daysAgo(1)}.pdf`);
    expect(download.url()).toContain("language=de");
    expect((await readFile(await download.path())).subarray(0, 5).toString()).toBe("%PDF-");
    await page.goto("/completeness");
    const [csv] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("link", { name: "CSV", exact: true }).click(),
    ]);
    expect((await readFile(await csv.path(), "utf8")).split("\r\n")[0]).toContain('"day","account","time_zone"');
  });

  test("support sees everything, and why it may order and take away nothing", async () => {
    const page = await at("/completeness", {}, "support");
    await page.locator(".calendar").waitFor();
    await page.getByText("Only the roles compliance and admin may order a check.").waitFor();
    expect(await page.getByRole("link", { name: "CSV", exact: true }).count()).toBe(0);
    await page.getByText("CSV", { exact: true }).hover();
    await page.getByText("Only the roles compliance and admin may take figures away.").waitFor();
    await page.goto(`/completeness/${daysAgo(1)}`);
    await page.locator(".gaps > li").first().waitFor();
    expect(await page.getByRole("link", { name: /Certificate/ }).count()).toBe(0);
  });

  test("a day that the calendar has not, and an answer that fails, are said in words", async () => {
    const page = await at("/completeness/2026-02-30");
    await page.getByText("The calendar has no 2026-02-30.").waitFor();
    await page.route("**/api/completeness*", (route) => route.fulfill({ status: 500, json: {} }));
    await page.goto("/completeness");
    await page.getByRole("button", { name: "Try again" }).waitFor();
    expect(await page.locator(".calendar").count()).toBe(0);
    for (const { complaints } of opened) complaints.splice(0);
  });

  test("on a phone nothing is wider than the screen, in either language", async () => {
    for (const language of ["en", "de"] as const) {
      const page = await at(yearOf(daysAgo(1)), { device: "phone", language });
      await cell(page, 1).waitFor();
      const fits = "document.documentElement.scrollWidth <= document.documentElement.clientWidth";
      expect(await page.evaluate(fits)).toBe(true);
      await page.goto(`/completeness/${daysAgo(REPAIRED.daysAgo)}`);
      await page.locator(".gaps > li").first().waitFor();
      expect(await page.evaluate(fits)).toBe(true);
    }
  });

  describe("axe finds nothing against WCAG 2.2 AA, in both languages, on light and on dark paper", () => {
    test.each([
      ["the year", yearOf(daysAgo(1)), ".runs tbody tr"],
      ["a day with gaps", `/completeness/${daysAgo(MISSING.daysAgo)}`, ".gaps li"],
      ["a repaired day", `/completeness/${daysAgo(REPAIRED.daysAgo)}`, ".gaps li"],
      ["a day not checked", `/completeness/${daysAgo(CHECKED_DAYS + 2)}`, ".nothing"],
    ])("%s", async (_name, path, content) => {
      const page = await at(path);
      expect(await violationsInEveryLook(page, content)).toEqual([]);
    });
  });
});
