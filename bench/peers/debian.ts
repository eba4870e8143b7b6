import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { access, constants } from "node:fs/promises";
import type { Account } from "../../src/postgres/embedded-account.ts";
import { killAtEnd } from "../ending.ts";

/** What the Debian peers are made of: programs that are started, watched until they are ready, and ended with all their children. */

export interface Program {
  pid: number;
  output(): string;
  stop(): Promise<void>;
}

export interface ProgramOptions {
  file: string;
  args: readonly string[];
  cwd: string;
  env?: Readonly<Record<string, string>>;
  account?: Account | undefined;
  /** What it prints when it can be used; undefined: it is not waited for. */
  ready?: RegExp;
  /** How it is asked to end. */
  stopSignal?: NodeJS.Signals;
}

const START_MS_MAX = 60_000;
const STOP_MS_MAX = 10_000;
const OUTPUT_CHARS_MAX = 20_000;

/** Starts a program in a process group of its own, and waits until it is ready. */
export async function startProgram(options: ProgramOptions): Promise<Program> {
  const { file, args, cwd, env = {}, account, ready, stopSignal = "SIGTERM" } = options;
  const child = spawn(file, [...args], {
    ...account,
    cwd,
    env: { PATH: "/usr/bin:/bin", LC_ALL: "C.UTF-8", TZ: "UTC", ...env },
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => (output = (output + text).slice(-OUTPUT_CHARS_MAX)));
  const ended = once(child, "close").then(([code, signal]: unknown[]) => String(signal ?? code));
  const forget = killAtEnd(() => killGroup(child));
  const stop = async (): Promise<void> => {
    await endGroup(child, stopSignal);
    forget();
  };
  const program = { pid: child.pid ?? 0, output: () => output, stop };
  if (ready === undefined) return program;
  const deadlineMs = performance.now() + START_MS_MAX;
  while (!ready.test(output)) {
    const how = await Promise.race([ended, after(50)]);
    if (how === undefined && performance.now() < deadlineMs) continue;
    await program.stop();
    throw new Error(`${file} ${args.join(" ")} does not start (${how ?? "not ready in time"}):\n${output}`);
  }
  return program;
}

/** Runs a program to its end. @throws Error with its output when it fails. */
export async function runProgram(options: Omit<ProgramOptions, "ready" | "stopSignal">): Promise<void> {
  const { file, args, cwd, env = {}, account } = options;
  const child = spawn(file, [...args], {
    ...account,
    cwd,
    env: { PATH: "/usr/bin:/bin", LC_ALL: "C.UTF-8", TZ: "UTC", ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => (output += text));
  const [code] = (await once(child, "close")) as [number | null];
  if (code !== 0) throw new Error(`${file} ${args.join(" ")} failed:\n${output}`);
}

export async function isThere(file: string): Promise<boolean> {
  return access(file, constants.X_OK).then(
    () => true,
    () => false,
  );
}

async function endGroup(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) {
    const ended = once(child, "exit").then(() => "ended");
    child.kill(signal);
    await Promise.race([ended, after(STOP_MS_MAX)]);
  }
  // Workers that outlived their master are in its group.
  killGroup(child);
}

function killGroup(child: ChildProcess): void {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
  } catch {
    // None is left.
  }
}

async function after(ms: number): Promise<undefined> {
  await new Promise<void>((resolve) => setTimeout(resolve, ms));
  return undefined;
}
