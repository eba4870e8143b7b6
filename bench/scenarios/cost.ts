import { setTimeout as delay } from "node:timers/promises";
import type { Bench } from "../context.ts";
import { startLoad } from "../load/load.ts";
import { cpuSeconds, familyBytes, residentBytes } from "../processes.ts";
import type { Recorder } from "../recorder.ts";
import type { Scenario } from "../scenario.ts";
import { ALL_ROLES, serve, type RunningHoldfast } from "../subjects/holdfast.ts";
import { drained } from "../subjects/ledger.ts";

const SUBJECT = "holdfast-all";
const DATABASE = "cost";
const MB = 1e6;
const MINUTES = 10;
const REST_SECONDS = 60;
const SETTLE_SECONDS = 20;
const SAMPLE_MS = 1_000;
/** Small POSTs: most requests, and so most of what a process could hold on to. */
const CUT = { eventsMin: 10, eventsMax: 10, firstEvent: 0 };
const CONNECTIONS = 50;
/** POSTs whose whole cost is counted, projection included. */
const COUNTED_POSTS = 20_000;
const PREPARED_BYTES = 200e6;

export const COST: Scenario = {
  name: "cost",
  description:
    "CPU seconds per million events, memory at rest and under minutes of saturation, CPU when idle; all roles in one process",
  async run(bench, recorder) {
    const { server, flags, key, sampleFile } = bench;
    const databaseUrl = await server.create(DATABASE);
    const prepare = { cut: CUT, bytes: flags.quick ? 5e6 : PREPARED_BYTES, doubledOneIn: 10 };
    const load = await startLoad({ ...prepare, sampleFile, privateKey: key.privateKeyText });
    const service = await serve(bench, { name: SUBJECT, databaseUrl, roles: ALL_ROLES });
    try {
      await rest(bench, recorder, service);
      const order = { url: service.url, connections: CONNECTIONS, warmUpMs: 0 };
      await count(bench, recorder, service, async () => {
        const posts = flags.quick ? 200 : COUNTED_POSTS;
        return (await load.run({ ...order, measureMs: Infinity, postsMax: posts })).eventsAcknowledged;
      });
      const saturated = sampleMemory(service);
      const minutes = flags.quick ? 0.05 : (flags.minutes ?? MINUTES);
      bench.say(`cost: ${minutes} minutes of saturation`);
      const report = await load.run({ ...order, measureMs: minutes * 60_000 });
      recordMemory(recorder, await saturated.stop());
      // Memory and rate mean little without it: a run may be shorter than the full ten.
      recorder.add({ subject: SUBJECT, metric: "saturation", unit: "minutes" }, report.seconds / 60);
      recorder.add({ subject: SUBJECT, metric: "events", unit: "events/s" }, report.events / report.seconds);
      recorder.check(
        "cost: POSTs are acknowledged to the end",
        report.answered > 0 && Object.keys(report.refused).length === 0,
        JSON.stringify(report.refused),
      );
    } finally {
      await load.stop();
      await service.stop();
      await server.drop(DATABASE);
    }
    judge(recorder);
  },
};

/** What it takes while nothing happens: a moment after the start, and for a minute. */
async function rest(bench: Bench, recorder: Recorder, service: RunningHoldfast): Promise<void> {
  const { quick } = bench.flags;
  bench.say("cost: at rest");
  await delay(quick ? 500 : SETTLE_SECONDS * 1_000);
  const seconds = quick ? 1 : REST_SECONDS;
  const roots = { service: [service.servicePid], "service and PostgreSQL": service.pids };
  const before = await usedBy(roots);
  await delay(seconds * 1_000);
  const after = await usedBy(roots);
  for (const name of Object.keys(roots)) {
    const used = (after[name] ?? Number.NaN) - (before[name] ?? Number.NaN);
    if (Number.isNaN(used)) continue;
    recorder.add({ subject: SUBJECT, metric: `idle CPU, ${name}`, unit: "% of a core" }, (used / seconds) * 100);
  }
  const resident = await residentBytes(service.servicePid);
  const family = await familyBytes(service.pids);
  if (resident !== undefined) recorder.add({ subject: SUBJECT, metric: "RSS at rest", unit: "MB" }, resident / MB);
  if (family !== undefined)
    recorder.add({ subject: SUBJECT, metric: "memory at rest with PostgreSQL", unit: "MB" }, family / MB);
}

async function usedBy(roots: Record<string, number[]>): Promise<Record<string, number | undefined>> {
  const entries = await Promise.all(
    Object.entries(roots).map(async ([name, pids]) => [name, await cpuSeconds(pids)] as const),
  );
  return Object.fromEntries(entries);
}

/** From the first POST until the last event is filed. */
async function count(
  bench: Bench,
  recorder: Recorder,
  service: RunningHoldfast,
  send: () => Promise<number>,
): Promise<void> {
  bench.say("cost: CPU per event, projection included");
  const before = await cpuSeconds(service.pids);
  const serviceBefore = await cpuSeconds([service.servicePid]);
  const events = await send();
  await drained(service.databaseUrl);
  const after = await cpuSeconds(service.pids);
  const serviceAfter = await cpuSeconds([service.servicePid]);
  const add = (metric: string, from: number | undefined, to: number | undefined): void => {
    if (from === undefined || to === undefined) return;
    recorder.add({ subject: SUBJECT, metric, unit: "CPU s per million events" }, ((to - from) / events) * 1e6);
  };
  add("cpu", before, after);
  add("cpu of the service", serviceBefore, serviceAfter);
}

interface MemorySample {
  ms: number;
  bytes: number;
}

function sampleMemory(service: RunningHoldfast): { stop(): Promise<MemorySample[]> } {
  const samples: MemorySample[] = [];
  let isOver = false;
  const running = (async () => {
    const beganMs = performance.now();
    while (!isOver) {
      const bytes = await residentBytes(service.servicePid);
      if (bytes !== undefined) samples.push({ ms: performance.now() - beganMs, bytes });
      await delay(SAMPLE_MS);
    }
  })();
  return {
    async stop() {
      isOver = true;
      await running;
      return samples;
    },
  };
}

/** Flat means: the last fifth of the time needs no more than the second one. */
function recordMemory(recorder: Recorder, samples: readonly MemorySample[]): void {
  if (samples.length === 0) return;
  const most = (from: number, to: number): number =>
    Math.max(
      ...samples.slice(Math.floor(samples.length * from), Math.ceil(samples.length * to)).map(({ bytes }) => bytes),
    ) / MB;
  const add = (metric: string, value: number): void => recorder.add({ subject: SUBJECT, metric, unit: "MB" }, value);
  add("RSS under saturation, most", most(0, 1));
  add("RSS under saturation, second fifth", most(0.2, 0.4));
  add("RSS under saturation, last fifth", most(0.8, 1));
}

function judge(recorder: Recorder): void {
  const goal = (metric: string, unit: string, value: number): void =>
    recorder.goal(metric, { subject: SUBJECT, metric, unit }, { direction: "at most", value });
  goal("RSS under saturation, most", "MB", 300);
  goal("RSS at rest", "MB", 150);
  goal("idle CPU, service", "% of a core", 1);
  recorder.ratio({
    name: "RSS, last fifth of the time / second fifth",
    metric: "RSS under saturation, last fifth",
    of: SUBJECT,
    to: { subject: SUBJECT, metric: "RSS under saturation, second fifth" },
    goal: { direction: "at most", value: 1.05 },
  });
}
