import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type IdentityProvider, startIdentityProvider } from "../identity-provider.ts";
import { violations } from "./accessibility.ts";
import { startBrowser } from "./browser.ts";
import { keepPages } from "./opened-pages.ts";
import { type PageWorld, startPageWorld } from "./page-world.ts";

/** Signing in through a real OpenID provider on another site, in a real browser: what its cookies allow shows nowhere else. */

const ROOT = join(import.meta.dirname, "../..");
const SCREENSHOTS = join(ROOT, "artifacts");

const started = await startBrowser();
const isSkipped = "reason" in started;
if (isSkipped) process.stderr.write(`\nThe browser test is SKIPPED: ${started.reason}\n\n`);

describe.skipIf(isSkipped)(`signing in with the organisation${isSkipped ? ` (${started.reason})` : ""}`, () => {
  let world: PageWorld;
  let idp: IdentityProvider;
  // The service, which asks the provider, ends before it.
  afterAll(async () => idp.stop());
  // Chrome writes every 401 to the console; whoever is not signed in gets one.
  const { open } = keepPages(
    started,
    () => world,
    (text) => text.includes("401 (Unauthorized)"),
  );

  beforeAll(async () => {
    if (!existsSync(join(ROOT, "dist/web/index.html"))) throw new Error("the page is not built: npx vite build web");
    await mkdir(SCREENSHOTS, { recursive: true });
    idp = await startIdentityProvider({ redirectUris: ["http://127.0.0.1:1/login/oidc/callback"] });
    world = await startPageWorld(6_000, {
      HOLDFAST_OIDC_ISSUER: idp.issuer,
      HOLDFAST_OIDC_CLIENT_ID: idp.clientId,
      HOLDFAST_OIDC_CLIENT_SECRET: idp.clientSecret,
      HOLDFAST_OIDC_ROLES: "admin=holdfast-admins;support=helpdesk",
    });
    idp.allow(`${world.service.url}/login/oidc/callback`);
  });

  test("says so when the organisation's sign-in is away, and a token still works", async () => {
    await idp.stop();
    try {
      const { page } = await open();
      await page.goto("/login?next=/alerts");
      await page.getByText("Your organisation's sign-in does not answer at the moment.").waitFor();
      await page.screenshot({ path: join(SCREENSHOTS, "sign-in-away.png") });
      expect(await violations(page)).toEqual([]);
      await page.getByRole("link", { name: "Sign in with your organisation" }).click();
      await page.waitForURL("**/login?organisation=away&next=%2Falerts");
      await page.getByRole("alert").waitFor();
      await page.getByLabel("Token", { exact: true }).fill(world.adminToken);
      await page.getByRole("button", { name: "Sign in", exact: true }).click();
      await page.waitForURL("**/alerts");
      await page.getByRole("navigation", { name: "Pages" }).waitFor();
    } finally {
      await idp.start();
    }
    const answer = async (): Promise<unknown> => (await fetch(`${world.service.url}/api/sign-in`)).json();
    await expect.poll(answer, { timeout: 20_000 }).toEqual({ organisation: "ready" });
  });

  test("leads to the place one wanted, with the role of one's group, also after a reload", async () => {
    idp.person = { sub: "17", name: "Ada Lovelace", roles: ["helpdesk"] };
    const { page, context } = await open();
    await page.goto("/messages?q=4711");
    await page.waitForURL("**/login?next=%2Fmessages%3Fq%3D4711");
    const button = page.getByRole("link", { name: "Sign in with your organisation" });
    await button.waitFor();
    await page.screenshot({ path: join(SCREENSHOTS, "sign-in-organisation.png") });
    await button.click();
    await page.waitForURL(`${world.service.url}/messages?q=4711`);
    await page.getByRole("navigation", { name: "Pages" }).waitFor();
    expect(await page.getByRole("link", { name: "Settings" }).count()).toBe(0);
    const cookies = await context.cookies(world.service.url);
    expect(cookies).toMatchObject([{ name: "holdfast_session", httpOnly: true, sameSite: "Strict", path: "/" }]);
    await page.reload();
    await page.getByRole("navigation", { name: "Pages" }).waitFor();
    expect(page.url()).toBe(`${world.service.url}/messages?q=4711`);
  });

  test("tells someone without a role so, in their language, and lets nobody in", async () => {
    idp.person = { sub: "18", name: "Mallory", roles: ["everybody"] };
    const { page, context } = await open({ language: "de", scheme: "dark" });
    await page.goto("/login");
    await page.getByRole("link", { name: "Mit Ihrer Organisation anmelden" }).click();
    await page.getByRole("alert").getByText("hat Ihnen aber keine Rolle in Holdfast gegeben").waitFor();
    await page.screenshot({ path: join(SCREENSHOTS, "sign-in-no-role.png") });
    expect(await violations(page)).toEqual([]);
    expect((await context.cookies(world.service.url)).map(({ name }) => name)).toEqual([]);
  });
});
