import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { World } from "./world.ts";

const POLL_MS = 100;
/** A receipt that failed under a fault is tried again after up to a minute or so; after two still minutes it is stuck. */
const STILL_MS_MAX = 120_000;

export interface SettleOptions {
  /** How long what does not move may stand still before it counts as stuck. */
  stillMsMax?: number;
  /** False: does not wait until every message has been asked about, which takes the API's own time. */
  isApiAwaited?: boolean;
}

interface Wait {
  what: string;
  left: () => Promise<number>;
  /** Whether it stands still on purpose. */
  isPaused?: () => Promise<boolean>;
}

/** Waits until the spools and the inbox are empty and every message has been asked about. @returns what never came to rest. */
export async function settle(world: World, options: SettleOptions = {}): Promise<string[]> {
  const { stillMsMax = STILL_MS_MAX, isApiAwaited = true } = options;
  const waits: Wait[] = [
    { what: "POSTs in the spool", left: () => spooled(world) },
    { what: "receipts in the inbox", left: () => count(world, "SELECT count(*) AS left FROM inbox") },
  ];
  if (isApiAwaited) {
    waits.push({
      what: "messages that wait for the API",
      left: () => count(world, "SELECT count(*) AS left FROM enrichments WHERE state = 'pending' AND attempts = 0"),
      // After several faults in a row an API is left alone for minutes, and nothing is stuck.
      isPaused: async () =>
        (await count(world, "SELECT count(*) AS left FROM provider_apis WHERE blocked_until > now()")) > 0,
    });
  }
  const stuck: string[] = [];
  for (const wait of waits) {
    const { what } = wait;
    const rest = await untilZero(wait, stillMsMax);
    if (rest > 0) stuck.push(`${rest} ${what} did not go on for ${stillMsMax / 1000} s`);
  }
  return stuck;
}

export async function spooled(world: World): Promise<number> {
  const counts = await Promise.all(
    world.instances.map(async ({ dataDir }) => (await readdir(join(dataDir, "spool")).catch(() => [])).length),
  );
  return counts.reduce((sum, posts) => sum + posts, 0);
}

async function count(world: World, sql: string): Promise<number> {
  return (await world.ask<{ left: number }>(sql))[0]?.left ?? 0;
}

async function untilZero({ left, isPaused }: Wait, stillMsMax: number): Promise<number> {
  let lowest = Infinity;
  let movedMs = performance.now();
  for (;;) {
    const rest = await left();
    if (rest === 0) return 0;
    if (rest < lowest || (await isPaused?.()) === true) {
      lowest = rest;
      movedMs = performance.now();
    }
    if (performance.now() - movedMs > stillMsMax) return rest;
    await delay(POLL_MS);
  }
}
