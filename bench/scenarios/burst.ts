import pg from "pg";
import { startLoad } from "../load/load.ts";
import { median, percentile } from "../numbers.ts";
import type { Recorder } from "../recorder.ts";
import type { Scenario } from "../scenario.ts";
import { ALL_ROLES, serve } from "../subjects/holdfast.ts";
import { acknowledgedIn } from "../turn.ts";

/** A campaign: SendGrid's servers post on their own connections, each what it has. */
const CUT = { eventsMin: 1, eventsMax: 20, firstEvent: 0 };
const POSTS_PER_SECOND = 500;
const SECONDS = 60;
const CONNECTIONS = 50;
const PROBE_MS = 250;
const COMMITS = 200;
const SUBJECT = "holdfast-all";
const DATABASE = "burst";

const VISIBLE_COMMITS_GOAL = 100;
const VISIBLE_MS_GOAL = 2_000;

export const BURST: Scenario = {
  name: "burst",
  description:
    "500 POSTs a second of 1 to 20 events for 60 s over an idle system: the answer's p99, and when events are visible",
  async run(bench, recorder) {
    const { quick, rounds } = bench.flags;
    const { sampleFile, key } = bench;
    const [postsPerSecond, seconds] = quick ? [100, 3] : [POSTS_PER_SECOND, SECONDS];
    const posts = postsPerSecond * seconds;
    const load = await startLoad({
      sampleFile,
      cut: CUT,
      bytes: Infinity,
      posts,
      doubledOneIn: 10,
      privateKey: key.privateKeyText,
    });
    try {
      for (let round = 0; round < rounds; round += 1) {
        bench.say(`burst, round ${round + 1} of ${rounds}`);
        const databaseUrl = await bench.server.create(DATABASE);
        recorder.add({ subject: "limit-commit", metric: "commit", unit: "ms" }, await commitMs(databaseUrl));
        const service = await serve(bench, { name: "burst", databaseUrl, roles: ALL_ROLES });
        try {
          await bench.server.checkpoint();
          const probe = { url: service.apiUrl, token: service.token, everyMs: PROBE_MS };
          const order = { url: service.url, connections: CONNECTIONS, postsPerSecond, probe };
          const report = await load.run({ ...order, warmUpMs: 0, measureMs: seconds * 1_000 });
          const add = (metric: string, value: number): void =>
            recorder.add({ subject: SUBJECT, metric, unit: "ms" }, value);
          add("p50", report.p50Ms);
          add("p99", report.p99Ms);
          add("visible p50", median(report.visibleMs));
          add("visible p99", percentile(report.visibleMs, 0.99));
          add("visible max", Math.max(...report.visibleMs));
          add("load generator paused, longest", report.pausedMs);
          add("last visible", report.visibleMs.at(-1) ?? Number.NaN);
          const wrong = await service.check(await acknowledgedIn(bench, CUT, report));
          recorder.check("burst: what was acknowledged is kept, once", wrong.length === 0, wrong.join("; "));
          const isVisible = report.visibleMs.length > 0 && report.visibleMs.every(Number.isFinite);
          recorder.check("burst: every event that was looked for became visible", isVisible);
        } finally {
          await service.stop();
          await bench.server.drop(DATABASE);
        }
      }
    } finally {
      await load.stop();
    }
    compare(recorder);
  },
};

/** One connection, one row, one commit: the median of many. */
async function commitMs(databaseUrl: string): Promise<number> {
  const client = new pg.Client({ connectionString: databaseUrl, options: "-c synchronous_commit=on" });
  await client.connect();
  try {
    await client.query("CREATE TABLE commits (number integer)");
    const times: number[] = [];
    for (let number = 0; number < COMMITS; number += 1) {
      const startMs = performance.now();
      await client.query("INSERT INTO commits VALUES ($1)", [number]);
      times.push(performance.now() - startMs);
    }
    await client.query("DROP TABLE commits");
    return median(times);
  } finally {
    await client.end();
  }
}

function compare(recorder: Recorder): void {
  const commit = { subject: "limit-commit", metric: "commit" };
  recorder.ratio({
    name: "visible after the answer, median / one commit",
    metric: "visible p50",
    of: SUBJECT,
    to: commit,
    goal: { direction: "at most", value: VISIBLE_COMMITS_GOAL },
  });
  recorder.ratio({ name: "p99 of the answer / one commit", metric: "p99", of: SUBJECT, to: commit });
  const longest = { subject: SUBJECT, metric: "visible max", unit: "ms" };
  recorder.goal("visible after the answer, longest", longest, { direction: "at most", value: VISIBLE_MS_GOAL });
}
