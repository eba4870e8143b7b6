import { generateKeyPairSync } from "node:crypto";
import type { Locator, Page } from "playwright-core";
import { beforeAll, describe, expect, test, vi } from "vitest";
import { encodeBody, encodeItem, webhookHeaders } from "../../src/simulator/wire.ts";
import type { TokenRole } from "../../src/views/contract.ts";
import { startBrowser } from "./browser.ts";
import { daysAgo, seedYear } from "./completeness-year.ts";
import { CUSTOMER, postCampaign, postInvoice, postReset, RESET_REFUSAL } from "./demo-shop.ts";
import { keepPages } from "./opened-pages.ts";
import { itemOf, type PageWorld, startPageWorld } from "./page-world.ts";

/**
 * What the three people ask, answered from a made-up shop by the page alone, each with a role of their own, in both
 * languages. Every click, every key and every paste counts as one step.
 */

const EVENTS = 1_500;
const REPAIRED = { daysAgo: 3, state: "repaired", count: 37 } as const;

const WORDS = {
  en: {
    completenessLink: "Completeness",
    reset: ["Not delivered", "Reset your password"],
    refused: /^Not delivered to .*: refused today at \d\d:\d\d\. The mailbox is full \(5\.2\.2\)\./,
    resetTodo: /Ask the customer for another address or to free space, then resend\./,
    invoice: ["Delivered", "Invoice for your order 4711"],
    opened: /^Delivered to .* today at \d\d:\d\d.*Opened once, after 6 minutes/,
    live: "Live",
    counted: /^counted/,
    inbox: /empty/,
    ledger: /nothing in quarantine/,
    alert: "1 POST was refused: its signature is missing or wrong.",
    alertTodo: /lost for good in (23 h \d+|24 h 0) min\..*add the right one there/,
    alertPlace: "Settings: Sources",
    verdict: /37 events were missing and have been repaired\./,
    complete: /^SendGrid counts [\d,]+ events for .+\. Holdfast holds all of them\.$/,
    repaired: /Holdfast holds all of them; 37 were missing and have been repaired from SendGrid's Email Logs\.$/,
    yearBefore: "The year before",
    yearAfter: "The year after",
    dayBefore: "The day before",
  },
  de: {
    completenessLink: "Vollständigkeit",
    reset: ["Nicht zugestellt", "Reset your password"],
    refused: /^Nicht zugestellt an .*: heute um \d\d:\d\d abgelehnt\. Das Postfach ist voll \(5\.2\.2\)\./,
    resetTodo: /Bitten Sie den Kunden um eine andere Adresse oder darum, Platz zu schaffen/,
    invoice: ["Zugestellt", "Invoice for your order 4711"],
    opened: /^Heute um \d\d:\d\d zugestellt an .*Einmal geöffnet, nach 6 Minuten/,
    live: "Live",
    counted: /^gezählt/,
    inbox: /leer/,
    ledger: /nichts in Quarantäne/,
    alert: "1 POST wurde abgewiesen: Die Signatur fehlt oder ist falsch.",
    alertTodo: /in (23 h \d+|24 h 0) min endgültig verloren\..*den richtigen/,
    alertPlace: "Einstellungen: Quellen",
    verdict: /37 Ereignisse fehlten und wurden ergänzt\./,
    complete: /zählt SendGrid [\d.]+ Ereignisse\. Holdfast hält sie alle\.$/,
    repaired: /37 fehlten und wurden aus .* ergänzt\.$/,
    yearBefore: "Das Jahr davor",
    yearAfter: "Das Jahr danach",
    dayBefore: "Der Tag davor",
  },
} as const;

/** A person's hands: what they do, and how often. */
interface Hands {
  press(key: string): Promise<void>;
  paste(text: string): Promise<void>;
  click(what: Locator): Promise<void>;
  /** Steps since the last question. */
  steps(): number;
}

function handsOn(page: Page): Hands {
  let steps = 0;
  return {
    async press(key) {
      steps += 1;
      await page.keyboard.press(key);
    },
    async paste(text) {
      steps += 1;
      await page.keyboard.insertText(text);
    },
    async click(what) {
      steps += 1;
      await what.click();
    },
    steps() {
      const taken = steps;
      steps = 0;
      return taken;
    },
  };
}

const started = await startBrowser();
const isSkipped = "reason" in started;
if (isSkipped) process.stderr.write(`\nThe browser test is SKIPPED: ${started.reason}\n\n`);

