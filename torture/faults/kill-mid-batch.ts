import { setTimeout as delay } from "node:timers/promises";
import type { Fault } from "../fault.ts";
import type { Instance } from "../instance.ts";
import type { World } from "../world.ts";

const WAIT_MS_MAX = 15_000;

/** Of several services, kill -9 of one that is inside a transaction: what it had claimed is the others' to file. */
export const killMidBatch: Fault = {
  name: "kill-mid-batch",
  description: "kill -9 of one of several services inside a transaction",
  worlds: ["shared"],
  holdSeconds: [1, 6],
  strike({ world, random }) {
    const first = random.between(0, world.instances.length - 1);
    const problems: string[] = [];
    let victim: Instance | undefined;
    return {
      async inject() {
        victim = await oneInTransaction(world, first);
        if (victim === undefined) problems.push("no service was seen inside a transaction: the fault did not strike");
        await victim?.end("SIGKILL");
      },
      async heal() {
        await victim?.start();
      },
      get hit() {
        return victim?.name ?? "none";
      },
      problems,
    };
  },
};

/** The first one seen, looking at each in turn from `first` on. */
async function oneInTransaction(world: World, first: number): Promise<Instance | undefined> {
  const deadlineMs = performance.now() + WAIT_MS_MAX;
  while (performance.now() < deadlineMs) {
    for (let turn = 0; turn < world.proxies.length; turn += 1) {
      const at = (first + turn) % world.proxies.length;
      if (world.proxies[at]?.isInTransaction() === true) return world.instances[at];
    }
    // Not even a timer of a millisecond: a transaction lasts only a few of them.
    await delay(0);
  }
  return undefined;
}
