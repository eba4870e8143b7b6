import type { Bench } from "../context.ts";
import { appendLimit, verifyLimit } from "../limits/limits.ts";
import { connectionsFor, intakeLoad } from "../load/intake-load.ts";
import { startLoad, type Load } from "../load/load.ts";
import type { LoadReport } from "../load/orders.ts";
import type { Cut } from "../load/posts.ts";
import { findPeers } from "../peers/peers.ts";
import type { Recorder } from "../recorder.ts";
import type { Scenario } from "../scenario.ts";
import { BARE_HTTP } from "../subjects/bare-http.ts";
import { ALL_ROLES, holdfast } from "../subjects/holdfast.ts";
import type { Subject } from "../subjects/subject.ts";
import { takeTurn } from "../turn.ts";

/** Against the whole Django system: intake alone, and all roles together. */
const GOALS: Readonly<Record<number, { alone: number; all: number }>> = {
  1: { alone: 22, all: 10 },
  10: { alone: 110, all: 40 },
  100: { alone: 380, all: 70 },
  500: { alone: 500, all: 80 },
};
const EXPRESS_GOAL = 8;
const APPEND_GOAL = 0.6;
const P99_GOAL = 1 / 20;

interface Times {
  warmUpMs: number;
  measureMs: number;
}

export const INTAKE: Scenario = {
  name: "intake",
  description: "signed POSTs of 1, 10, 100 and 500 events, one in ten sent twice at once: acknowledged events a second",
  async run(bench, recorder) {
    const subjects = [
      holdfast(bench, { name: "holdfast-intake", label: "Holdfast, intake alone", roles: "intake" }),
      holdfast(bench, { name: "holdfast-all", label: "Holdfast, all roles", roles: ALL_ROLES }),
      ...(await findPeers(bench, recorder)),
      BARE_HTTP,
    ];
    for (const batch of bench.flags.batches) await runBatch(bench, recorder, batch, subjects);
  },
};

async function runBatch(bench: Bench, recorder: Recorder, batch: number, subjects: readonly Subject[]): Promise<void> {
  const order = intakeLoad(bench, batch);
  const load = await startLoad(order);
  try {
    for (let round = 0; round < bench.flags.rounds; round += 1) {
      bench.say(`intake, ${batch} events per POST, round ${round + 1} of ${bench.flags.rounds}`);
      await runRound(bench, recorder, { batch, cut: order.cut, load, subjects });
    }
  } finally {
    await load.stop();
  }
  compare(recorder, batch);
}

async function runRound(
  bench: Bench,
  recorder: Recorder,
  round: { batch: number; cut: Cut; load: Load; subjects: readonly Subject[] },
): Promise<void> {
  const { batch, cut, load, subjects } = round;
  const inCase = `B=${batch}`;
  const connections = connectionsFor(batch);
  const reports = new Map<string, LoadReport>();
  for (const subject of subjects) {
    const order = { connections, ...timesOf(bench, subject, batch) };
    reports.set(subject.name, await takeTurn({ bench, recorder, subject, load, cut, inCase, order }));
  }
  const django = reports.get("django");
  if (django !== undefined) {
    // The same offered load: what the Django system just managed.
    const postsPerSecond = django.posts / django.seconds;
    const subject = holdfast(bench, {
      name: "holdfast-at-django",
      label: "Holdfast at Django's load",
      roles: "intake",
    });
    const order = { connections, postsPerSecond, ...timesOf(bench, subject, batch) };
    await takeTurn({ bench, recorder, subject, load, cut, inCase, order });
  }
  const { measureMs } = timesOf(bench, BARE_HTTP, batch);
  const append = await appendLimit(bench, cut, measureMs / 2);
  const eventsOf = (subject: string): { subject: string; case: string; metric: string; unit: string } => ({
    subject,
    case: inCase,
    metric: "events",
    unit: "events/s",
  });
  recorder.add(eventsOf("limit-append-single"), append.single.eventsPerSecond);
  recorder.add(eventsOf("limit-append-grouped"), append.grouped.eventsPerSecond);
  recorder.add(eventsOf("limit-append"), append.best.eventsPerSecond);
  const verify = await verifyLimit(bench, cut, measureMs / 4);
  recorder.add({ ...eventsOf("limit-verify"), metric: "posts", unit: "POSTs/s" }, verify.postsPerSecond);
  recorder.add(eventsOf("limit-verify"), verify.eventsPerSecond);
}

/** A peer that takes seconds for one POST needs a longer window for its figure to mean something. */
function timesOf(bench: Bench, subject: Subject, batch: number): Times {
  const { quick, seconds = quick ? 1 : 10 } = bench.flags;
  const isSlow = ["django", "anymail", "express"].includes(subject.name);
  const factor = isSlow && !quick && batch >= 10 ? 3 : 1;
  return { warmUpMs: quick ? 500 : 3_000 * factor, measureMs: seconds * 1_000 * factor };
}

function compare(recorder: Recorder, batch: number): void {
  const inCase = { case: `B=${batch}`, metric: "events" };
  const goal = GOALS[batch];
  const atLeast = (value: number | undefined): { goal?: { direction: "at least"; value: number } } =>
    value === undefined ? {} : { goal: { direction: "at least", value } };
  const [alone, all] = ["holdfast-intake", "holdfast-all"] as const;
  recorder.ratio({ ...inCase, name: "intake alone / Django system", of: alone, to: "django", ...atLeast(goal?.alone) });
  recorder.ratio({ ...inCase, name: "all roles / Django system", of: all, to: "django", ...atLeast(goal?.all) });
  recorder.ratio({ ...inCase, name: "intake alone / anymail in front of it", of: alone, to: "anymail" });
  recorder.ratio({ ...inCase, name: "intake alone / Express", of: alone, to: "express", ...atLeast(EXPRESS_GOAL) });
  recorder.ratio({ ...inCase, name: "all roles / Express", of: all, to: "express" });
  recorder.ratio({
    ...inCase,
    metric: "p99",
    name: "p99 at Django's load / Django's p99",
    of: "holdfast-at-django",
    to: "django",
    goal: { direction: "at most", value: P99_GOAL },
  });
  const append = { ...inCase, name: "intake alone / limit (a), append", of: alone, to: "limit-append" };
  recorder.ratio({ ...append, ...(batch === 500 ? atLeast(APPEND_GOAL) : {}) });
  recorder.ratio({
    ...inCase,
    metric: "posts",
    name: "intake alone / limit (c), signatures",
    of: alone,
    to: "limit-verify",
  });
  recorder.ratio({ ...inCase, name: "intake alone / limit (d), bare HTTP", of: alone, to: "limit-http" });
  recorder.ratio({ ...inCase, name: "all roles / intake alone", of: all, to: alone });
}
