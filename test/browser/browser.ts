import { existsSync } from "node:fs";
import { type Browser, chromium } from "playwright-core";

/**
 * Our own flags, not those of @sparticuz/chromium: its list has --single-process, which dies with the first closed page.
 */
const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"];

/** Chrome and Chromium where their installers put them, for systems the packaged Chromium does not run on. */
const INSTALLED = [
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
  "/usr/bin/google-chrome-stable",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
  "/Applications/Chromium.app/Contents/MacOS/Chromium",
];

export type BrowserStart = { browser: Browser } | { reason: string };

/**
 * Starts a browser: the Chromium inside the npm package on Linux, else an installed one. On a machine where neither
 * starts, says why, so that a test can skip loudly.
 */
export async function startBrowser(): Promise<BrowserStart> {
  const faults: string[] = [];
  for (const candidate of [
    packagedChromium,
    ...INSTALLED.filter((path) => existsSync(path)).map((path) => async () => path),
  ]) {
    try {
      return { browser: await chromium.launch({ executablePath: await candidate(), args: FLAGS, headless: true }) };
    } catch (error) {
      faults.push(error instanceof Error ? (error.message.split("\n")[0] ?? error.name) : String(error));
    }
  }
  return { reason: `no browser could be started: ${faults.join("; ")}` };
}

async function packagedChromium(): Promise<string> {
  if (process.platform !== "linux") throw new Error(`@sparticuz/chromium has no browser for ${process.platform}`);
  const { default: sparticuz } = await import("@sparticuz/chromium");
  return sparticuz.executablePath();
}
