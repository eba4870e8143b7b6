import { createRandom } from "../src/simulator/random.ts";
import type { Fault } from "./fault.ts";
import { WORLD_KINDS, type WorldKind } from "./world.ts";

/** One strike of a plan. */
export interface PlannedStrike {
  fault: string;
  holdMs: number;
  /** The rest after it, before the next. */
  restMs: number;
  /** Makes the strike's own choices. */
  seed: string;
}

export interface Act {
  world: WorldKind;
  /** Of the traffic in this world. */
  seed: string;
  strikes: PlannedStrike[];
}

export interface PlanOptions {
  faults: readonly Pick<Fault, "name" | "worlds" | "holdSeconds">[];
  seed: string;
  minutes: number;
}

/** What a strike costs beside its own time: restarts, and the recovery of PostgreSQL. */
const OVERHEAD_MS = 2_500;
const REST_MS_MIN = 800;
const REST_MS_MAX = 2_500;

/**
 * Plans a run: worlds one after the other, and in each the faults that it can have, again and again in a new order, until
 * its share of the time is used up. Each fault strikes at least once, however short the run. The same seed, minutes and
 * faults give the same plan.
 */
export function planRun(options: PlanOptions): Act[] {
  const { faults, seed, minutes } = options;
  const shares = assign(faults);
  const total = [...shares.values()].reduce((sum, own) => sum + own.length, 0);
  return [...shares].map(([world, own]) => {
    const budgetMs = (minutes * 60_000 * own.length) / total;
    return { world, seed: `${seed} ${world}`, strikes: planStrikes(own, `${seed} ${world}`, budgetMs) };
  });
}

type Plannable = PlanOptions["faults"][number];

/** A fault that several worlds can have strikes in each of them. */
function assign(faults: readonly Plannable[]): Map<WorldKind, Plannable[]> {
  const shares = new Map<WorldKind, Plannable[]>();
  for (const world of WORLD_KINDS) {
    const own = faults.filter(({ worlds }) => worlds.includes(world));
    if (own.length > 0) shares.set(world, own);
  }
  return shares;
}

function planStrikes(faults: readonly Plannable[], seed: string, budgetMs: number): PlannedStrike[] {
  const random = createRandom(`${seed} plan`);
  const strikes: PlannedStrike[] = [];
  // A short run has short strikes, so that all faults find a place in it.
  const meanMs = faults.reduce((sum, { holdSeconds: [min, max] }) => sum + (min + max) * 500, 0) / faults.length;
  const scale = Math.min(1, Math.max(0, budgetMs / faults.length - OVERHEAD_MS - REST_MS_MAX) / meanMs);
  for (let usedMs = 0; usedMs < budgetMs || strikes.length < faults.length;) {
    const left = [...faults];
    while (left.length > 0 && (usedMs < budgetMs || strikes.length < faults.length)) {
      const [fault] = left.splice(random.between(0, left.length - 1), 1);
      if (fault === undefined) break;
      const [min, max] = fault.holdSeconds;
      const holdMs = Math.round((min + (max - min) * random.next() * scale) * 1000);
      const restMs = random.between(REST_MS_MIN, REST_MS_MAX);
      strikes.push({ fault: fault.name, holdMs, restMs, seed: `${seed} ${strikes.length} ${fault.name}` });
      usedMs += holdMs + restMs + OVERHEAD_MS;
    }
  }
  return strikes;
}
