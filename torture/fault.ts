import type { Random } from "../src/simulator/random.ts";
import type { Load } from "./load.ts";
import type { PostSource } from "./posts.ts";
import type { World, WorldKind } from "./world.ts";

/** A kind of fault. */
export interface Fault {
  name: string;
  /** One sentence for --help. */
  description: string;
  worlds: readonly WorldKind[];
  /** How long it lasts: the least and the most. */
  holdSeconds: readonly [min: number, max: number];
  /** Why it cannot be made on this machine; undefined when it can. */
  unavailable?: () => Promise<string | undefined>;
  /** Prepares one strike of it. */
  strike(context: StrikeContext): Strike;
}

export interface StrikeContext {
  world: World;
  load: Load;
  posts: PostSource;
  /** Of this strike alone, so that its choices depend on the seed and not on what happened before. */
  random: Random;
}

/** One strike. What `inject` began, `heal` ends: after it, everything runs again. */
export interface Strike {
  inject(): Promise<void>;
  heal(): Promise<void>;
  /** What it hit, for the history. Read after `heal`. */
  readonly hit?: string;
  /** What was wrong beyond what the checker looks for. Read after `heal`. */
  readonly problems?: readonly string[];
}

/** The member of a list that a strike hits. */
export function pickOne<T>(random: Random, choices: readonly T[]): T {
  const choice = choices[random.between(0, choices.length - 1)];
  if (choice === undefined) throw new Error("there is nothing to choose from");
  return choice;
}
