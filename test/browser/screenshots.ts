/**
 * Takes the pictures of the README and of docs/tour.md: `npm run screenshots`. Starts the service with a database of its
 * own, posts traffic of a made-up shop to it, and photographs the pages as a reader sees them: on paper light and dark, in
 * both languages, one on a phone.
 */
import { generateKeyPairSync } from "node:crypto";
import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Browser, Page } from "playwright-core";
import { API_CALLS_PER_MINUTE } from "../../src/limits.ts";
import { encodeBody, encodeItem, webhookHeaders } from "../../src/simulator/wire.ts";
import { startBrowser } from "./browser.ts";
import { daysAgo, seedYear } from "./completeness-year.ts";
import { CUSTOMER, postCampaign, postInvoice, postReset, spreadRates } from "./demo-shop.ts";
import { itemOf, type Look, openPage, type PageWorld, signIn, startPageWorld } from "./page-world.ts";

const FOLDER = join(import.meta.dirname, "../../docs/screenshots");
/** A README is read over slow lines too. */
const PICTURE_BYTES_MAX = 300_000;
const ALL_BYTES_MAX = 2_000_000;
const EVENTS = 8_000;
/** A day on which events were lost, and repaired since. */
const LOSSY = { daysAgo: 5, state: "repaired", count: 37 } as const;

interface Picture {
  name: string;
  look: Partial<Look>;
  path: string;
  /** There when the page is whole, beside what every page has. */
  content: readonly string[];
}

/** The calm day: everything filed and enriched, nothing that needs a person. */
function calmPictures(messageId: string): Picture[] {
  return [
    // First, since it says when all mails are enriched.
    {
      name: "live",
      look: {},
      path: "/",
      content: ['[data-figure="lost"][data-value]', ".events tbody tr >> nth=20", "text=nothing waiting"],
    },
    {
      name: "message",
      look: {},
      path: `/messages/${encodeURIComponent(messageId)}`,
      content: ["text=“Invoice for your order 4711”", ".timeline li >> nth=5", "text=Reset your password"],
    },
    {
      name: "messages",
      look: { scheme: "dark" },
      path: "/messages",
      content: [".messages tbody tr >> nth=20", ".messages .subject >> text=/Invoice|Reset|Confirm/"],
    },
    {
      name: "recipient",
      look: { language: "de" },
      path: `/recipients/${encodeURIComponent(CUSTOMER)}`,
      content: ["text=Reset your password", "text=Invoice for your order 4711"],
    },
  ];
}

/** A day with something to do, and a year that was held against SendGrid's records. */
function busyPictures(): Picture[] {
  return [
    { name: "alerts", look: { device: "phone", scheme: "dark" }, path: "/alerts", content: [".papers > li >> nth=2"] },
    {
      name: "completeness",
      look: {},
      path: `/completeness?year=${daysAgo(1).slice(0, 4)}`,
      content: [".calendar a.repaired", ".runs tbody tr"],
    },
    {
      name: "completeness-day",
      look: { language: "de" },
      path: `/completeness/${daysAgo(LOSSY.daysAgo)}`,
      content: [".gaps li"],
    },
    {
      name: "settings",
      look: { language: "de", scheme: "dark" },
      path: "/settings/sources",
      content: [".source tbody tr"],
    },
  ];
}

async function take(browser: Browser, world: PageWorld, picture: Picture): Promise<number> {
  const { name, look, path, content } = picture;
  const opened = await openPage({ browser, world, look });
  try {
    await signIn(opened, world.adminToken);
    const { page } = opened;
    const isWhole = async (): Promise<void> => {
      // The foot of the rail names versions as soon as the first status is there.
      for (const each of [...content, ".foot div >> nth=2"]) {
        await page.locator(each).first().waitFor({ state: "attached", timeout: 300_000 });
      }
    };
    await page.goto(path);
    await isWhole();
    // Rows that came before their mail was enriched show its subject from now on.
    await page.reload();
    await isWhole();
    return await save(page, name);
  } finally {
    await opened.context.close();
  }
}

async function save(page: Page, name: string): Promise<number> {
  await page.mouse.move(0, 0);
  const picture = await page.screenshot({ animations: "disabled" });
  await writeFile(join(FOLDER, `${name}.png`), picture);
  process.stdout.write(`docs/screenshots/${name}.png  ${Math.round(picture.length / 1000)} kB\n`);
  if (picture.length > PICTURE_BYTES_MAX) {
    throw new Error(`${name}.png has ${picture.length} bytes; at most ${PICTURE_BYTES_MAX}`);
  }
  return picture.length;
}

/** What operations are called for: a POST that no key explains, and an item that is no event. */
async function causeAlerts(world: PageWorld): Promise<void> {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
  const body = encodeBody([encodeItem(itemOf("refused", "delivered"))]);
  const headers = webhookHeaders(privateKey, body, String(Math.floor(Date.now() / 1000)));
  await fetch(`${world.service.url}/webhooks/sendgrid`, { method: "POST", body: new Uint8Array(body), headers });
  await world.postBytes(Buffer.from('[{"email": "customer@example.com"'));
}

/** When a key was used last is written down twice a minute. */
async function keyIsUsed(world: PageWorld): Promise<void> {
  const headers = { authorization: `Bearer ${world.adminToken}` };
  for (;;) {
    const answer = await fetch(`${world.service.url}/api/sources`, { headers });
    if (!answer.ok) throw new Error(`/api/sources answered ${answer.status}`);
    if ((await answer.text()).includes('"usedAt":"')) return;
    await delay(1_000);
  }
}

async function takePictures(world: PageWorld): Promise<void> {
  const started = await startBrowser();
  if ("reason" in started) throw new Error(started.reason);
  try {
    const messageId = await postInvoice(world);
    await postReset(world);
    await postCampaign(world, EVENTS);
    await spreadRates(world);
    const pictures = [...calmPictures(messageId), ...busyPictures()];
    let bytes = 0;
    for (const picture of calmPictures(messageId)) bytes += await take(started.browser, world, picture);
    await causeAlerts(world);
    const special = [LOSSY, { daysAgo: 2, state: "repaired", count: 3 } as const];
    await seedYear(world, { days: 330, special, messageId });
    await keyIsUsed(world);
    for (const picture of busyPictures()) bytes += await take(started.browser, world, picture);
    if (bytes > ALL_BYTES_MAX) throw new Error(`the pictures have ${bytes} bytes; at most ${ALL_BYTES_MAX}`);
    const kept = new Set(pictures.map(({ name }) => `${name}.png`));
    for (const file of await readdir(FOLDER)) if (!kept.has(file)) await rm(join(FOLDER, file));
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
