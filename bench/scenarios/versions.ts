import type { Bench } from "../context.ts";
import { connectionsFor, intakeLoad } from "../load/intake-load.ts";
import { type Load, startLoad } from "../load/load.ts";
import type { LoadReport } from "../load/orders.ts";
import { cpuSeconds } from "../processes.ts";
import type { Recorder } from "../recorder.ts";
import type { Scenario } from "../scenario.ts";
import { ALL_ROLES, holdfast } from "../subjects/holdfast.ts";
import { ROOT } from "../subjects/service.ts";
import type { Running, Subject } from "../subjects/subject.ts";
import { type AcknowledgedReport, checkKept } from "../turn.ts";

/**
 * Short, and many: a machine can be a third slower for tens of seconds at a time, whoever has its turn then. Of two turns that follow
 * each other at once both meet it, and the median of their ratios is steady where that of whole runs is not.
 */
const TURN_SECONDS = 1.5;
const PAIRS_A_ROUND = 5;
/** At the beginning of each turn: connections are made, and what the other one left in the caches goes. */
const WARM_UP_MS = 200;
/** Once for each, before anything is measured: Node has compiled what it runs by then. */
const FIRST_WARM_UP_MS = 3_000;
const QUICK_TURN_SECONDS = 0.3;
const THIS = "this-checkout";
const OTHER = "the-other";
const SET_UPS = [
  ["intake alone", "intake"],
  ["all roles", ALL_ROLES],
] as const;

export const VERSIONS: Scenario = {
  name: "versions",
  description: "this checkout and another one (--against), both running, in turns of a second and a half",
  isKept: false,
  async run(bench, recorder) {
    for (const batch of bench.flags.batches) {
      const order = intakeLoad(bench, batch);
      const load = await startLoad(order);
      try {
        for (const [label, roles] of SET_UPS) await runCase(bench, recorder, { batch, label, roles, order, load });
      } finally {
        await load.stop();
      }
    }
  },
};

interface Case {
  batch: number;
  label: string;
  roles: string;
  order: ReturnType<typeof intakeLoad>;
  load: Load;
}

interface Version {
  subject: Subject;
  running: Running;
  /** Of all its turns. */
  reports: LoadReport[];
}

async function runCase(bench: Bench, recorder: Recorder, what: Case): Promise<void> {
  const { rounds, quick, against } = bench.flags;
  if (against === undefined) throw new Error("the other checkout is not named");
  const { label, roles, batch, order } = what;
  const inCase = `${label}, B=${batch}`;
  bench.say(inCase);
  const versions: Version[] = [];
  try {
    for (const [name, root] of [[THIS, ROOT] as const, [OTHER, against] as const]) {
      const subject = holdfast(bench, { name, label: name, roles, root });
      versions.push({ subject, running: await subject.start(), reports: [] });
    }
    for (const version of versions) await takeTurn(bench, what, version, quick ? 0 : FIRST_WARM_UP_MS);
    for (let pair = 0; pair < rounds * PAIRS_A_ROUND; pair += 1) {
      await bench.server.checkpoint();
      // Who comes second finds the machine as the first left it: each is that every other time.
      for (const version of pair % 2 === 0 ? versions : versions.toReversed()) {
        const { report, cpu } = await takeTurn(bench, what, version, WARM_UP_MS);
        const add = (metric: string, unit: string, value: number): void =>
          recorder.add({ subject: version.subject.name, case: inCase, metric, unit }, value);
        add("events", "events/s", report.events / report.seconds);
        add("p99", "ms", report.p99Ms);
        if (cpu !== undefined) add("cpu", "CPU s per million events", (cpu / report.eventsAcknowledged) * 1e6);
      }
    }
    for (const metric of ["events", "p99", "cpu"]) {
      recorder.ratio({ name: `${metric}, ${THIS} / ${OTHER}`, case: inCase, metric, of: THIS, to: OTHER });
    }
    for (const { subject, running, reports } of versions) {
      await checkKept({ bench, recorder, subject, inCase, cut: order.cut }, running, allOf(reports));
    }
  } finally {
    for (const { running } of versions) await running.stop();
  }
}

function allOf(reports: readonly LoadReport[]): AcknowledgedReport {
  return {
    answered: reports.reduce((sum, { answered }) => sum + answered, 0),
    eventsAcknowledged: reports.reduce((sum, { eventsAcknowledged }) => sum + eventsAcknowledged, 0),
    acknowledged: reports.flatMap(({ acknowledged }) => acknowledged),
  };
}

/** What all is filed of a turn belongs to it: the other one's turn begins on a machine at rest. */
async function takeTurn(
  bench: Bench,
  { batch, load }: Case,
  version: Version,
  warmUpMs: number,
): Promise<{ report: LoadReport; cpu: number | undefined }> {
  const { running, reports } = version;
  const { quick, seconds = quick ? QUICK_TURN_SECONDS : TURN_SECONDS } = bench.flags;
  const before = await cpuSeconds(running.pids);
  const report = await load.run({
    url: running.url,
    connections: connectionsFor(batch),
    warmUpMs,
    measureMs: seconds * 1_000,
    postsFrom: reports.at(-1)?.nextPost ?? 0,
  });
  await running.drained?.();
  const after = await cpuSeconds(running.pids);
  reports.push(report);
  return { report, cpu: before === undefined || after === undefined ? undefined : after - before };
}
