import { setTimeout as delay } from "node:timers/promises";
import type { Fault } from "../fault.ts";
import { attachStrace, type Strace } from "./strace.ts";
import { straceUnavailable } from "./tools.ts";

const PANIC_MS_MAX = 30_000;
const POLL_MS = 50;

/**
 * The disk fails a write: fsync answers EIO once in every process that PostgreSQL has. It must not believe the next fsync, so
 * it panics, and recovers from its log. Whoever waited for that commit must not hear that it happened.
 */
export const fsyncEio: Fault = {
  name: "fsync-eio",
  description: "fsync answers EIO to PostgreSQL, which panics and recovers",
  worlds: ["embedded", "shared"],
  holdSeconds: [2, 8],
  unavailable: straceUnavailable,
  strike({ world, random }) {
    const which = random.between(1, 6);
    let strace: Strace | undefined;
    let before = new Set<number>();
    const problems: string[] = [];
    /** A panic ends every process that PostgreSQL had. */
    const hasPanicked = async (): Promise<boolean> => {
      const { others } = await world.server();
      return !others.some((pid) => before.has(pid));
    };
    return {
      async inject() {
        const { postmaster, others } = await world.server();
        before = new Set(others);
        const inject = `inject=fsync,fdatasync:error=EIO:when=${which}`;
        const pids = [...(postmaster === undefined ? [] : [postmaster]), ...others];
        strace = await attachStrace(pids, ["-e", "trace=fsync,fdatasync", "-e", inject, "-o", "/dev/null"]);
      },
      async heal() {
        const deadlineMs = performance.now() + PANIC_MS_MAX;
        while (!(await hasPanicked()) && performance.now() < deadlineMs) await delay(POLL_MS);
        if (!(await hasPanicked())) problems.push("PostgreSQL did not panic: the fault did not strike");
        await strace?.stop();
        await world.ask("SELECT 1");
      },
      hit: `fsync number ${which} of each process`,
      problems,
    };
  },
};