describe.skipIf(isSkipped)("what people ask is answered by the page alone", () => {
  let world: PageWorld;
  const { openSignedIn, at } = keepPages(started, () => world);

  /** Where everybody's day begins: the live page, signed in. */
  async function begin(role: TokenRole, language: keyof typeof WORDS): Promise<{ page: Page; hands: Hands }> {
    const page = await at("/", { language }, role);
    await page.locator('[data-figure="lost"][data-value]').waitFor();
    return { page, hands: handsOn(page) };
  }

  /** A POST whose key SendGrid and Holdfast disagree about. */
  async function postWithAnotherKey(): Promise<number> {
    const { privateKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
    const body = encodeBody([encodeItem(itemOf("refused", "delivered"))]);
    const response = await fetch(`${world.service.url}/webhooks/sendgrid`, {
      method: "POST",
      body: new Uint8Array(body),
      headers: webhookHeaders(privateKey, body, String(Math.floor(Date.now() / 1000))),
    });
    return response.status;
  }

  beforeAll(async () => {
    world = await startPageWorld();
    const id = await postInvoice(world);
    await postReset(world);
    await postCampaign(world, EVENTS);
    await seedYear(world, { days: 20, special: [REPAIRED], messageId: id });
    expect(await postWithAnotherKey()).toBe(401);

    const { request } = (await openSignedIn()).context;
    // What happens within seconds of its cause: subjects from SendGrid, and the alert.
    const seen = async (path: string): Promise<string> => (await request.get(path)).text();
    const until = { timeout: 60_000, interval: 250 };
    const ofCustomer = `/api/messages?recipient=${encodeURIComponent(CUSTOMER)}`;
    await vi.waitFor(async () => {
      const messages = await seen(ofCustomer);
      expect(messages).toContain("Reset your password");
      expect(messages).toContain("Invoice for your order 4711");
    }, until);
    await vi.waitFor(async () => expect(await seen("/api/alerts")).toContain("signature_failing"), until);
  });

  describe.each(["en", "de"] as const)("in %s", (language) => {
    const words = WORDS[language];

    test("support: did this customer get the password reset, what did their server say, and the invoice of 4711?", async () => {
      const { page, hands } = await begin("support", language);
      const row = page.locator(".messages tbody tr").first();
      await hands.press("/");
      await hands.paste(CUSTOMER);
      await hands.press("Enter");
      // The newest mail stands first, and it is the one asked about.
      for (const text of words.reset) await row.getByText(text).waitFor();
      expect(hands.steps(), "did they get it?").toBeLessThanOrEqual(3);

      await hands.click(row);
      await page.getByRole("heading", { level: 1, name: words.refused }).waitFor();
      const refusal = page.locator(".timeline li").filter({ has: page.locator("blockquote") });
      expect(await refusal.locator("blockquote").textContent()).toBe(RESET_REFUSAL);
      expect(await refusal.textContent()).toMatch(words.resetTodo);
      expect(hands.steps(), "what did their server say?").toBeLessThanOrEqual(1);

      await hands.press("/");
      await hands.paste("4711");
      await hands.press("Enter");
      for (const text of words.invoice) await row.getByText(text).waitFor();
      expect(await page.locator(".messages tbody tr").count()).toBe(1);
      expect(hands.steps(), "what about the invoice?").toBeLessThanOrEqual(3);
      await hands.click(row);
      await page.getByRole("heading", { level: 1, name: words.opened }).waitFor();
      expect(hands.steps(), "and did they read it?").toBeLessThanOrEqual(1);
    });

    test("operations: is it healthy, is it keeping up, and what is to be done about this alert?", async () => {
      const { page, hands } = await begin("admin", language);
      const figure = (name: string): Locator => page.locator(`[data-figure="${name}"]`);
      await page.locator(".top").getByText(words.live, { exact: true }).waitFor();
      expect(await figure("lost").getAttribute("data-value")).toBe("0");
      await figure("lost").getByText(words.counted).waitFor();
      const stage = (place: number): Locator => page.locator(".flow li").nth(place);
      await stage(3).getByText(words.inbox).first().waitFor();
      await stage(4).getByText(words.ledger).waitFor();
      expect(hands.steps(), "healthy, keeping up?").toBe(0);

      const alert = page.locator(".alert-line").filter({ hasText: words.alert });
      await hands.click(alert.getByRole("link"));
      const item = page.locator(".papers > li").filter({ hasText: words.alert });
      await item.getByText(words.alertTodo).waitFor();
      expect(hands.steps(), "what is to be done?").toBeLessThanOrEqual(1);
      await hands.click(item.getByRole("link", { name: words.alertPlace }));
      await page.locator(".source", { hasText: "default" }).waitFor();
      expect(hands.steps(), "where?").toBeLessThanOrEqual(1);
    });

    test("compliance: is the day complete?", async () => {
      const { page, hands } = await begin("compliance", language);
      await hands.click(page.getByRole("link", { name: words.completenessLink, exact: true }));
      await page.locator(".verdict").waitFor();
      const day = page.locator(`[data-day="${daysAgo(1)}"]`);
      // In the first days of January the one that was repaired, or yesterday too, is a step away, and a step back.
      const yearOf = (days: number): number => Number(daysAgo(days).slice(0, 4));
      if (yearOf(REPAIRED.daysAgo) !== yearOf(0)) await hands.click(page.getByLabel(words.yearBefore));
      await page.locator(".verdict").getByText(words.verdict).waitFor();
      if (yearOf(REPAIRED.daysAgo) !== yearOf(1)) await hands.click(page.getByLabel(words.yearAfter));
      const yearSteps = hands.steps() - 1;
      await hands.click(day);
      await page.getByRole("heading", { level: 1, name: words.complete }).waitFor();
      expect(hands.steps() + 1, "is it complete?").toBeLessThanOrEqual(2);
      expect(yearSteps, "in another year?").toBeLessThanOrEqual(yearOf(REPAIRED.daysAgo) === yearOf(0) ? 0 : 2);

      // And the one that was not: what was missing, and what became of it.
      for (let days = 1; days < REPAIRED.daysAgo; days += 1) {
        await hands.click(page.getByLabel(words.dayBefore));
        await page.waitForURL(`**/completeness/${daysAgo(days + 1)}`);
      }
      await page.getByRole("heading", { level: 1, name: words.repaired }).waitFor();
      await page.locator(".gaps > li").first().waitFor();
      expect(hands.steps(), "and two days before?").toBeLessThanOrEqual(REPAIRED.daysAgo - 1);
    });
  });
});
