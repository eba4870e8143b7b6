import { setTimeout as delay } from "node:timers/promises";
import type { Browser, CDPSession, Page } from "playwright-core";
import { startBrowser } from "../../test/browser/browser.ts";
import type { Bench } from "../context.ts";
import { startLoad } from "../load/load.ts";
import { median } from "../numbers.ts";
import type { Recorder } from "../recorder.ts";
import type { Scenario } from "../scenario.ts";
import { ALL_ROLES, type RunningHoldfast, serve } from "../subjects/holdfast.ts";

const SUBJECT = "page-live";
const DATABASE = "live";
const MB = 1e6;
/** POSTs of ten events: 500 events a second, as SendGrid sends them while a campaign runs. */
const CUT = { eventsMin: 10, eventsMax: 10, firstEvent: 0 };
const POSTS_PER_SECOND = 50;
const CONNECTIONS = 10;
const PREPARED_BYTES = 100e6;
const MINUTES = 5;
const QUICK_MINUTES = 0.05;
/** Until the list is full and the page is compiled: what comes before says nothing about a day of it. */
const WARM_UP_MS = 10_000;
const QUICK_WARM_UP_MS = 500;
/** So many pieces of the time are looked at. */
const LOOKS = 20;
/**
 * At the end of each piece the memory is read after so many forced collections, and the least counts: each meets another
 * moment of the second in which the page takes a list and draws it, and what it needs only for that moment comes and goes
 * with it. They are left out of the busy time.
 */
const COLLECTIONS = 5;
const QUICK_COLLECTIONS = 1;
const COLLECTIONS_APART_MS = 250;
/** The traffic outlasts the looks a little, so that the last of them is no look at a page at rest. */
const TRAFFIC_SHARE = 1.02;
const VIEWPORT = { width: 1340, height: 1080 };

const BUSY_GOAL_PERCENT = 30;
const FLAT_GOAL = 1.05;

export const LIVE: Scenario = {
  name: "live",
  description: "the live page in Chromium while 500 events a second arrive: its main thread's busy share, its memory",
  async run(bench, recorder) {
    const started = await startBrowser();
    if ("reason" in started) {
      recorder.note(`the live page is left out: ${started.reason}`);
      return;
    }
    const { browser } = started;
    const databaseUrl = await bench.server.create(DATABASE);
    const service = await serve(bench, { name: SUBJECT, databaseUrl, roles: ALL_ROLES });
    try {
      await measure(bench, recorder, { browser, service });
    } finally {
      await browser.close();
      await service.stop();
      await bench.server.drop(DATABASE);
    }
    judge(recorder);
  },
};

async function measure(
  bench: Bench,
  recorder: Recorder,
  { browser, service }: { browser: Browser; service: RunningHoldfast },
): Promise<void> {
  const { flags, key, sampleFile } = bench;
  const measureMs = (flags.quick ? QUICK_MINUTES : (flags.minutes ?? MINUTES)) * 60_000;
  const warmUpMs = flags.quick ? QUICK_WARM_UP_MS : WARM_UP_MS;
  const prepare = { sampleFile, cut: CUT, bytes: flags.quick ? 2e6 : PREPARED_BYTES, doubledOneIn: 0 };
  const load = await startLoad({ ...prepare, privateKey: key.privateKeyText });
  try {
    const page = await openLivePage(browser, service);
    const faults: string[] = [];
    page.on("pageerror", (error) => faults.push(error.message));
    bench.say(`live: ${measureMs / 60_000} minutes of ${POSTS_PER_SECOND * CUT.eventsMin} events a second`);
    const order = { url: service.url, connections: CONNECTIONS, postsPerSecond: POSTS_PER_SECOND };
    const sending = load.run({ ...order, warmUpMs, measureMs: measureMs * TRAFFIC_SHARE });
    await page.locator(".events tbody tr").nth(20).waitFor();
    await delay(warmUpMs);
    const looks = await watch(bench, page, measureMs);
    const report = await sending;
    record(recorder, looks);
    recorder.add({ subject: SUBJECT, metric: "events arriving", unit: "events/s" }, report.events / report.seconds);
    recorder.check(
      "live: every POST is acknowledged",
      report.answered > 0 && Object.keys(report.refused).length === 0,
      JSON.stringify(report.refused),
    );
    // The page counts what was acknowledged, to the last event, and has nothing to complain of.
    await page.locator(`[data-figure="processed"][data-value="${report.eventsAcknowledged}"]`).waitFor();
    recorder.check("live: the page has no errors", faults.length === 0, faults.join("; "));
  } finally {
    await load.stop();
  }
}

async function openLivePage(browser: Browser, service: RunningHoldfast): Promise<Page> {
  const context = await browser.newContext({ baseURL: service.apiUrl, viewport: VIEWPORT, locale: "en-GB" });
  const signedIn = await context.request.post("/api/session", { data: { token: service.token } });
  if (!signedIn.ok()) throw new Error(`signing in answered ${signedIn.status()}`);
  const page = await context.newPage();
  await page.goto("/");
  await page.locator('[data-figure="processed"][data-value]').waitFor();
  return page;
}

