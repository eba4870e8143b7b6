import { join } from "node:path";
import { startChild } from "../child.ts";
import type { Answer, LoadReport, Order, Prepared, PrepareOrder, RunOrder } from "./orders.ts";

/** A load generator with its bodies made. */
export interface Load {
  /** POSTs that are ready. */
  posts: number;
  run(order: Omit<RunOrder, "kind">): Promise<LoadReport>;
  stop(): Promise<void>;
}

export async function startLoad(order: Omit<PrepareOrder, "kind">): Promise<Load> {
  const child = await startChild<Order, Answer>(join(import.meta.dirname, "process.ts"));
  try {
    const { posts } = await child.ask<Prepared>({ kind: "prepare", ...order });
    return {
      posts,
      run: async (run) => child.ask<LoadReport>({ kind: "run", ...run }),
      stop: async () => child.stop(),
    };
  } catch (error) {
    await child.stop();
    throw error;
  }
}
