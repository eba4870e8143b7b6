import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";

export interface Strace {
  /** Lets the processes go, and waits until the record is complete. */
  stop(): Promise<void>;
}

const ATTACH_MS_MAX = 10_000;

/** Attaches to running processes. With `-f` among the arguments, also to their threads and all that they start. Resolves once it is attached. */
export async function attachStrace(pids: readonly number[], args: readonly string[]): Promise<Strace> {
  const attach = pids.flatMap((pid) => ["-p", String(pid)]);
  const child = spawn("strace", [...args, ...attach], { stdio: ["ignore", "ignore", "pipe"] });
  const ended = once(child, "close");
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (said += text));
  const deadlineMs = performance.now() + ATTACH_MS_MAX;
  while (!said.includes("attached")) {
    if (child.exitCode !== null || performance.now() > deadlineMs) {
      child.kill("SIGKILL");
      throw new Error(`strace does not attach: ${said}`);
    }
    await delay(10);
  }
  return {
    async stop() {
      // It lets go of the traced by itself; a traced process that is gone already has ended it.
      child.kill("SIGINT");
      await ended;
    },
  };
}
