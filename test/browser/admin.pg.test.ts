import { generateKeyPairSync } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { createLog } from "../../src/log.ts";
import { createPool } from "../../src/postgres/pool.ts";
import { publicKeyText } from "../../src/sendgrid/signature.ts";
import { encodeBody, encodeItem, webhookHeaders } from "../../src/simulator/wire.ts";
import { violationsInEveryLook } from "./accessibility.ts";
import { startBrowser } from "./browser.ts";
import { everyLook } from "./every-look.ts";
import { keepPages } from "./opened-pages.ts";
import { itemOf, type OpenedPage, type PageWorld, startPageWorld } from "./page-world.ts";

/** The pages of an admin in a real browser against the real service: settings and simulation. */

const ROOT = join(import.meta.dirname, "../..");
const SCREENSHOTS = join(ROOT, "artifacts");

const started = await startBrowser();
const isSkipped = "reason" in started;
if (isSkipped) process.stderr.write(`\nThe browser test is SKIPPED: ${started.reason}\n\n`);

describe.skipIf(isSkipped)(`an admin's pages in a browser${isSkipped ? ` (${started.reason})` : ""}`, () => {
  let world: PageWorld;
  const { open, openSignedIn, at } = keepPages(started, () => world);

  beforeAll(async () => {
    if (!existsSync(join(ROOT, "dist/web/index.html"))) throw new Error("the page is not built: npx vite build web");
    await mkdir(SCREENSHOTS, { recursive: true });
    world = await startPageWorld();
    await world.post([itemOf("admin", "processed"), itemOf("admin", "delivered")]);
  });

  /** What Chrome writes to the console for an answer that the test asks for. */
  function expectStatus(page: OpenedPage, status: number): void {
    page.complaints.splice(0, Infinity, ...page.complaints.filter((text) => !text.includes(`status of ${status}`)));
  }

  async function post(key: ReturnType<typeof generateKeyPairSync>["privateKey"], source: string): Promise<number> {
    const body = encodeBody([encodeItem(itemOf(`from-${source}`, "delivered"))]);
    const response = await fetch(`${world.service.url}/webhooks/sendgrid/${source}`, {
      method: "POST",
      body: new Uint8Array(body),
      headers: webhookHeaders(key, body, String(Math.floor(Date.now() / 1000))),
    });
    return response.status;
  }

  let supportToken = "";

  test("a token is created, shown once, signs in with its role, and is ended", async () => {
    const page = await at("/settings");
    await page.getByLabel("Name", { exact: true }).fill("Ada <script>");
    await page.getByRole("button", { name: "Create a token" }).click();
    const dialog = page.getByRole("dialog", { name: "The token for Ada <script>" });
    supportToken = (await dialog.locator("code").textContent()) ?? "";
    expect(supportToken).toMatch(/^hf_/);
    await dialog.getByRole("button", { name: "Close" }).click();
    await dialog.waitFor({ state: "detached" });
    const row = page.locator("tr", { hasText: "Ada <script>" });
    await row.getByText("Support").waitFor();
    expect(await page.content()).not.toContain(supportToken);

    const other = await open();
    await other.page.goto("/login");
    await other.page.getByLabel("Token", { exact: true }).fill(supportToken);
    await other.page.getByRole("button", { name: "Sign in", exact: true }).click();
    await other.page.getByRole("navigation", { name: "Pages" }).waitFor();
    expect(await other.page.getByRole("link", { name: "Settings" }).count()).toBe(0);
    // Whoever asks for an admin's page all the same is told so.
    for (const path of ["/settings", "/settings/sources", "/settings/access", "/settings/status", "/simulation"]) {
      await other.page.goto(path);
      await other.page.getByText("Your access does not include this.").waitFor();
    }
    expectStatus(other, 403);
    expectStatus(other, 401);

    await page.reload();
    await page.locator("section", { hasText: "Signed in now" }).getByText("Ada <script>").waitFor();
    await page.getByRole("button", { name: "End token Ada <script>" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "End", exact: true }).click();
    await row.first().waitFor({ state: "detached" });
    expect(await page.getByText("Ada <script>").count()).toBe(0);
    expect(await page.getByText("from the settings").count()).toBe(1);
  });

  test("a token for a time says when it ends, and afterwards that it has", async () => {
    const page = await at("/settings");
    await page.getByLabel("Name", { exact: true }).fill("quarterly report");
    await page.getByLabel("Valid", { exact: true }).selectOption({ label: "90 days" });
    await page.getByRole("button", { name: "Create a token" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Close" }).click();
    const row = page.locator("tr", { hasText: "quarterly report" });
    await row.locator('[data-label="Ends"] time').waitFor();
    await row.getByRole("button", { name: "End token quarterly report" }).waitFor();
    const pool = createPool({ databaseUrl: world.service.databaseUrl ?? "", log: createLog("warn"), name: "test" });
    await pool.query("UPDATE tokens SET expires_at = now() WHERE name = 'quarterly report'");
    await pool.end();
    await page.reload();
    await row.getByText("ended", { exact: true }).waitFor();
    expect(await row.getByRole("button").count()).toBe(0);
  });

  test("a new source takes POSTs within seconds, and its key is rotated with overlap", async () => {
    const [old, next] = [0, 1].map(() => generateKeyPairSync("ec", { namedCurve: "P-256" }));
    if (old === undefined || next === undefined) throw new Error("no keys");
    const page = await at("/settings/sources");
    await page.getByRole("heading", { name: "default" }).waitFor();
    await page.getByRole("button", { name: "Add a source" }).click();
    const dialog = page.getByRole("dialog", { name: "A new source" });
    await dialog.getByLabel("Name").fill("marketing");
    await dialog.getByLabel("Verification key").fill(publicKeyText(old.publicKey));
    await dialog.getByRole("button", { name: "Add a source" }).click();
    const source = page.locator(".source", { hasText: "marketing" });
    await source.locator("tbody tr").first().waitFor();
    expect(await post(old.privateKey, "marketing")).toBe(200);

    await source.getByRole("button", { name: "Add a key" }).click();
    await page.getByLabel("Verification key").fill(publicKeyText(next.publicKey));
    await page.getByLabel("The keys that are valid now").selectOption("day");
    await page.getByRole("dialog").getByRole("button", { name: "Add the key" }).click();
    await expect.poll(() => source.locator("tbody tr").count(), { timeout: 20_000 }).toBe(2);
    expect([await post(old.privateKey, "marketing"), await post(next.privateKey, "marketing")]).toEqual([200, 200]);

    await source.locator("tbody tr").last().getByRole("button", { name: "End the key" }).click();
    await page.getByRole("dialog").getByLabel("Valid until").selectOption("now");
    await page.getByRole("button", { name: "Set the end" }).click();
    await source.getByText("1 key that has ended").waitFor();
    await expect.poll(() => post(old.privateKey, "marketing"), { timeout: 20_000 }).toBe(401);
    expect(await post(next.privateKey, "marketing")).toBe(200);
    // The settings' own key has no such button.
    const own = page.locator(".source", { hasText: "default" });
    expect(await own.getByText("in the settings").count()).toBe(1);
    expect(await own.getByRole("button", { name: "End the key" }).count()).toBe(0);
  });

  test("a wrong key is refused in words", async () => {
    const signed = await openSignedIn();
    const { page } = signed;
    await page.goto("/settings/sources");
    await page.getByRole("button", { name: "Add a key" }).first().click();
    await page.getByLabel("Verification key").fill("<img src=x>");
    await page.getByRole("button", { name: "Add the key" }).click();
    await page.getByRole("dialog").getByText("is not base64").waitFor();
    expectStatus(signed, 400);
  });

  test("the access log says who looked at what, and is filtered by its address", async () => {
    const page = await at("/settings/access");
    await page.getByRole("cell", { name: "created a token" }).first().waitFor();
    await page.getByLabel("Only one kind of action").selectOption("key.add");
    await page.waitForURL("**/settings/access?action=key.add");
    await page.locator("tbody tr").first().getByText("marketing").waitFor();
    expect(await page.locator("tbody tr").count()).toBe(1);
    await page.getByLabel("Only this name").fill("nobody");
    await page.keyboard.press("Enter");
    await page.getByText("Nothing fits.").waitFor();
  });

  test("the status names versions, the process, durability and every limit", async () => {
    const page = await at("/settings/status");
    await page.getByText("What is acknowledged stays, also in a power cut.").waitFor();
    expect(await page.locator("tbody tr", { hasText: "fsync" }).textContent()).toContain("good");
    await page.getByLabel("Find a limit").fill("body bytes");
    const limit = page.locator(".limits > div", { hasText: /^BODY_BYTES_MAX/ });
    await limit.waitFor();
    expect(await limit.textContent()).toContain("5.2 MB");
  });

  test("hostile addresses of the settings give a page, never a blank one", async () => {
    const page = await at("/settings/access?name=%3Cscript%3E&action=..&subject=%E2%80%AEx");
    await page.getByText("Nothing fits.").waitFor();
    await page.goto("/settings/nothing");
    await page.getByText("There is no page at this address.").waitFor();
    const broken = await openSignedIn();
    await broken.page.goto(`/settings/access?name=${"x".repeat(300)}`);
    await broken.page.getByText("This could not be loaded.").waitFor();
    expectStatus(broken, 400);
  });

  test("a simulation with forced deadlocks and a dropped connection loses nothing; its purge leaves real mail", async () => {
    const page = await at("/simulation");
    await page.getByLabel("Events", { exact: true }).fill("2000");
    await page.getByLabel("Events per second").fill("150");
    await page.getByLabel("Forced deadlocks").fill("2");
    await page.getByRole("button", { name: "Start" }).click();
    await page.getByRole("button", { name: "Stop" }).waitFor();
    await page.locator('[data-result="flawless"]').getByText("Nothing is lost, nothing is double.").waitFor();
    const text = (await page.locator(".run").textContent()) ?? "";
    expect(text).toContain("2,000 of 2,000 events acknowledged");
    expect(text).toContain("2 of 2 deadlocks forced");
    expect(text).toContain("connection dropped");
    const value = (name: string): Promise<string | undefined> =>
      page
        .locator(`[data-figure="simulation-${name}"]`)
        .evaluate((element: { dataset: Record<string, string> }) => element.dataset["value"]);
    expect(Number(await value("processed"))).toBeGreaterThan(2_000);
    expect(Number(await value("retries"))).toBeGreaterThanOrEqual(2);
    expect(await value("lost")).toBe("0");

    await page.getByRole("button", { name: "Purge" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete it" }).click();
    await page.getByText("The ledger holds none.").waitFor();
    const balance = await page.context().request.get("/api/balance?simulated=true");
    expect(await balance.json()).toMatchObject({ receipts: { accepted: 0 }, events: { stored: 0, lost: 0 } });
    await page.goto("/messages?q=admin.recvd");
    await page.locator(".messages tbody tr").first().waitFor();
  });

  test("a number out of bounds says which bounds", async () => {
    const page = await at("/simulation");
    await page.getByLabel("Forced deadlocks").fill("21");
    await page.getByText("From 0 to 20.").waitFor();
    expect(await page.getByRole("button", { name: "Start" }).isDisabled()).toBe(true);
  });

  test.each(["desktop", "phone"] as const)(
    "every page looks whole on a %s, in both languages, light and dark",
    async (device) => {
      const pages = [
        ["settings-tokens", "/settings/tokens", "tbody tr"],
        ["settings-sources", "/settings/sources", "tbody tr"],
        ["settings-access", "/settings/access", "tbody tr"],
        ["settings-status", "/settings/status", ".limits"],
        ["simulation", "/simulation", ".held"],
      ] as const;
      const page = await at("/", { device });
      for (const [name, path, content] of pages) {
        await page.goto(path);
        await page.locator(content).first().waitFor();
        for await (const { language, scheme } of everyLook(page)) {
          const picture = `${name}-${scheme}-${language}-${device}`;
          // A picture for people takes up to half a second: each language and each paper has one.
          if ((language === "en") === (scheme === "light")) {
            const file = join(SCREENSHOTS, `${picture}.png`);
            await page.screenshot({ path: file, fullPage: name !== "settings-status" });
          }
          expect(await page.evaluate("document.documentElement.scrollWidth <= innerWidth"), picture).toBe(true);
        }
      }
    },
  );

  describe("axe finds nothing against WCAG 2.2 AA, in both languages, on light and on dark paper", () => {
    test.each([
      ["tokens", "/settings/tokens", "tbody tr"],
      ["sources and keys", "/settings/sources", "tbody tr"],
      ["who looked at what", "/settings/access", "tbody tr"],
      ["the status", "/settings/status", ".limits"],
      ["the simulation", "/simulation", ".held"],
    ])("%s", async (_name, path, content) => {
      const page = await at(path);
      expect(await violationsInEveryLook(page, content)).toEqual([]);
    });

    test.each([
      ["en", "Add a source", "Add a key"],
      ["de", "Quelle hinzufügen", "Schlüssel hinzufügen"],
    ] as const)("the dialogs that make a source and a key, in %s", async (language, ...buttons) => {
      const page = await at("/settings/sources", { language });
      for (const name of buttons) {
        await page.getByRole("button", { name, exact: true }).first().click();
        await page.getByRole("dialog").waitFor();
        expect(await violationsInEveryLook(page, "[role=dialog]", [language]), name).toEqual([]);
        await page.keyboard.press("Escape");
        await page.getByRole("dialog").waitFor({ state: "detached" });
      }
    });
  });
});
