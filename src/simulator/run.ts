import type { KeyObject } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { compareWithLedger, waitUntilProjected, type Comparison, type LedgerReader } from "./compare.ts";
import { createManifest } from "./manifest.ts";
import { simulatePosts, type PostingOptions } from "./posts.ts";
import { sendPosts, type Sent } from "./sender.ts";
import { simulateMessages, type TrafficOptions } from "./traffic.ts";
import type { WireEvent } from "./truth.ts";

export interface SimulationOptions {
  traffic: TrafficOptions;
  posting: PostingOptions;
  /** The webhook's whole address. */
  url: string;
  privateKey: KeyObject;
  /** undefined: nothing can be compared, and the report says so. */
  ledger: LedgerReader | undefined;
  concurrency: number;
  /** Events a second; 0 is as fast as it goes. */
  rate: number;
  /** Where to write the acknowledged POSTs, a line of JSON each. */
  manifestPath?: string;
  onNews?: (event: WireEvent) => void;
  onStep?: (step: SimulationStep) => void;
  signal?: AbortSignal;
  now?: () => number;
  wait?: (ms: number) => Promise<unknown>;
}

export type SimulationStep =
  | { step: "send"; done: number; posts: number; retries: number }
  | { step: "project"; pending: number }
  | { step: "compare"; done: number };

export interface SimulationReport {
  sent: Sent;
  /** Distinct events, twins included, that the target acknowledged. */
  acknowledged: number;
  /** Receipts that were not projected when the comparison began. */
  pending: number;
  comparison: Comparison | undefined;
  seconds: number;
}

/** Makes the traffic, posts it, waits until it is projected and compares. */
export async function runSimulation(options: SimulationOptions): Promise<SimulationReport> {
  const { traffic, posting, ledger, onStep, now = Date.now, wait = delay } = options;
  const manifest = createManifest(options.manifestPath);
  const startedMs = now();
  try {
    const sent = await sendPosts({
      ...options,
      posts: simulatePosts(traffic, posting),
      manifest,
      seed: traffic.seed,
      now,
      wait,
      onProgress: (progress) =>
        onStep?.({ step: "send", done: manifest.eventCount, posts: progress.posts, retries: progress.retries }),
    });
    const seconds = (now() - startedMs) / 1000;
    if (ledger === undefined)
      return { sent, acknowledged: manifest.eventCount, pending: 0, comparison: undefined, seconds };
    const pending = await waitUntilProjected(ledger, {
      wait,
      now,
      onPending: (receipts) => onStep?.({ step: "project", pending: receipts }),
    });
    const comparison = await compareWithLedger(simulateMessages(traffic), manifest, ledger, (done) =>
      onStep?.({ step: "compare", done }),
    );
    return { sent, acknowledged: manifest.eventCount, pending, comparison, seconds };
  } finally {
    await manifest.close();
  }
}

/** Whether anything is wrong: lost, double, wrongly quarantined, never acknowledged, or a forgery accepted. */
export function isFlawless(report: SimulationReport): boolean {
  const { sent, comparison } = report;
  if (sent.givenUp > 0 || sent.forgedAccepted > 0) return false;
  if (comparison === undefined) return true;
  const { lost, double, quarantined } = comparison;
  return lost === 0 && double === 0 && quarantined.expected === quarantined.found;
}
