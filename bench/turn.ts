import type { Bench } from "./context.ts";
import type { Load } from "./load/load.ts";
import type { LoadReport, RunOrder } from "./load/orders.ts";
import { makePosts, type Cut } from "./load/posts.ts";
import { loadSample } from "./load/sample.ts";
import { cpuSeconds } from "./processes.ts";
import type { Recorder } from "./recorder.ts";
import type { Acknowledged, Running, Subject } from "./subjects/subject.ts";

/** With more bytes than this the bodies are counted, and not gone through one by one. */
const CHECKED_BYTES_MAX = 150e6;

export interface Turn {
  bench: Bench;
  recorder: Recorder;
  subject: Subject;
  load: Load;
  cut: Cut;
  /** The case's name in the results. */
  inCase: string;
  order: Omit<RunOrder, "kind" | "url">;
}

/** One turn of one subject: a fresh start, the load, its figures, and whether it kept what it acknowledged. */
export async function takeTurn(turn: Turn): Promise<LoadReport> {
  const { bench, recorder, subject, load, inCase, order } = turn;
  await bench.server.checkpoint();
  const running = await subject.start();
  try {
    const before = await cpuSeconds(running.pids);
    const report = await load.run({ ...order, url: running.url });
    const after = await cpuSeconds(running.pids);
    if (running.drained !== undefined) {
      // What is acknowledged first and filed later must be seen beside what is acknowledged.
      const endedMs = performance.now();
      await running.drained();
      const figure = { subject: subject.name, case: inCase, metric: "filed after", unit: "s" };
      recorder.add(figure, (performance.now() - endedMs) / 1000);
    }
    recordLoad(turn, report);
    if (before !== undefined && after !== undefined) {
      const figure = { subject: subject.name, case: inCase, metric: "cpu", unit: "CPU s per million events" };
      recorder.add(figure, ((after - before) / report.eventsAcknowledged) * 1e6);
    }
    await checkKept(turn, running, report);
    return report;
  } finally {
    await running.stop();
  }
}

function recordLoad({ recorder, subject, inCase, bench }: Turn, report: LoadReport): void {
  const add = (metric: string, unit: string, value: number): void =>
    recorder.add({ subject: subject.name, case: inCase, metric, unit }, value);
  add("events", "events/s", report.events / report.seconds);
  add("posts", "POSTs/s", report.posts / report.seconds);
  add("p50", "ms", report.p50Ms);
  add("p99", "ms", report.p99Ms);
  const refused = Object.entries(report.refused);
  if (refused.length > 0) {
    const list = refused.map(([status, count]) => `${count} × ${status}`).join(", ");
    recorder.note(`${subject.label}, ${inCase}: not acknowledged: ${list}`);
  }
  const rate = Math.round(report.events / report.seconds);
  bench.say(`  ${inCase} ${subject.label}: ${rate} events/s, p99 ${report.p99Ms.toFixed(1)} ms`);
}

/** Whether a subject kept what it acknowledged, as a check of the run. */
export async function checkKept(
  { bench, recorder, subject, inCase, cut }: Pick<Turn, "bench" | "recorder" | "subject" | "inCase" | "cut">,
  running: Running,
  report: AcknowledgedReport,
): Promise<void> {
  const wrong = await running.check(await acknowledgedIn(bench, cut, report));
  const what = `${subject.label}, ${inCase}: what was acknowledged is kept, once`;
  recorder.check(what, wrong.length === 0 && report.answered > 0, wrong.join("; "));
}

/** Of a report, or of several together, what was acknowledged. */
export type AcknowledgedReport = Pick<LoadReport, "answered" | "eventsAcknowledged" | "acknowledged">;

/** What a report says was acknowledged, with its bodies made again. */
export async function acknowledgedIn(bench: Bench, cut: Cut, report: AcknowledgedReport): Promise<Acknowledged> {
  const { answered, eventsAcknowledged: events, acknowledged } = report;
  const sample = await loadSample(bench.sampleFile);
  const bytes = events * 600;
  const numbers = new Set(acknowledged);
  const last = acknowledged.reduce((highest, number) => Math.max(highest, number), -1);
  function* bodies(): Generator<Buffer> {
    let number = 0;
    for (const { body } of makePosts(sample, cut)) {
      if (number > last) return;
      if (numbers.has(number)) yield body;
      number += 1;
    }
  }
  return { answered, events, bodies: bytes > CHECKED_BYTES_MAX ? undefined : bodies };
}
