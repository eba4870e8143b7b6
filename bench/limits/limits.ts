import { join } from "node:path";
import { APPEND_GROUP_BYTES_MAX, APPEND_GROUP_ROWS_MAX } from "../../src/limits.ts";
import { startChild } from "../child.ts";
import type { Bench } from "../context.ts";
import type { Cut } from "../load/posts.ts";
import type { AppendAnswer, AppendOrder } from "./append-process.ts";
import type { VerifyAnswer, VerifyOrder } from "./verify-process.ts";

/** Bodies kept ready for the limits. */
const BODY_BYTES = 200e6;
const DATABASE = "limit_append";

export interface Rate {
  postsPerSecond: number;
  eventsPerSecond: number;
}

/**
 * Limit (a). One body for each commit, and groups as large as the intake's: the faster of the two is the limit, since a
 * slower way to do it would be an easier goal.
 */
export async function appendLimit(
  bench: Bench,
  cut: Cut,
  measureMs: number,
): Promise<{ single: Rate; grouped: Rate; best: Rate }> {
  const databaseUrl = await bench.server.create(DATABASE);
  const child = await startChild<AppendOrder, AppendAnswer>(join(import.meta.dirname, "append-process.ts"));
  const measure = async (rowsMax: number): Promise<Rate> => {
    await bench.server.checkpoint();
    const bytesMax = APPEND_GROUP_BYTES_MAX;
    const { sampleFile } = bench;
    return rateOf(
      await child.ask({ sampleFile, cut, databaseUrl, rowsMax, bytesMax, measureMs, bodyBytes: BODY_BYTES }),
    );
  };
  try {
    const single = await measure(1);
    const grouped = await measure(APPEND_GROUP_ROWS_MAX);
    return { single, grouped, best: single.eventsPerSecond > grouped.eventsPerSecond ? single : grouped };
  } finally {
    await child.stop();
    await bench.server.drop(DATABASE);
  }
}

/** Limit (c). */
export async function verifyLimit(bench: Bench, cut: Cut, measureMs: number): Promise<Rate> {
  const child = await startChild<VerifyOrder, VerifyAnswer>(join(import.meta.dirname, "verify-process.ts"));
  try {
    return rateOf(await child.ask({ sampleFile: bench.sampleFile, cut, measureMs }));
  } finally {
    await child.stop();
  }
}

function rateOf({ seconds, posts, events }: { seconds: number; posts: number; events: number }): Rate {
  return { postsPerSecond: posts / seconds, eventsPerSecond: events / seconds };
}
