import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { environmentOf } from "../config.ts";
import { STOP_MS_MAX } from "../limits.ts";
import { findRunningService, type RunningService } from "./running-service.ts";

/** A Holdfast of the demo's own: a process of its own, with a data folder of its own. */
export interface DemoService extends RunningService {
  dataDir: string;
  databaseUrl: string;
  /** Ends when the process does, whoever ended it. */
  ended: Promise<void>;
  /** Stops it as an operator would, by SIGTERM. A folder that was made for it is removed. */
  stop(): Promise<void>;
}

export interface DemoServiceOptions {
  apiUrl: string;
  apiKey: string;
  /** How long after its first event a message is asked for. */
  settleSeconds: number;
  /** What the service believes that SendGrid allows. */
  callsPerMinute: number;
  /** undefined: a fresh folder, removed at the end. */
  dataDir?: string;
  /** Shows the service's own output; else it is only shown when the start fails. */
  isVerbose: boolean;
}

const DEFAULT_PORT = 8025;
const MAIN = join(import.meta.dirname, "../main.ts");
/** A first start makes a database cluster: seconds, or a minute on a slow disk. */
const START_MS_MAX = 180_000;
const POLL_MS = 100;
const OUTPUT_CHARS_MAX = 8_000;

/** Starts the service with settings of the demo only: neither the environment's nor those of an `.env` file. */
export async function startDemoService(options: DemoServiceOptions): Promise<DemoService> {
  const { dataDir: givenDataDir, isVerbose } = options;
  const dataDir = givenDataDir ?? (await makeTemporaryFolder());
  const child = spawn(process.execPath, [MAIN], {
    env: await environment(options, dataDir),
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = once(child, "exit").then(() => undefined);
  const output = collectOutput(child, isVerbose);
  const stop = async (): Promise<void> => {
    await stopChild(child, ended);
    if (givenDataDir === undefined) await rm(dataDir, { recursive: true, force: true });
  };
  try {
    const service = await waitUntilReady(child, dataDir, output);
    return { ...service, dataDir, ended, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/**
 * PostgreSQL does not run as root, so root's demo runs it as another user, who must be able to pass through the folder.
 * What is secret in it has a mode of its own.
 */
async function makeTemporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-demo-"));
  await chmod(folder, 0o711);
  return folder;
}

async function environment(options: DemoServiceOptions, dataDir: string): Promise<Record<string, string | undefined>> {
  return environmentOf({
    HOLDFAST_API_CALLS_PER_MINUTE: String(options.callsPerMinute),
    HOLDFAST_DATA_DIR: dataDir,
    HOLDFAST_ENRICH_SIMULATED: "true",
    HOLDFAST_ENRICHMENT_SETTLE_SECONDS: String(options.settleSeconds),
    HOLDFAST_LOG_LEVEL: "warn",
    // A demo checks when it says so: the nightly check would come first, as none was ever made.
    HOLDFAST_RECONCILE: "off",
    PORT: (await isFree(DEFAULT_PORT)) ? String(DEFAULT_PORT) : "0",
    SENDGRID_API_KEY: options.apiKey,
    SENDGRID_API_URL: options.apiUrl,
  });
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}

function collectOutput(child: ChildProcess, isVerbose: boolean): () => string {
  let text = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding("utf8").on("data", (chunk: string) => {
      text = (text + chunk).slice(-OUTPUT_CHARS_MAX);
      if (isVerbose && stream === child.stderr) process.stderr.write(chunk);
    });
  }
  return () => text;
}

async function waitUntilReady(
  child: ChildProcess,
  dataDir: string,
  output: () => string,
): Promise<RunningService & { databaseUrl: string }> {
  const deadlineMs = performance.now() + START_MS_MAX;
  while (performance.now() < deadlineMs) {
    if (child.exitCode !== null || child.signalCode !== null)
      throw new Error(`the service ended while it started:\n${output()}`);
    const service = await findRunningService(dataDir);
    if (service?.pid === child.pid && service?.databaseUrl !== undefined)
      return { ...service, databaseUrl: service.databaseUrl };
    await delay(POLL_MS);
  }
  throw new Error(`the service was not ready after ${START_MS_MAX / 1000} s:\n${output()}`);
}

async function stopChild(child: ChildProcess, ended: Promise<void>): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill("SIGTERM");
  // Its own limit, and a moment for the process to go.
  const timer = setTimeout(() => child.kill("SIGKILL"), STOP_MS_MAX + 2_000);
  await ended;
  clearTimeout(timer);
}
