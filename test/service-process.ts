import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findRunningService, type RunningService } from "../src/commands/running-service.ts";
import { SETTINGS } from "../src/config.ts";

const MAIN = join(import.meta.dirname, "../src/main.ts");

/** The service as a process of its own, as people run it. */
export interface ServiceProcess extends RunningService {
  child: ChildProcess;
  /** What it printed so far. */
  output(): string;
  /** Sends the signal and waits for the end. @returns the exit code, or the signal's name. */
  end(signal: NodeJS.Signals): Promise<number | string>;
}

/** A data folder that the embedded server's user can pass through. */
export async function makeDataDir(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-test-"));
  await chmod(folder, 0o711);
  return folder;
}

export async function removeDataDir(dataDir: string): Promise<void> {
  await rm(dataDir, { recursive: true, force: true });
}

export interface SpawnedService {
  child: ChildProcess;
  output(): string;
  ended: Promise<number | string>;
}

/** Starts the process and does not wait. Settings of the machine or of an `.env` do not reach it. */
export function spawnService(dataDir: string, settings: Record<string, string> = {}): SpawnedService {
  const unset = Object.fromEntries(Object.keys(SETTINGS).map((name) => [name, ""]));
  const child = spawn(process.execPath, [MAIN], {
    env: { ...process.env, ...unset, HOLDFAST_DATA_DIR: dataDir, PORT: "0", HOLDFAST_LOG_LEVEL: "warn", ...settings },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let text = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
  const ended = once(child, "close").then(([code, signal]: unknown[]) => (code ?? signal) as number | string);
  return { child, output: () => text, ended };
}

/** Starts the service and waits until it is ready. */
export async function startServiceProcess(
  dataDir: string,
  settings: Record<string, string> = {},
): Promise<ServiceProcess> {
  const { child, output, ended } = spawnService(dataDir, settings);
  const ready = (async () => {
    while (!output().includes("Holdfast is ready")) await once(child.stdout ?? child, "data");
    return "ready" as const;
  })();
  const outcome = await Promise.race([ready, ended]);
  if (outcome !== "ready") throw new Error(`the service ended with ${outcome} while it started:\n${output()}`);
  const running = await findRunningService(dataDir);
  if (running === undefined) throw new Error("the service is ready and wrote no service.json");
  return {
    ...running,
    child,
    output,
    async end(signal) {
      child.kill(signal);
      return ended;
    },
  };
}
