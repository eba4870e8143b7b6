import { setTimeout as delay } from "node:timers/promises";
import { PAGE_SIMULATION_SAMPLE_MS, PAGE_SIMULATION_SAMPLES_MAX } from "../limits.ts";
import type { Pool } from "../postgres/pool.ts";

/** What the ledger counted of the simulated source since the run began. */
export interface Figures {
  accepted: number;
  stored: number;
  duplicate: number;
  quarantined: number;
  lost: number;
  retries: number;
  rescued: number;
  exhausted: number;
}

/** A moment of the run: everything since its start. */
export interface Sample {
  atSeconds: number;
  processed: number;
  retries: number;
}

interface Watched {
  figures: Figures;
  samples: Sample[];
}

/** Reads the ledger's own tallies every second and writes what came since the start into the run. */
export async function createFigures(
  pool: Pool,
  source: number,
  run: Watched,
): Promise<{ look: () => Promise<void>; watch: (signal: AbortSignal) => Promise<void> }> {
  const before = await readFigures(pool, source);
  const startedMs = performance.now();
  let every = 1;
  let looked = 0;

  async function look(): Promise<void> {
    const now = await readFigures(pool, source);
    run.figures = since(before, now);
    const { stored, duplicate, quarantined, retries } = run.figures;
    const atSeconds = Math.round((performance.now() - startedMs) / 10) / 100;
    run.samples.push({ atSeconds, processed: stored + duplicate + quarantined, retries });
  }

  async function watch(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      if (looked % every === 0) {
        // The database may be away; the run says so by itself if it stays away.
        await look().catch(() => undefined);
        if (run.samples.length >= PAGE_SIMULATION_SAMPLES_MAX) {
          run.samples = run.samples.filter((_sample, index) => index % 2 === 0);
          every *= 2;
        }
      }
      looked += 1;
      await delay(PAGE_SIMULATION_SAMPLE_MS, undefined, { signal }).catch(() => undefined);
    }
  }

  return { look, watch };
}

async function readFigures(pool: Pool, source: number): Promise<Figures> {
  const { rows } = await pool.query<Figures>(
    `SELECT coalesce(sum(accepted), 0) AS accepted, coalesce(sum(stored), 0) AS stored, coalesce(sum(duplicate), 0) AS duplicate,
       coalesce(sum(quarantined), 0) AS quarantined, coalesce(sum(accepted - stored - duplicate - quarantined), 0) AS lost,
       coalesce(sum(retries), 0) AS retries, coalesce(sum(rescued), 0) AS rescued, coalesce(sum(exhausted), 0) AS exhausted
     FROM tallies WHERE source = $1`,
    [source],
  );
  const [row] = rows;
  if (row === undefined) throw new Error("a sum without a row");
  return row;
}

function since(before: Figures, now: Figures): Figures {
  const difference = (key: keyof Figures): number => now[key] - before[key];
  return {
    accepted: difference("accepted"),
    stored: difference("stored"),
    duplicate: difference("duplicate"),
    quarantined: difference("quarantined"),
    lost: difference("lost"),
    retries: difference("retries"),
    rescued: difference("rescued"),
    exhausted: difference("exhausted"),
  };
}
