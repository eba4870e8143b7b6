import type { KeyObject } from "node:crypto";
import type { Log } from "../src/log.ts";
import type { BenchServer } from "./server.ts";

/** What every part of a run shares. */
export interface Bench {
  flags: Flags;
  /** For everything that is written during a run. */
  folder: string;
  /** Where the traffic's sample is. */
  sampleFile: string;
  server: BenchServer;
  key: BenchKey;
  log: Log;
  /** Says how far it is. */
  say(line: string): void;
}

export interface BenchKey {
  privateKey: KeyObject;
  /** PEM, for another process. */
  privateKeyText: string;
  /** As SendGrid shows it. */
  publicKeyText: string;
}

export const PEERS = ["django", "express", "anymail"] as const;
export type PeerName = (typeof PEERS)[number];

export interface Flags {
  scenarios: readonly string[];
  /** Seconds instead of minutes, no goals: only whether everything works. */
  quick: boolean;
  peers: readonly PeerName[];
  rounds: number;
  /** Adds its rounds to those that are kept. */
  add: boolean;
  /** Of one measured window. */
  seconds: number | undefined;
  /** Events per POST of the intake scenario. */
  batches: readonly number[];
  /** Under saturation in the cost scenario, under the page in the live one; undefined: what the scenario takes. */
  minutes: number | undefined;
  /** Stored events in the growth scenario. */
  sizes: readonly number[];
  /** Settings of Holdfast beside the benchmark's own. */
  settings: Readonly<Record<string, string>>;
  /** Another checkout that takes part. */
  against: string | undefined;
  /** Where CPU profiles and statement statistics go. */
  profile: string | undefined;
}
