import { setTimeout as delay } from "node:timers/promises";
import { createRandom } from "../../src/simulator/random.ts";
import { checkWorld, type Verdict } from "../../torture/check.ts";
import type { Strike } from "../../torture/fault.ts";
import { FAULTS } from "../../torture/faults/all.ts";
import { createHistory, type History } from "../../torture/history.ts";
import { createLoad, type Load } from "../../torture/load.ts";
import type { Answer } from "../../torture/post-client.ts";
import { createPostSource, type PostSource } from "../../torture/posts.ts";
import { settle } from "../../torture/settle.ts";
import { ROOT, startWorld, type World, type WorldOptions } from "../../torture/world.ts";

/** One world of the torture harness for the tests of a file: each test lets it suffer one fault, and checks everything. */
export interface Stage {
  world: World;
  posts: PostSource;
  /** Runs the load, strikes under it, heals, brings all to rest and checks it. */
  suffers(fault: string, hold?: Hold): Promise<Suffered>;
  /** A load that is not started, for POSTs made by hand. */
  newLoad(): Load;
  /** Brings all to rest and checks it. */
  verdict(load: Load): Promise<Verdict>;
  stop(): Promise<void>;
}

/** How long a fault lasts: until so many more answers of any kind have come, or some time where none can come. */
export type Hold = { answers: number } | { ms: number };

export interface Suffered {
  /** Empty: nothing is wrong, and the fault did strike. */
  problems: string[];
  /** What the senders heard between the strike and its end. */
  during: Answer[];
  strike: Strike;
}

const HOLD: Hold = { answers: 15 };
const SEED = "short";
const EVENTS = 30_000;
const BATCH = 6;
const POSTS_PER_SECOND = 60;
const WARM_UP_POSTS = 5;
const AFTER_POSTS = 10;
const FINISH_MS_MAX = 45_000;

export async function startStage(options: Omit<WorldOptions, "root">): Promise<Stage> {
  const world = await startWorld({ root: ROOT, durable: false, ...options });
  const posts = createPostSource({ seed: SEED, events: EVENTS, batch: BATCH });
  const history = createHistory();
  const acknowledged: Load["acknowledged"][number][] = [];
  const newLoad = (): Load => makeLoad(world, posts, history);

  async function verdict(load: Load): Promise<Verdict> {
    const late = await load.finish(FINISH_MS_MAX);
    acknowledged.push(...load.acknowledged);
    const { forgedAccepted } = load;
    await load.stop();
    const stuck = await settle(world, { isApiAwaited: false });
    if (late > 0) stuck.push(`${late} POSTs were never acknowledged`);
    const found = await checkWorld({
      world,
      posts,
      load: { acknowledged, forgedAccepted },
      history,
      visibleAtMs: new Map(),
      isSpoolPromised: world.kind !== "small-disk",
      isVerified: false,
    });
    return { ...found, problems: [...stuck, ...found.problems] };
  }

  return {
    world,
    posts,
    newLoad,
    verdict,
    async suffers(name, hold = HOLD) {
      const load = newLoad();
      const fault = FAULTS.find((candidate) => candidate.name === name);
      if (fault === undefined) throw new Error(`there is no fault ${name}`);
      const strike = fault.strike({ world, load, posts, random: createRandom(`${SEED} ${name}`) });
      try {
        const warm = load.answers(WARM_UP_POSTS);
        load.start();
        await warm;
        const during: Answer[] = [];
        let isDuring = true;
        void load.answers(Infinity, (answer) => {
          if (isDuring) during.push(answer);
          return false;
        });
        const held = "answers" in hold ? load.answers(hold.answers) : undefined;
        await strike.inject();
        await (held ?? delay("ms" in hold ? hold.ms : 0));
        isDuring = false;
        await strike.heal();
        await load.answers(AFTER_POSTS, ({ type }) => type === "ok");
        const { problems } = await verdict(load);
        return { problems: [...(strike.problems ?? []), ...problems], during, strike };
      } finally {
        await load.stop();
      }
    },
    stop: () => world.stop(),
  };
}

function makeLoad(world: World, posts: PostSource, history: History): Load {
  return createLoad({
    posts,
    targets: world.instances,
    privateKey: world.privateKey,
    history,
    seed: SEED,
    senders: 6,
    postsPerSecond: POSTS_PER_SECOND,
    onNews: (event) => world.api.record(event),
  });
}
