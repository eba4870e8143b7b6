/**
 * The torture harness: `npm run torture -- --minutes M --seed S [--fault NAME] [--prove-checker]`.
 * Exit code 0: nothing was lost, double or otherwise wrong; 1: something was; 2: used wrongly.
 */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { Fault } from "./fault.ts";
import { FAULTS } from "./faults/all.ts";
import { proveChecker } from "./mutations.ts";
import { planRun, type Act } from "./plan.ts";
import { describeReport } from "./report.ts";
import { runAct, type ActReport } from "./run.ts";
import { ROOT } from "./world.ts";

const HELP = `Usage: npm run torture -- [options]

Runs real services under load while one fault after another strikes, lets them come to rest, and checks every event.

  --minutes M       how long, about (default 5)
  --seed S          makes the plan repeatable (default 1)
  --fault NAME      only this fault; may be given several times
  --rate N          POSTs a second (default 30)
  --batch N         events in a POST (default 12)
  --root FOLDER     the checkout to run (default this one)
  --out FOLDER      where histories and logs go (default artifacts/torture)
  --prove-checker   instead: breaks the service on purpose, in a copy, and expects each break to be found
  --plan            only prints the plan

Faults:
${FAULTS.map(({ name, description }) => `  ${name.padEnd(18)} ${description}`).join("\n")}
`;

const SECOND_SIGNAL_MS = 1_000;
const onLine = (line: string): void => console.log(line);

interface Flags {
  minutes: number;
  seed: string;
  faults: Fault[];
  rate: number;
  batch: number;
  root: string;
  out: string;
  isProof: boolean;
  isPlan: boolean;
}

const flags = readFlags();
if (typeof flags === "string") {
  const isHelp = flags === HELP;
  (isHelp ? console.log : console.error)(flags);
  process.exit(isHelp ? 0 : 2);
}
process.exitCode = await main(flags);

function readFlags(): Flags | string {
  try {
    const { values } = parseArgs({
      options: {
        minutes: { type: "string", default: "5" },
        seed: { type: "string", default: "1" },
        fault: { type: "string", multiple: true, default: [] },
        rate: { type: "string", default: "30" },
        batch: { type: "string", default: "12" },
        root: { type: "string", default: ROOT },
        out: { type: "string", default: join(ROOT, "artifacts/torture") },
        "prove-checker": { type: "boolean", default: false },
        plan: { type: "boolean", default: false },
        help: { type: "boolean", default: false },
      },
    });
    if (values.help) return HELP;
    const unknown = values.fault.filter((name) => !FAULTS.some((fault) => fault.name === name));
    if (unknown.length > 0)
      return `There is no fault ${unknown.join(", ")}. There are: ${FAULTS.map(({ name }) => name).join(", ")}.`;
    const [minutes, rate, batch] = [values.minutes, values.rate, values.batch].map(Number);
    if (!isPositive(minutes) || !isPositive(rate) || !isPositive(batch))
      return "--minutes, --rate and --batch are positive numbers.";
    const faults = FAULTS.filter(({ name }) => values.fault.length === 0 || values.fault.includes(name));
    const { seed, root, out, plan: isPlan, "prove-checker": isProof } = values;
    return { minutes, seed, faults, rate, batch, root, out, isPlan, isProof };
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function isPositive(value: number | undefined): value is number {
  return value !== undefined && Number.isFinite(value) && value > 0;
}

async function main({ minutes, seed, faults, rate, batch, root, out, isProof, isPlan }: Flags): Promise<number> {
  const outFolder = join(out, `seed-${seed}-${new Date().toISOString().replaceAll(/[:.]/g, "-")}`);
  const signal = endOnSignal();
  if (isProof) {
    await mkdir(outFolder, { recursive: true });
    return (await proveChecker({ seed, outFolder, onLine, signal })) ? 0 : 1;
  }
  const possible = await availableOf(faults);
  const acts = planRun({ faults: possible, seed, minutes });
  onLine(`seed ${seed}, about ${minutes} minutes, ${possible.length} faults in ${acts.length} worlds`);
  if (isPlan) {
    for (const act of acts) showPlan(act);
    return 0;
  }
  const reports: ActReport[] = [];
  for (const act of acts) {
    if (signal.aborted) break;
    const report = await runAct({
      act,
      faults: possible,
      root,
      outFolder,
      postsPerSecond: rate,
      batch,
      onLine,
      signal,
    });
    reports.push(report);
    onLine(describeReport(report));
  }
  const problems = reports.reduce((sum, report) => sum + report.problems.length, 0);
  onLine(
    `seed ${seed}: ${problems === 0 ? "nothing is wrong" : `${problems} problems`}; histories are in ${outFolder}`,
  );
  return problems === 0 && possible.length > 0 && !signal.aborted ? 0 : 1;
}

/** What this machine cannot do is left out, and loudly so. */
async function availableOf(faults: readonly Fault[]): Promise<Fault[]> {
  const possible: Fault[] = [];
  for (const fault of faults) {
    const reason = await fault.unavailable?.();
    if (reason === undefined) possible.push(fault);
    else onLine(`SKIPPED ${fault.name}: ${reason}`);
  }
  return possible;
}

function showPlan({ world, strikes }: Act): void {
  for (const { fault, holdMs, restMs } of strikes) {
    onLine(
      `${world.padEnd(10)} ${fault.padEnd(18)} ${(holdMs / 1000).toFixed(1)} s, then ${(restMs / 1000).toFixed(1)} s of rest`,
    );
  }
}

/** The first Ctrl-C ends the run after the strike under way, with its checks; the second at once. */
function endOnSignal(): AbortSignal {
  const ending = new AbortController();
  let firstMs = Infinity;
  for (const name of ["SIGINT", "SIGTERM"] as const) {
    process.on(name, () => {
      // A terminal or `timeout` may send the same signal to the process and to its group at once.
      if (performance.now() - firstMs > SECOND_SIGNAL_MS) process.exit(1);
      if (ending.signal.aborted) return;
      firstMs = performance.now();
      ending.abort();
      onLine("ending after this strike");
    });
  }
  return ending.signal;
}
