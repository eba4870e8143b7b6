import { existsSync } from "node:fs";
import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import type { Page } from "playwright-core";
import { beforeAll, describe, expect, test } from "vitest";
import { startBrowser } from "./browser.ts";
import { everyLook } from "./every-look.ts";
import { keepPages } from "./opened-pages.ts";
import { itemOf, type PageWorld, startPageWorld, VIEWPORTS } from "./page-world.ts";

/** The page in a real browser against the real service: signed webhooks in, words and figures out. */

const ROOT = join(import.meta.dirname, "../..");
const BUILT = join(ROOT, "dist/web");
const SCREENSHOTS = join(ROOT, "artifacts");
/** What the first load may weigh, compressed. */
const SCRIPT_BYTES_MAX = 250_000;

const started = await startBrowser();
const isSkipped = "reason" in started;
if (isSkipped) process.stderr.write(`\nThe browser test is SKIPPED: ${started.reason}\n\n`);

/** What `placesOf` needs of an element: the browser's own types are not known to tests. */
interface Control {
  tagName: string;
  getAttribute(name: string): string | null;
  getBoundingClientRect(): { x: number; y: number };
}

/** Where each control is, but for the live page's lower half, which grows with what happens. */
const placesOf = (page: Page): Promise<string[]> =>
  page
    .locator(":is(button, a, select, input):not(:is(.foot, .flow, .stream, .controls) *)")
    .evaluateAll((controls: readonly Control[]) =>
      controls.map((control) => {
        const { x, y } = control.getBoundingClientRect();
        const name = ["data-figure", "href", "placeholder"].map((attribute) => control.getAttribute(attribute) ?? "");
        return `${control.tagName} ${name.join("")} at ${Math.round(x)}, ${Math.round(y)}`;
      }),
    );

