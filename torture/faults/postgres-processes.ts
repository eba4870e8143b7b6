import { setTimeout as delay } from "node:timers/promises";
import type { Fault, StrikeContext } from "../fault.ts";
import type { World } from "../world.ts";
import { signalProcess } from "./signals.ts";

const WAIT_MS_MAX = 60_000;
const POLL_MS = 10;

/** The postmaster, once there is one: the fault before this may just have ended it. */
async function postmasterOf(world: World): Promise<number> {
  const deadlineMs = performance.now() + WAIT_MS_MAX;
  for (;;) {
    const { postmaster } = await world.server();
    if (postmaster !== undefined) return postmaster;
    if (performance.now() > deadlineMs) throw new Error("PostgreSQL is not running, and nobody starts it");
    await delay(POLL_MS);
  }
}

/** Whoever supervises PostgreSQL starts it again. Healed means that it answers. */
async function untilAnswering({ world }: Pick<StrikeContext, "world">): Promise<void> {
  await world.ask("SELECT 1");
}

/** Kill -9 of the postmaster: its backends go on for a moment without it. */
export const killPostmaster: Fault = {
  name: "kill-postmaster",
  description: "kill -9 of the postmaster",
  worlds: ["embedded", "shared"],
  holdSeconds: [0.5, 3],
  strike: (context) => ({
    async inject() {
      signalProcess(await postmasterOf(context.world), "SIGKILL");
    },
    heal: () => untilAnswering(context),
  }),
};

/** An immediate stop, as `pg_ctl stop -m immediate` makes it: no checkpoint, so the next start recovers. */
export const stopImmediate: Fault = {
  name: "stop-immediate",
  description: "an immediate stop of PostgreSQL, as pg_ctl stop -m immediate",
  worlds: ["embedded", "shared"],
  holdSeconds: [0.5, 3],
  strike: (context) => ({
    async inject() {
      signalProcess(await postmasterOf(context.world), "SIGQUIT");
    },
    heal: () => untilAnswering(context),
  }),
};

/** First some backends are asked to go, then one is killed: PostgreSQL then ends all others and recovers. */
export const killBackend: Fault = {
  name: "kill-backend",
  description: "pg_terminate_backend of some backends, then kill -9 of one",
  worlds: ["embedded", "shared"],
  holdSeconds: [0.5, 3],
  strike: (context) => {
    const { world, random } = context;
    const shares = [random.next(), random.next(), random.next()];
    const clients = async (): Promise<number[]> => {
      const rows = await world.ask<{ pid: number }>(
        `SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND application_name = 'holdfast' ORDER BY pid`,
      );
      return rows.map(({ pid }) => pid);
    };
    const pickedFrom = (pids: readonly number[], share: number): number | undefined =>
      pids[Math.floor(share * pids.length)];
    return {
      async inject() {
        const pids = await clients();
        const [first, second, third] = shares.map((share) => pickedFrom(pids, share));
        await world.ask("SELECT pg_terminate_backend(pid) FROM unnest($1::int[]) AS pid", [[first ?? 0, second ?? 0]]);
        const target = third !== first && third !== second ? third : pickedFrom(await clients(), 0.5);
        if (target !== undefined) signalProcess(target, "SIGKILL");
      },
      heal: () => untilAnswering(context),
    };
  },
};
