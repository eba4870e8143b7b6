/**
 * The benchmark: `npm run bench [-- SCENARIO … | report] [options]`. Exit code 0: everything that was acknowledged was kept;
 * 1: something was not; 2: used wrongly.
 */
import { generateKeyPairSync } from "node:crypto";
import { chmod, mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLog } from "../src/log.ts";
import { publicKeyText } from "../src/sendgrid/signature.ts";
import { isSameSetup } from "./add-rounds.ts";
import type { Bench, BenchKey, Flags } from "./context.ts";
import { killAll } from "./ending.ts";
import { HELP, readCommandLine } from "./flags.ts";
import { writeSample } from "./load/sample.ts";
import { createRecorder } from "./recorder.ts";
import { writeDocs } from "./report/docs.ts";
import { printResult } from "./report/print.ts";
import { describeRun, readResults, writeResult, type KeptResult } from "./results.ts";
import type { Scenario } from "./scenario.ts";
import { SCENARIOS, wantedScenarios } from "./scenarios/all.ts";
import { startBenchServer } from "./server.ts";

/** Some 5,600 messages, whose copies make up all traffic. */
const SAMPLE_EVENTS = 20_000;
const QUICK_SAMPLE_EVENTS = 2_000;
const SIGNAL_NUMBERS = { SIGINT: 2, SIGTERM: 15 } as const;

// Explicit: after a signal a scenario still waits for answers that will never come.
process.exit(await main(process.argv.slice(2)));

async function main(args: readonly string[]): Promise<number> {
  const line = readCommandLine(args);
  const help = `${HELP}\nScenarios:\n${SCENARIOS.map(({ name, description }) => `  ${name.padEnd(12)} ${description}`).join("\n")}`;
  if ("fault" in line) {
    (line.fault === undefined ? console.log : console.error)(line.fault ?? help);
    return line.fault === undefined ? 0 : 2;
  }
  const { flags, work } = line;
  if (flags.scenarios.includes("report")) {
    await writeDocs();
    return 0;
  }
  // The services inherit Node's arguments and environment. Without those of scripts/setup/node.mjs others would be measured than
  // `npm start` starts: at 500 events a POST, a third slower ones.
  const hasHeaps = process.env["MALLOC_TRIM_THRESHOLD_"] !== undefined;
  if (!hasHeaps || !process.execArgv.some((arg) => arg.startsWith("--max-semi-space-size"))) {
    console.error("Run it as `npm run bench`, which gives Node and the services what `npm start` gives them.");
    return 2;
  }
  const wanted = wantedScenarios(flags);
  if (typeof wanted === "string") {
    console.error(`${wanted} ${help}`);
    return 2;
  }
  return withBench(flags, work, async (bench) => runScenarios(bench, wanted));
}

/** Starts what all scenarios share, and removes it at the end, also when somebody ends the run. */
async function withBench(
  flags: Flags,
  work: string | undefined,
  run: (bench: Bench) => Promise<number>,
): Promise<number> {
  const folder = await mkdtemp(join(work ?? tmpdir(), "holdfast-bench-"));
  // PostgreSQL's own user must pass through.
  await chmod(folder, 0o711);
  const log = createLog("warn");
  if (flags.profile !== undefined) await mkdir(flags.profile, { recursive: true });
  const server = await startBenchServer({
    dataDir: join(folder, "server"),
    log,
    statements: flags.profile !== undefined,
  });
  const signal = Promise.withResolvers<number>();
  for (const name of ["SIGINT", "SIGTERM"] as const)
    process.once(name, () => signal.resolve(128 + SIGNAL_NUMBERS[name]));
  // Whoever read the output has gone.
  process.stdout.once("error", () => signal.resolve(1));
  process.once("exit", killAll);
  try {
    const sampleFile = join(folder, "sample.json");
    await writeSample(sampleFile, flags.quick ? QUICK_SAMPLE_EVENTS : SAMPLE_EVENTS);
    const say = (text: string): void => console.log(text);
    const bench: Bench = { flags, folder, sampleFile, server, key: makeKey(), log, say };
    return await Promise.race([run(bench), signal.promise]);
  } finally {
    killAll();
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

function makeKey(): BenchKey {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
  const privateKeyText = privateKey.export({ format: "pem", type: "pkcs8" }).toString();
  return { privateKey, privateKeyText, publicKeyText: publicKeyText(publicKey) };
}

async function runScenarios(bench: Bench, scenarios: readonly Scenario[]): Promise<number> {
  let failures = 0;
  const before = bench.flags.add ? await readResults() : new Map<string, KeptResult>();
  const stranger = [...before.values()].find(
    (result) => scenarios.some(({ name }) => name === result.scenario) && !isSameSetup(result, describeRun(bench)),
  );
  if (stranger !== undefined) {
    console.error(
      `--add: the kept rounds of ${stranger.scenario} are of another machine, or of other versions or settings.`,
    );
    return 2;
  }
  for (const scenario of scenarios) {
    const recorder = createRecorder(!bench.flags.quick);
    const startedAt = new Date();
    bench.say(`${scenario.name}: ${scenario.description}`);
    await scenario.run(bench, recorder);
    const result = recorder.result();
    printResult(scenario.name, result);
    failures += result.checks.filter(({ ok }) => !ok).length;
    const kept = { scenario: scenario.name, startedAt: startedAt.toISOString(), ...describeRun(bench), ...result };
    if (!bench.flags.quick && scenario.isKept !== false) await writeResult(kept, before.get(scenario.name));
  }
  if (failures > 0) console.log(`${failures} checks failed`);
  return failures > 0 ? 1 : 0;
}
