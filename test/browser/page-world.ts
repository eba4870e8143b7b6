import { generateKeyPairSync } from "node:crypto";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { publicKeyText } from "../../src/sendgrid/signature.ts";
import { type ApiDouble, startApiDouble } from "../../src/simulator/api-double.ts";
import { simulatePosts } from "../../src/simulator/posts.ts";
import type { TrafficOptions } from "../../src/simulator/traffic.ts";
import { encodeBody, encodeItem, webhookHeaders } from "../../src/simulator/wire.ts";
import type { TokenRole } from "../../src/views/contract.ts";
import { makeDataDir, removeDataDir, type ServiceProcess, startServiceProcess } from "../service-process.ts";

export type Item = Record<string, unknown>;

/** The whole service as people run it, with a key of its own and a double of SendGrid's API, for a browser to look at. */
export interface PageWorld {
  service: ServiceProcess;
  double: ApiDouble;
  /** Works at any time, unlike the login link. */
  adminToken: string;
  /** Posts items as SendGrid does, and tells the double of them. */
  post(items: readonly Item[]): Promise<void>;
  /** Posts items that are no news to SendGrid itself: re-deliveries. */
  postAgain(items: readonly Item[]): Promise<void>;
  /** Posts any signed bytes. */
  postBytes(body: Buffer): Promise<void>;
  /**
   * Posts simulated traffic to the real source, in the order of time, up to a moment (Unix seconds). `pace` is waited for
   * after each POST.
   */
  postTraffic(traffic: TrafficOptions, untilSeconds: number, pace?: () => Promise<void>): Promise<void>;
  stop(): Promise<void>;
}

/** `callsPerMinute` is what the service believes to be allowed; the double allows everything. `more` settings go before the world's. */
export async function startPageWorld(callsPerMinute = 6_000, more: Record<string, string> = {}): Promise<PageWorld> {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
  const adminToken = "a-token-only-for-this-test";
  const double = await startApiDouble({ callsPerMinute: Infinity, visibleAfterSeconds: 0 });
  const dataDir = await makeDataDir();
  const service = await startServiceProcess(dataDir, {
    HOLDFAST_ADMIN_TOKEN: adminToken,
    // What a test says of completeness must stand; checks that a page orders are still carried out.
    HOLDFAST_RECONCILE: "off",
    HOLDFAST_API_CALLS_PER_MINUTE: String(callsPerMinute),
    HOLDFAST_ENRICHMENT_SETTLE_SECONDS: "0",
    SENDGRID_API_KEY: double.apiKey,
    SENDGRID_API_URL: double.url,
    SENDGRID_WEBHOOK_PUBLIC_KEY: publicKeyText(publicKey),
    ...more,
  });

  const postBytes = async (body: Buffer): Promise<void> => {
    const response = await fetch(`${service.url}/webhooks/sendgrid`, {
      method: "POST",
      body: new Uint8Array(body),
      headers: webhookHeaders(privateKey, body, String(Math.floor(Date.now() / 1000))),
    });
    if (response.status !== 200) throw new Error(`the webhook answered ${response.status}: ${await response.text()}`);
  };
  const postAgain = (items: readonly Item[]): Promise<void> => postBytes(encodeBody(items.map(encodeItem)));
  return {
    service,
    double,
    adminToken,
    postBytes,
    postAgain,
    async post(items) {
      for (const item of items) double.record(item);
      await postAgain(items);
    },
    async postTraffic(traffic, untilSeconds, pace) {
      for (const post of simulatePosts(traffic, { batch: 5, duplicates: 0.02, shuffle: false })) {
        if (post.news.some((event) => Number(event["timestamp"]) > untilSeconds)) return;
        for (const event of post.news) double.record(event);
        await postBytes(post.body);
        await pace?.();
      }
    },
    async stop() {
      await service.end("SIGTERM");
      await double.stop();
      await removeDataDir(dataDir);
    },
  };
}

export interface Look {
  scheme: "light" | "dark";
  language: "en" | "de";
  device: "desktop" | "phone";
}

/**
 * Where the reader sits: in Berlin by day, in Los Angeles while it is night there, since what a world posts happened up to two
 * hours ago, and pages say "today" of it at any hour at which the tests run.
 */
function readersZone(now: Date): string {
  const hour = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", hourCycle: "h23", timeZone: "Europe/Berlin" });
  const hourInBerlin = Number(hour.format(now));
  return hourInBerlin >= 3 && hourInBerlin < 22 ? "Europe/Berlin" : "America/Los_Angeles";
}

export const VIEWPORTS = { desktop: { width: 1340, height: 1080 }, phone: { width: 390, height: 844 } } as const;

export interface OpenedPage {
  context: BrowserContext;
  page: Page;
  /** What the browser complained about: errors of scripts, of the console, of the content security policy. */
  complaints: string[];
}

export interface OpenOptions {
  browser: Browser;
  world: PageWorld;
  look?: Partial<Look>;
  /** Device pixels to a CSS pixel. */
  scale?: number;
}

/** Opens a fresh browser profile at the service, not signed in. */
export async function openPage({ browser, world, look = {}, scale = 1 }: OpenOptions): Promise<OpenedPage> {
  const { scheme = "light", language = "en", device = "desktop" } = look;
  const context = await browser.newContext({
    baseURL: world.service.url,
    colorScheme: scheme,
    deviceScaleFactor: scale,
    hasTouch: device === "phone",
    isMobile: device === "phone",
    locale: language === "de" ? "de-DE" : "en-GB",
    timezoneId: readersZone(new Date()),
    viewport: VIEWPORTS[device],
  });
  // Below the test's own limit, so that a failure names what was waited for.
  context.setDefaultTimeout(50_000);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on("pageerror", (error) => complaints.push(`error: ${error.message}`));
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") complaints.push(`console: ${message.text()}`);
  });
  return { context, page, complaints };
}

/** Signs in with a token through the page's own API, without the detour over the login page. */
export async function signIn({ context }: OpenedPage, token: string): Promise<void> {
  const response = await context.request.post("/api/session", { data: { token } });
  if (!response.ok()) throw new Error(`signing in answered ${response.status()}`);
}

/** Makes a token with this role, of the same name. */
export async function makeToken({ service, adminToken }: PageWorld, role: TokenRole): Promise<string> {
  const response = await fetch(`${service.url}/api/tokens`, {
    method: "POST",
    headers: { authorization: `Bearer ${adminToken}`, "content-type": "application/json" },
    body: JSON.stringify({ name: role, role }),
  });
  if (!response.ok) throw new Error(`making a token answered ${response.status}`);
  const { token } = (await response.json()) as { token: string };
  return token;
}

let sequence = 0;

/** An item of a mail, with ids as SendGrid makes them. */
export function itemOf(mail: string, event: string, more: Item = {}): Item {
  sequence += 1;
  return {
    email: "purchasing@example.com",
    timestamp: Math.floor(Date.now() / 1000),
    event,
    sg_event_id: Buffer.from(`${mail} ${event} ${sequence}`).toString("base64url"),
    sg_message_id: `${mail}.recvd-7c9b4d8f6-2xk9p-1-65A1B2C3-1F.0`,
    ...more,
  };
}
