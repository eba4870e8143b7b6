import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { environmentOf } from "../../src/config.ts";
import { killAtEnd } from "../ending.ts";

export const ROOT = join(import.meta.dirname, "../..");

export interface ServiceOptions {
  /** The checkout; another one can be compared with this. */
  root: string;
  dataDir: string;
  databaseUrl: string;
  roles: string;
  publicKey: string;
  settings: Readonly<Record<string, string>>;
  /** For Node itself: `--cpu-prof`. */
  nodeArgs: readonly string[];
}

/** Holdfast as a process of its own, as people run it. */
export interface Service {
  url: string;
  pid: number;
  /** Of an admin, for the API. */
  token: string;
  /** Log lines of errors so far. */
  errors(): string[];
  stop(): Promise<void>;
}

const READY = "Holdfast is ready";
const START_MS_MAX = 120_000;
const STOP_MS_MAX = 60_000;
const ERROR_LEVEL = 50;
const ADMIN_TOKEN = "bench-admin-token-of-a-throwaway-database";

export async function startService(options: ServiceOptions): Promise<Service> {
  const { root, dataDir, databaseUrl, roles, publicKey, settings, nodeArgs } = options;
  await mkdir(dataDir, { recursive: true });
  const own = {
    DATABASE_URL: databaseUrl,
    HOLDFAST_DATA_DIR: dataDir,
    HOLDFAST_ROLES: roles,
    HOLDFAST_LOG_LEVEL: "warn",
    HOLDFAST_ADMIN_TOKEN: ADMIN_TOKEN,
    SENDGRID_WEBHOOK_PUBLIC_KEY: publicKey,
    PORT: "0",
  };
  // The benchmark itself is started with what the service is started with.
  const child = spawn(process.execPath, [...process.execArgv, ...nodeArgs, join(root, "src/main.ts")], {
    env: { ...environmentOf(own), ...settings },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => (output += text));
  const forget = killAtEnd(() => child.kill("SIGKILL"));
  const ended = once(child, "close").then(([code, signal]: unknown[]) => {
    forget();
    return String(signal ?? code);
  });
  const ready = (async () => {
    while (!output.includes(READY)) await once(child.stdout, "data");
    return undefined;
  })();
  const deadline = timer(START_MS_MAX, "not ready in time");
  const failure = await Promise.race([ready, ended, deadline.passed]);
  deadline.clear();
  if (failure !== undefined) {
    child.kill("SIGKILL");
    throw new Error(`Holdfast does not start (${failure}):\n${output}`);
  }
  const { url } = JSON.parse(await readFile(join(dataDir, "service.json"), "utf8")) as { url: string };
  return {
    url,
    pid: child.pid ?? 0,
    token: ADMIN_TOKEN,
    errors: () => output.split("\n").filter(isError),
    async stop() {
      child.kill("SIGTERM");
      const patience = timer(STOP_MS_MAX, "hangs");
      const how = await Promise.race([ended, patience.passed]);
      patience.clear();
      if (how === "hangs") child.kill("SIGKILL");
      await ended;
      await rm(dataDir, { recursive: true, force: true });
      if (how !== "0") throw new Error(`Holdfast ended with ${how}:\n${output.slice(-5_000)}`);
    },
  };
}

function timer(ms: number, word: string): { passed: Promise<string>; clear(): void } {
  let id: NodeJS.Timeout | undefined;
  const passed = new Promise<string>((resolve) => {
    id = setTimeout(() => resolve(word), ms);
  });
  return { passed, clear: () => clearTimeout(id) };
}

function isError(line: string): boolean {
  try {
    return Number((JSON.parse(line) as { level?: unknown }).level) >= ERROR_LEVEL;
  } catch {
    return false;
  }
}
