import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { createRandom } from "../src/simulator/random.ts";
import { checkWorld, type Verdict } from "./check.ts";
import type { Fault } from "./fault.ts";
import { createHistory, type History } from "./history.ts";
import { createLoad, type Load } from "./load.ts";
import type { Act, PlannedStrike } from "./plan.ts";
import { createPostSource, type PostSource } from "./posts.ts";
import { startReader } from "./reader.ts";
import { settle } from "./settle.ts";
import { startWorld, type World } from "./world.ts";

export interface ActOptions {
  act: Act;
  faults: readonly Fault[];
  /** The checkout, or a changed copy of it. */
  root: string;
  /** Gets the history and the services' output; made when it is not there. */
  outFolder: string;
  /** POSTs a second, and events in each. */
  postsPerSecond: number;
  batch: number;
  /** How long what does not move may stand still at the end. */
  stillMsMax?: number;
  onLine?: (line: string) => void;
  signal?: AbortSignal;
}

export interface ActReport extends Verdict {
  act: Act;
  posts: { invoked: number; acknowledged: number; refused: number; broken: number };
  strikes: number;
}

const SENDERS = 8;
const WARM_UP_POSTS = 20;
/** After the last fault every POST must be acknowledged within this. */
const FINISH_MS_MAX = 120_000;

/** Plays one act: a world under load, one strike after the other, then rest, then the checks. */
export async function runAct(options: ActOptions): Promise<ActReport> {
  const { act, root, outFolder, onLine = () => undefined } = options;
  const folder = join(outFolder, act.world);
  await mkdir(folder, { recursive: true });
  const history = createHistory(join(folder, "history.jsonl"));
  const seconds = act.strikes.reduce((sum, { holdMs, restMs }) => sum + (holdMs + restMs) / 1000, 60);
  const posts = createPostSource({
    seed: act.seed,
    batch: options.batch,
    events: Math.ceil(seconds * options.postsPerSecond * options.batch * 2),
  });
  const world = await startWorld({ kind: act.world, root, logFolder: folder });
  const load = createLoad({
    posts,
    targets: world.instances,
    privateKey: world.privateKey,
    history,
    seed: act.seed,
    senders: SENDERS,
    postsPerSecond: options.postsPerSecond,
    onNews: (event) => world.api.record(event),
  });
  const reader = startReader(world, load, history);
  const problems: string[] = [];
  try {
    const warm = load.answers(WARM_UP_POSTS);
    load.start();
    await warm;
    for (const planned of act.strikes) {
      if (options.signal?.aborted === true) break;
      problems.push(...(await strike({ planned, options, world, load, posts, history, onLine })));
    }
    onLine(`${act.world}: all faults are over; waiting for rest`);
    const late = await load.finish(FINISH_MS_MAX);
    if (late > 0) problems.push(`${late} POSTs were not acknowledged ${FINISH_MS_MAX / 1000} s after the last fault`);
    problems.push(...(await settle(world, options.stillMsMax === undefined ? {} : { stillMsMax: options.stillMsMax })));
    await reader.stop();
    const isSpoolPromised = act.world !== "small-disk";
    const verdict = await checkWorld({ world, posts, load, history, isSpoolPromised, visibleAtMs: reader.visibleAtMs });
    return {
      ...verdict,
      act,
      problems: [...problems, ...verdict.problems],
      posts: countPosts(history),
      strikes: act.strikes.length,
    };
  } finally {
    await load.stop();
    await reader.stop();
    await world.stop();
    await history.close();
  }
}

interface StrikeOptions {
  planned: PlannedStrike;
  options: ActOptions;
  world: World;
  load: Load;
  posts: PostSource;
  history: History;
  onLine: (line: string) => void;
}

/** @returns what was wrong with this strike, beyond what the checks at the end look for. */
async function strike({ planned, options, world, load, posts, history, onLine }: StrikeOptions): Promise<string[]> {
  const fault = options.faults.find(({ name }) => name === planned.fault);
  if (fault === undefined) throw new Error(`there is no fault ${planned.fault}`);
  const own = fault.strike({ world, load, posts, random: createRandom(planned.seed) });
  const note = (value: string): void => history.note({ type: "info", process: "nemesis", f: "fault", value });
  const startedMs = performance.now();
  note(`inject ${fault.name}`);
  await own.inject();
  await delay(planned.holdMs);
  note(`heal ${fault.name}`);
  await own.heal();
  note(`healed ${fault.name}${own.hit === undefined ? "" : `: ${own.hit}`}`);
  const tookSeconds = ((performance.now() - startedMs) / 1000).toFixed(1);
  onLine(`${world.kind}: ${fault.name.padEnd(18)} ${tookSeconds.padStart(5)} s  ${own.hit ?? ""}`);
  await delay(planned.restMs);
  return (own.problems ?? []).map((problem) => `${fault.name}: ${problem}`);
}

function countPosts(history: History): ActReport["posts"] {
  const counts = { invoked: 0, acknowledged: 0, refused: 0, broken: 0 };
  for (const { f, type, status } of history.operations) {
    if (f !== "post") continue;
    if (type === "invoke") counts.invoked += 1;
    else if (type === "ok") counts.acknowledged += 1;
    else if (status === undefined) counts.broken += 1;
    else counts.refused += 1;
  }
  return counts;
}