/** What the browser's own protocol says of the page over a piece of the time. */
interface Look extends Memory {
  /** Shares of the piece, 0 to 1. */
  busy: number;
  script: number;
  layout: number;
}

/** What the page still needs after forced collections. */
interface Memory {
  heapBytes: number;
  nodes: number;
  listeners: number;
}

/** Cuts the time into pieces, each with collections at its end. */
async function watch(bench: Bench, page: Page, measureMs: number): Promise<Look[]> {
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable");
  const collections = bench.flags.quick ? QUICK_COLLECTIONS : COLLECTIONS;
  const pieceMs = measureMs / LOOKS;
  const startedAt = performance.now();
  const looks: Look[] = [];
  for (let piece = 1; piece <= LOOKS; piece += 1) {
    const before = await metricsOf(session);
    const collectAt = startedAt + piece * pieceMs - (collections - 1) * COLLECTIONS_APART_MS;
    await delay(Math.max(0, collectAt - performance.now()));
    const after = await metricsOf(session);
    const share = (...names: string[]): number =>
      names.reduce((sum, name) => sum + (after(name) - before(name)), 0) / (after("Timestamp") - before("Timestamp"));
    const look = {
      busy: share("TaskDuration"),
      script: share("ScriptDuration"),
      layout: share("LayoutDuration", "RecalcStyleDuration"),
      ...(await memoryOf(session, collections)),
    };
    looks.push(look);
    const seconds = Math.round((piece * pieceMs) / 1_000);
    const heap = (look.heapBytes / MB).toFixed(2);
    const busy = (look.busy * 100).toFixed(1);
    bench.say(`  ${seconds} s: heap ${heap} MB, ${look.nodes} nodes, ${look.listeners} listeners, busy ${busy} %`);
  }
  return looks;
}

async function memoryOf(session: CDPSession, collections: number): Promise<Memory> {
  const least: Memory = { heapBytes: Infinity, nodes: Infinity, listeners: Infinity };
  for (let done = 0; done < collections; done += 1) {
    if (done > 0) await delay(COLLECTIONS_APART_MS);
    await session.send("HeapProfiler.collectGarbage");
    const { usedSize } = await session.send("Runtime.getHeapUsage");
    const metric = await metricsOf(session);
    least.heapBytes = Math.min(least.heapBytes, usedSize);
    least.nodes = Math.min(least.nodes, metric("Nodes"));
    least.listeners = Math.min(least.listeners, metric("JSEventListeners"));
  }
  return least;
}

async function metricsOf(session: CDPSession): Promise<(name: string) => number> {
  const { metrics } = await session.send("Performance.getMetrics");
  const values = new Map(metrics.map(({ name, value }) => [name, value]));
  return (name) => {
    const value = values.get(name);
    if (value === undefined) throw new Error(`Chromium has no metric ${name}`);
    return value;
  };
}

function record(recorder: Recorder, looks: readonly Look[]): void {
  const add = (metric: string, unit: string, value: number): void =>
    recorder.add({ subject: SUBJECT, metric, unit }, value);
  const mean = (of: (look: Look) => number): number => looks.reduce((sum, look) => sum + of(look), 0) / looks.length;
  const fifth = (number: number): Look[] => looks.slice(((number - 1) * looks.length) / 5, (number * looks.length) / 5);
  const middle = (part: readonly Look[], of: (look: Look) => number): number => median(part.map(of));
  const percent = "% of a core";
  add("main thread busy", percent, mean(({ busy }) => busy) * 100);
  add("main thread busy, most", percent, Math.max(...looks.map(({ busy }) => busy)) * 100);
  add("main thread in script", percent, mean(({ script }) => script) * 100);
  add("main thread in style and layout", percent, mean(({ layout }) => layout) * 100);
  add("heap at the start", "MB", (looks[0]?.heapBytes ?? Number.NaN) / MB);
  add("heap, second fifth", "MB", middle(fifth(2), ({ heapBytes }) => heapBytes) / MB);
  add("heap, last fifth", "MB", middle(fifth(5), ({ heapBytes }) => heapBytes) / MB);
  add(
    "nodes, second fifth",
    "nodes",
    middle(fifth(2), ({ nodes }) => nodes),
  );
  add(
    "nodes, last fifth",
    "nodes",
    middle(fifth(5), ({ nodes }) => nodes),
  );
}

function judge(recorder: Recorder): void {
  recorder.goal(
    "main thread busy",
    { subject: SUBJECT, metric: "main thread busy", unit: "% of a core" },
    { direction: "at most", value: BUSY_GOAL_PERCENT },
  );
  for (const memory of ["heap", "nodes"])
    recorder.ratio({
      name: `${memory}, last fifth of the time / second fifth`,
      metric: `${memory}, last fifth`,
      of: SUBJECT,
      to: { subject: SUBJECT, metric: `${memory}, second fifth` },
      goal: { direction: "at most", value: FLAT_GOAL },
    });
}
