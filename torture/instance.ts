import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createWriteStream, type WriteStream } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { environmentOf } from "../src/config.ts";

/** One service as a process of its own, which is started again when it ends unasked, as systemd would. */
export interface Instance {
  readonly name: string;
  /** Stays the same over restarts. */
  readonly url: string;
  readonly dataDir: string;
  /** undefined while it does not run. */
  pid(): number | undefined;
  /** Starts it and waits until it is ready, trying again for as long as its start fails. */
  start(msMax?: number): Promise<void>;
  signal(signal: NodeJS.Signals): void;
  /** Sends the signal, waits for the end, and does not start it again. @returns the exit code, or the signal's name. */
  end(signal: NodeJS.Signals): Promise<number | string>;
  /** How it ended when nobody had asked it to. */
  readonly crashes: readonly string[];
  /** What it printed lately. */
  output(): string;
}

export interface InstanceOptions {
  name: string;
  /** The checkout, or a changed copy of it. */
  root: string;
  dataDir: string;
  settings: Parameters<typeof environmentOf>[0];
  /** A file in which the milliseconds stand that its clock is off. */
  clockFile: string;
  /** Where its output goes. */
  logFile: string;
}

const READY = "Holdfast is ready";
const CLOCK = join(import.meta.dirname, "clock-preload.ts");
/** A start can fail for as long as a fault lasts; this is longer than any, and longer than a crash's recovery. */
const START_MS_MAX = 180_000;
const RESTART_MS = 300;
const READY_POLL_MS = 20;
const OUTPUT_CHARS_MAX = 20_000;

export async function createInstance(options: InstanceOptions): Promise<Instance> {
  const { name, dataDir, logFile } = options;
  const port = await freePort();
  const log = createWriteStream(logFile, { flags: "a" });
  const crashes: string[] = [];
  let run: Run | undefined;
  let isWanted = false;

  async function start(msMax = START_MS_MAX): Promise<void> {
    isWanted = true;
    const deadlineMs = performance.now() + msMax;
    while (isWanted) {
      const launched = launch(options, port, log);
      run = launched;
      if (await isReady(launched)) {
        void watch(launched);
        return;
      }
      if (performance.now() > deadlineMs) throw new Error(`${name} does not start:\n${launched.output()}`);
      await delay(RESTART_MS);
    }
  }

  async function watch(launched: Run): Promise<void> {
    const how = await launched.ended;
    if (!isWanted || run !== launched) return;
    crashes.push(`${name} ended by itself with ${how}: ${launched.output().slice(-500)}`);
    await start();
  }

  return {
    name,
    url: `http://127.0.0.1:${port}`,
    dataDir,
    pid: () => (run?.hasEnded() === false ? run.child.pid : undefined),
    start,
    signal(signal) {
      run?.child.kill(signal);
    },
    async end(signal) {
      isWanted = false;
      run?.child.kill(signal);
      return run?.ended ?? 0;
    },
    crashes,
    output: () => run?.output() ?? "",
  };
}

/** One process, from its start to its end. */
interface Run {
  child: ChildProcess;
  ended: Promise<number | string>;
  hasEnded(): boolean;
  output(): string;
}

function launch({ root, dataDir, settings, clockFile }: InstanceOptions, port: number, log: WriteStream): Run {
  const child = spawn(process.execPath, ["--import", CLOCK, join(root, "src/main.ts")], {
    env: {
      ...environmentOf({ HOLDFAST_DATA_DIR: dataDir, PORT: String(port), ...settings }),
      TORTURE_CLOCK_FILE: clockFile,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      log.write(text);
      said = (said + text).slice(-OUTPUT_CHARS_MAX);
    });
  }
  let hasEnded = false;
  const ended = once(child, "close").then(([code, signal]: unknown[]) => {
    hasEnded = true;
    return (code ?? signal) as number | string;
  });
  return { child, ended, hasEnded: () => hasEnded, output: () => said };
}

/** @returns false when it ended first. */
async function isReady(run: Run): Promise<boolean> {
  while (!run.output().includes(READY)) {
    if (run.hasEnded()) return false;
    await delay(READY_POLL_MS);
  }
  return true;
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === "string") throw new Error("no free port");
  return address.port;
}