describe.skipIf(isSkipped)(`the page in a browser${isSkipped ? ` (${started.reason})` : ""}`, () => {
  let world: PageWorld;
  const { open, opened, at } = keepPages(started, () => world);

  beforeAll(async () => {
    if (!existsSync(join(BUILT, "index.html"))) throw new Error("the page is not built: npx vite build web");
    await mkdir(SCREENSHOTS, { recursive: true });
    world = await startPageWorld();
  });

  const figure = (page: Page, name: string): Promise<string | undefined> =>
    page
      .locator(`[data-figure="${name}"]`)
      .evaluate((element: { dataset: Record<string, string> }) => element.dataset["value"]);

  test("an empty ledger says where to point SendGrid, and that the key is set", async () => {
    const page = await at("/");
    await page.getByText("Nothing has arrived yet").waitFor();
    expect(await page.locator(".copyable code").first().textContent()).toBe(`${world.service.url}/webhooks/sendgrid`);
    expect(await page.getByText("A verification key is set.").count()).toBe(1);
  });

  test("the login link signs in once, and its token leaves the address", async () => {
    const { page } = await open();
    await page.goto(world.service.adminLink ?? "");
    await page.getByRole("navigation", { name: "Pages" }).waitFor();
    expect(new URL(page.url())).toMatchObject({ pathname: "/", hash: "" });
    await page.goBack().catch(() => null);
    expect(page.url()).not.toContain("hf_");
  });

  test("a used link says so; a pasted token leads to where one wanted", async () => {
    const signedOut = await open();
    const { page } = signedOut;
    await page.goto(world.service.adminLink ?? "");
    await page.getByText("This login link was used already").waitFor();
    await page.goto("/messages?q=4711");
    await page.waitForURL("**/login?next=%2Fmessages%3Fq%3D4711");
    await page.getByLabel("Token", { exact: true }).fill("wrong");
    await page.keyboard.press("Enter");
    await page.getByText("This token is unknown").waitFor();
    await page.getByLabel("Token", { exact: true }).fill(world.adminToken);
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
    await page.waitForURL("**/messages?q=4711");
    expect(await page.getByRole("searchbox").inputValue()).toBe("4711");
    // Chrome writes every 401 to the console; this test asks for them.
    const unexpected = signedOut.complaints.filter((complaint) => !complaint.includes("401 (Unauthorized)"));
    signedOut.complaints.splice(0, Infinity, ...unexpected);
  });

  test("the figures count as events arrive, and the stream shows them without a reload", async () => {
    const page = await at("/");
    await page.locator('[data-figure="processed"][data-value]').waitFor();
    const before = Number(await figure(page, "processed"));
    const delivered = itemOf("counted", "delivered", { response: "250 OK" });
    await world.post([itemOf("counted", "processed"), delivered, delivered]);
    await page.locator(`[data-figure="processed"][data-value="${before + 3}"]`).waitFor();
    expect(await figure(page, "lost")).toBe("0");
    await page.locator(".events").getByText("Delivered").first().waitFor();
    expect(await page.getByText(/of them (a )?duplicates?/).textContent()).toContain("1 of them a duplicate");
  });

  test("nothing that one may be about to click moves when the live state arrives", async () => {
    const page = await at("/login");
    for (const size of [VIEWPORTS.desktop, VIEWPORTS.phone]) {
      await page.setViewportSize(size);
      for (const [path, content] of [
        ["/messages?q=nobody@example.com&state=opened", ".nothing"],
        ["/quarantine", ".nothing"],
        ["/", ".rates svg"],
      ] as const) {
        const { promise: measured, resolve: goOn } = Promise.withResolvers<undefined>();
        await page.route("**/api/live?*", async (route) => {
          await measured;
          await route.continue();
        });
        await page.goto(path);
        await page.locator(content).first().waitFor();
        await page.evaluate("document.fonts.ready");
        const before = await placesOf(page);
        expect(before.length).toBeGreaterThan(5);
        goOn(undefined);
        await page.locator("output.connection.live").waitFor();
        await page.locator(".foot").getByText("PostgreSQL").waitFor({ state: "attached" });
        expect(await placesOf(page)).toEqual(before);
        await page.unroute("**/api/live?*");
      }
    }
  });

  test("what comes while the list is paused waits until it is let in", async () => {
    const page = await at("/");
    await page.locator(".events").waitFor();
    await page.getByRole("button", { name: "pause" }).click();
    await world.post([itemOf("waiting", "processed", { email: "patient@example.com" })]);
    await page.getByRole("button", { name: "1 new event" }).click();
    await page.locator(".events tbody tr").first().getByText("patient@example.com").waitFor();
    expect(await page.getByRole("button", { name: "new event" }).count()).toBe(0);
  });

  test("the balance opens as an account that adds up", async () => {
    const page = await at("/");
    await page.locator('[data-figure="lost"][data-value]').click();
    const account = page.getByRole("dialog", { name: "The balance" });
    await account.getByText("Difference").waitFor();
    expect(await account.locator(".difference dd").textContent()).toBe("0");
    const sums = await account.locator(".sum dd").allTextContents();
    expect(sums[0]).toBe(sums[1]);
    await page.keyboard.press("Escape");
    await account.waitFor({ state: "detached" });
  });

  test("was this person's mail delivered: slash, the address, enter, and the answer is in the first row", async () => {
    await world.post([
      itemOf("found", "processed", { email: "asked@example.com", order_id: "4711", category: "invoice" }),
      itemOf("found", "delivered", { email: "asked@example.com", order_id: "4711", category: "invoice" }),
    ]);
    const page = await at("/");
    await page.locator(".events").waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("asked@example.com");
    await page.keyboard.press("Enter");
    const row = page.locator(".messages tbody tr").first();
    await row.getByText("Delivered").waitFor();
    expect(page.url()).toContain("/messages?q=asked%40example.com");
    // What did their server say? One more step.
    await row.getByText("asked@example.com").click();
    await page.getByRole("heading", { level: 1, name: "Delivered to asked@example.com today at" }).waitFor();
    await page.goBack();
    await page.locator(".messages tbody tr").first().waitFor();
    expect(await page.getByRole("searchbox").inputValue()).toBe("asked@example.com");
  });

  test("an order number is found without naming its key, and subject and sender come from SendGrid", async () => {
    const page = await at("/messages?q=4711");
    await page.locator(".messages tbody tr").getByText("asked@example.com").click();
    await page.getByText("“Invoice for your order 4711” from billing@market.example.com").waitFor({ timeout: 50_000 });
    expect(await page.locator("aside").getByText("4711", { exact: true }).count()).toBe(1);
  });

  test("an open message grows by itself when an event arrives", async () => {
    await world.post([itemOf("growing", "delivered", { email: "growing@example.com" })]);
    const page = await at("/messages?q=growing@example.com");
    await page.locator(".messages tbody tr").first().click();
    await page.locator(".timeline li").first().waitFor();
    await world.post([itemOf("growing", "open", { email: "growing@example.com", sg_machine_open: true })]);
    await page.getByText("Opened by a mail program, perhaps not by a person.").waitFor();
    expect(await page.locator(".timeline li").count()).toBe(2);
  });

  test("a re-delivery is folded, counted, and marked when it is shown", async () => {
    const timestamp = Math.floor(Date.now() / 1000);
    const bounce = { email: "twin@example.com", type: "bounce", status: "5.2.2", reason: "552 5.2.2 full", timestamp };
    await world.post([itemOf("twins", "bounce", bounce)]);
    await world.post([itemOf("twins", "bounce", bounce)]);
    const page = await at("/messages?q=twin@example.com");
    await page.locator(".messages tbody tr").first().click();
    await page.getByText("1 event · 1 re-delivery folded").waitFor();
    expect(await page.locator(".timeline li").count()).toBe(1);
    await page.getByRole("button", { name: "show" }).first().click();
    expect(await page.locator(".timeline li.twin").getByText("re-delivery").count()).toBe(1);
    expect(await page.locator("blockquote").first().textContent()).toBe("552 5.2.2 full");
    await page.getByText("The mailbox is full (5.2.2).").first().waitFor();
  });

  test("hostile content is text: no element, no script, no turned line", async () => {
    const script = "<img src=x onerror=\"document.title='taken'\"><script>document.title='taken'</script>";
    await world.post([
      itemOf("hostile", "bounce", {
        email: "\u202Ehostile@example.com",
        reason: `550 5.1.1 ${script} ${"x".repeat(20_000)}`,
        note: script,
        [script]: "value",
        category: [script],
      }),
    ]);
    const page = await at("/messages?q=hostile.recvd");
    await page.locator(".messages tbody tr").first().getByRole("link").click();
    await page.getByText("[U+202E]hostile@example.com").first().waitFor();
    await page.getByRole("button", { name: "raw" }).click();
    expect(await page.locator("blockquote").first().textContent()).toContain("further characters");
    expect(await page.locator("main img, main script").count()).toBe(0);
    expect(await page.title()).not.toBe("taken");
    expect(await page.evaluate("document.documentElement.scrollWidth <= innerWidth")).toBe(true);
  });

  test("what could not be filed is in quarantine in words, its bytes shown as text, and can be replayed", async () => {
    await world.postBytes(Buffer.from("<b>not json</b>\u0000"));
    const page = await at("/quarantine");
    const item = page.locator(".papers > li").first();
    await item.getByText("The POST is not JSON.").waitFor();
    await item.getByRole("button", { name: "Show the bytes" }).click();
    expect(await item.locator("pre").textContent()).toBe("<b>not json</b>[U+0000]");
    await item.getByRole("button", { name: "Replay" }).click();
    await item.getByText("Ordered").waitFor();
  });

  test("an address nobody has written to says what to do", async () => {
    const page = await at("/messages?q=nobody@example.com&state=opened");
    await page.getByText("No message fits.").waitFor();
    await page.getByRole("link", { name: "Remove the filters" }).click();
    await page.waitForURL("**/messages?q=nobody%40example.com");
    expect(await page.getByText("Remove the filters").count()).toBe(0);
    const missing = await at("/messages/unknown-id");
    await missing.getByText("No event has named this message.").waitFor();
    for (const { complaints } of opened)
      complaints.splice(0, Infinity, ...complaints.filter((text) => !text.includes("404 (Not Found)")));
  });

  test("German and dark are chosen by hand and stay", async () => {
    const page = await at("/");
    await page.getByRole("button", { name: "Deutsch" }).click();
    await page.getByText("Heute verarbeitet").waitFor();
    await page.getByRole("button", { name: "Ansicht und Konto" }).click();
    await page.getByRole("menuitemradio", { name: "Dunkel" }).click();
    await page.reload();
    await page.getByText("Heute verarbeitet").waitFor();
    expect(await page.evaluate("document.documentElement.lang")).toBe("de");
    expect(await page.evaluate("document.documentElement.dataset.mantineColorScheme")).toBe("dark");
  });

  test("the moment something is lost the whole header says so", async () => {
    const page = await at("/alerts");
    const lost = {
      receipts: { accepted: 2, pending: 0 },
      events: { accepted: 100, stored: 97, duplicate: 0, twin: 0, quarantined: 0, lost: 3 },
      retries: { attempted: 0, rescued: 0, exhausted: 0 },
    };
    await page.route("**/api/live?*", (route) =>
      route.fulfill({ contentType: "text/event-stream", body: `event: balance\ndata: ${JSON.stringify(lost)}\n\n` }),
    );
    await page.reload();
    const alarm = page.getByRole("alert").filter({ hasText: "3 events are missing." });
    await alarm.waitFor();
    expect(await alarm.textContent()).toContain("100 were accepted today, 97 are accounted for.");
    // The answer above ends at once, which is a broken connection.
    await page.getByText("Reconnecting").waitFor();
  });

  test("the first load weighs at most 250 KB of script, compressed", async () => {
    const html = await readFile(join(BUILT, "index.html"), "utf8");
    const scripts = [...html.matchAll(/<script[^>]* src="([^"]+)"|<link rel="modulepreload"[^>]* href="([^"]+)"/g)];
    let bytes = 0;
    for (const [, src, href] of scripts) bytes += gzipSync(await readFile(join(BUILT, src ?? href ?? ""))).length;
    expect(scripts.length).toBeGreaterThanOrEqual(2);
    expect(bytes).toBeLessThanOrEqual(SCRIPT_BYTES_MAX);
  });

  test.each(["desktop", "phone"] as const)(
    "every page looks whole on a %s, in both languages, light and dark",
    async (device) => {
      const twin = encodeURIComponent(String(itemOf("twins", "open")["sg_message_id"]));
      const pages = [
        ["live", "/", ".events tbody tr"],
        ["messages", "/messages", ".messages tbody tr"],
        ["message", `/messages/${twin}`, ".timeline li"],
        ["recipient", "/recipients/twin%40example.com", ".papers > li"],
        ["quarantine", "/quarantine", ".papers, .nothing"],
        ["alerts", "/alerts", ".papers, .nothing"],
      ] as const;
      const page = await at("/", { device });
      for (const [name, path, content] of pages) {
        await page.goto(path);
        await page.locator(content).first().waitFor();
        for await (const { language, scheme } of everyLook(page)) {
          const picture = `${name}-${scheme}-${language}-${device}`;
          // A picture for people takes up to half a second: each language and each paper has one.
          if ((language === "en") === (scheme === "light")) {
            await page.screenshot({ path: join(SCREENSHOTS, `${picture}.png`) });
          }
          // What sticks out to the right would make the whole page slide on a phone.
          expect(await page.evaluate("document.documentElement.scrollWidth <= innerWidth"), picture).toBe(true);
        }
      }
    },
  );
});
