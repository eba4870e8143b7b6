import { execFile } from "node:child_process";
import { readdir, readFile, readlink } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { POSTGRES_QUIT_MS_MAX, POSTGRES_STOP_MS_MAX } from "../limits.ts";

const POLL_MS = 20;
/** After SIGKILL only the kernel has work to do. */
const KILL_MS_MAX = 5_000;

/** What a server writes into its `postmaster.pid`. A crash leaves the file behind, so the pid may be anybody's by now. */
export interface PidFile {
  pid: number;
  socketFolder: string;
  ready: boolean;
}

/** Reads `postmaster.pid` of a cluster; undefined when there is none or it is only half written. */
export async function readPidFile(cluster: string): Promise<PidFile | undefined> {
  const text = await readFile(join(cluster, "postmaster.pid"), "utf8").catch(() => "");
  // Lines: pid, cluster, start time, port, socket folder, TCP address, shared memory key, status.
  const lines = text.split("\n");
  const pid = Number(lines[0]);
  if (!Number.isSafeInteger(pid) || pid <= 1) return undefined;
  return { pid, socketFolder: lines[4] ?? "", ready: lines[7]?.trim() === "ready" };
}

/**
 * The PostgreSQL processes that work in this cluster, the postmaster and its backends alike: each has the cluster as its
 * working directory. macOS shows no working directories; there only the postmaster is found, by its command line.
 *
 * @param cluster a real path, without symbolic links.
 */
export async function serverProcesses(cluster: string): Promise<number[]> {
  if (process.platform !== "linux") return postmastersByCommandLine(cluster);
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name)).map(Number);
  const working = await Promise.all(pids.map(async (pid) => ((await worksIn(pid, cluster)) ? [pid] : [])));
  return working.flat();
}

/** Whether a process is a PostgreSQL that works in this cluster. Zombies and other people's processes are not. */
export async function isServerProcess(pid: number, cluster: string): Promise<boolean> {
  if (process.platform === "linux") return worksIn(pid, cluster);
  return (await postmastersByCommandLine(cluster)).includes(pid);
}

/** How a server ended: there was none, or which of the three steps was needed. */
export type Ending = "none" | "fast" | "immediate" | "killed";

/**
 * Ends every PostgreSQL process that works in this cluster, each step only for what the one before left alive:
 * a fast stop, an immediate stop (the next start recovers; nothing committed is lost), SIGKILL.
 *
 * @throws Error when even SIGKILL leaves one, which only a hanging disk can do.
 */
export async function endServer(cluster: string, stopMsMax = POSTGRES_STOP_MS_MAX): Promise<Ending> {
  const before = await serverProcesses(cluster);
  if (before.length === 0) return "none";
  const postmaster = (await readPidFile(cluster))?.pid;
  // To a backend SIGINT means "cancel the statement": where the postmaster is gone, its backends need the next step.
  if (postmaster !== undefined && before.includes(postmaster)) {
    signal([postmaster], "SIGINT");
    if (await gone(cluster, stopMsMax)) return "fast";
    signal([postmaster], "SIGQUIT");
  } else {
    signal(before, "SIGQUIT");
  }
  if (await gone(cluster, POSTGRES_QUIT_MS_MAX)) return "immediate";
  signal(await serverProcesses(cluster), "SIGKILL");
  if (await gone(cluster, KILL_MS_MAX)) return "killed";
  throw new Error(`PostgreSQL processes in ${cluster} do not end: ${(await serverProcesses(cluster)).join(", ")}`);
}

async function worksIn(pid: number, cluster: string): Promise<boolean> {
  try {
    if ((await readlink(`/proc/${pid}/cwd`)) !== cluster) return false;
    // A shell or an editor may stand in the folder too.
    return (await readFile(`/proc/${pid}/comm`, "utf8")).startsWith("postgres");
  } catch {
    return false;
  }
}

async function postmastersByCommandLine(cluster: string): Promise<number[]> {
  const { stdout } = await promisify(execFile)("ps", ["-axww", "-o", "pid=,command="]);
  return stdout
    .split("\n")
    .filter((line) => line.includes("postgres") && line.includes(` -D ${cluster} `))
    .map((line) => Number(line.trim().split(" ")[0]));
}

async function gone(cluster: string, msMax: number): Promise<boolean> {
  const deadline = performance.now() + msMax;
  while ((await serverProcesses(cluster)).length > 0) {
    if (performance.now() > deadline) return false;
    await delay(POLL_MS);
  }
  return true;
}

function signal(pids: readonly number[], name: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, name);
    } catch {
      // It ended by itself in between.
    }
  }
}
