/**
 * Takes the README's pictures: `npm run screenshots`. Starts the service with a database of its own, posts traffic of a
 * made-up shop to it, and photographs the pages as a reader sees them.
 */
import { mkdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { API_CALLS_PER_MINUTE } from "../../src/limits.ts";
import { startBrowser } from "./browser.ts";
import { daysAgo, seedYear } from "./completeness-year.ts";
import { itemOf, openPage, type PageWorld, signIn, startPageWorld } from "./page-world.ts";

const FOLDER = join(import.meta.dirname, "../../docs/screenshots");
/** A README is read over slow lines too. */
const PICTURE_BYTES_MAX = 300_000;
const EVENTS = 12_000;
const PERIOD_SECONDS = 2 * 60 * 60;

/** The life of one invoice, as a support person would look it up: delayed once, opened by a program and by a person. */
async function postInvoice(world: PageWorld): Promise<string> {
  const startSeconds = Math.floor(Date.now() / 1000) - 45 * 60;
  const mail = "thtIPCIJS0e8MYBU0zQ7mQ";
  const known = {
    order_id: "4711",
    mail_kind: "invoice",
    category: ["invoice", "b2b"],
    sg_template_name: "invoice-de v12",
  };
  const at = (seconds: number, event: string, more: object = {}) =>
    itemOf(mail, event, { timestamp: startSeconds + seconds, ...known, ...more });
  const person = {
    useragent:
      "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36",
    ip: "192.0.2.44",
  };
  const opened = at(366, "open", person);
  await world.post([at(0, "processed", { pool: { id: 210, name: "transactional" } })]);
  await world.post([at(2, "deferred", { attempt: "0", response: "451 4.3.2 Please try again later" })]);
  await world.post([at(34, "delivered", { response: "250 2.0.0 OK 1764511361 af79cd13be357 - gsmtp", tls: 1 })]);
  await world.post([at(37, "open", { sg_machine_open: true, useragent: "Mozilla/5.0" }), opened]);
  await world.postAgain([{ ...opened, sg_event_id: "RWluIFp3aWxsaW5nIGRhdm9u" }]);
  await world.post([at(374, "click", { ...person, url: "https://shop.example/invoices/2026-11873" })]);
  return String(opened["sg_message_id"]);
}

async function save(page: Page, name: string): Promise<void> {
  await page.mouse.move(0, 0);
  const picture = await page.screenshot({ animations: "disabled" });
  const path = join(FOLDER, `${name}.png`);
  await writeFile(path, picture);
  const { size } = await stat(path);
  process.stdout.write(`docs/screenshots/${name}.png  ${Math.round(size / 1000)} kB\n`);
  if (size > PICTURE_BYTES_MAX) throw new Error(`${name}.png has ${size} bytes; at most ${PICTURE_BYTES_MAX}`);
}

/** A year in which 37 events were lost on one day and three on another, and all of them repaired. */
async function takeCompleteness(page: Page, world: PageWorld, messageId: string): Promise<void> {
  const lossy = { daysAgo: 5, state: "repaired", count: 37 } as const;
  const special = [lossy, { daysAgo: 2, state: "repaired", count: 3 } as const];
  await seedYear(world, { days: 330, special, messageId });
  await page.goto(`/completeness?year=${daysAgo(1).slice(0, 4)}`);
  await page.locator(".calendar a.repaired").first().waitFor();
  await page.locator(".runs tbody tr").first().waitFor();
  await save(page, "completeness");
  await page.goto(`/completeness/${daysAgo(lossy.daysAgo)}`);
  await page.locator(".gaps li").first().waitFor();
  await save(page, "completeness-day");
}

async function takePictures(world: PageWorld): Promise<void> {
  const started = await startBrowser();
  if ("reason" in started) throw new Error(started.reason);
  try {
    const opened = await openPage({ browser: started.browser, world });
    await signIn(opened, world);
    const { page } = opened;
    const now = Math.floor(Date.now() / 1000);
    const id = await postInvoice(world);
    // Only the first half of the campaign has happened, so that the newest events are of every kind.
    const traffic = { seed: "screenshots", events: EVENTS, twins: true, missingIds: true, poison: false };
    await world.postTraffic({ ...traffic, startSeconds: now - PERIOD_SECONDS, periodSeconds: 2 * PERIOD_SECONDS }, now);

    await page.goto(`/messages/${encodeURIComponent(id)}`);
    await page.getByText("“Invoice for your order 4711”").waitFor();
    await page.locator(".timeline li").nth(5).waitFor();
    await save(page, "message");

    await page.goto("/");
    await page.locator('[data-figure="lost"][data-value]').waitFor();
    await page.locator(".events tbody tr").nth(20).waitFor();
    await page.getByText("nothing waiting").waitFor();
    await save(page, "live");

    await takeCompleteness(page, world, id);
  } finally {
    await started.browser.close();
  }
}

await mkdir(FOLDER, { recursive: true });
const world = await startPageWorld(API_CALLS_PER_MINUTE);
try {
  await takePictures(world);
} finally {
  await world.stop();
}
