/**
 * Everything that must hold before a change goes in: `npm run check [-- STEP …]`. Without names all steps run: the cheap
 * ones and the README's test command one after the other, beside the benchmark. Nothing stops at the first failure. The last
 * line is the tests' `N passed, N failed`, in which every other step that failed counts as one failure more.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "..");
const SIGNAL_NUMBERS = { SIGINT: 2, SIGTERM: 15 } as const;

interface Step {
  name: string;
  /** Run one after the other, all of them. */
  commands: readonly (readonly string[])[];
}

interface Result {
  failed: boolean;
  seconds: number;
  output: string;
}

const tool = (path: string, ...args: string[]): string[] => [process.execPath, join("node_modules", path), ...args];
const script = (name: string, ...args: string[]): string[] => [process.execPath, join("scripts", name), ...args];

/** The longest first: the others, and then the tests, run beside it. */
const STEPS: readonly Step[] = [
  // For soundness only: whether every scenario works and what was acknowledged is kept. Speed has no goal here.
  // By its own command, which builds the page that one of them looks at.
  {
    name: "bench",
    commands: [
      ["npm", "run", "bench", "--", "--quick"],
      ["npm", "run", "bench", "--", "--quick", "versions", "--against", ".", "--batches", "1"],
    ],
  },
  { name: "schema", commands: [script("schema.ts", "--check")] },
  { name: "unused", commands: [tool("knip/bin/knip.js", "--no-progress", "--treat-config-hints-as-errors")] },
  { name: "lint", commands: [tool("oxlint/bin/oxlint", "--format=stylish")] },
  {
    name: "types",
    commands: [".", "web", "scripts"].map((project) => tool("typescript/bin/tsc", "--pretty", "false", "-p", project)),
  },
  { name: "format", commands: [tool("oxfmt/bin/oxfmt", "--check")] },
  { name: "settings", commands: [script("env-example.ts", "--check")] },
];

const running = new Set<ChildProcess>();
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => {
    for (const child of running) child.kill("SIGTERM");
    process.exitCode = 128 + SIGNAL_NUMBERS[signal];
  });
}

const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !STEPS.some((step) => step.name === name));
if (unknown.length > 0) {
  console.error(`There is no step ${unknown.join(", ")}. There are: ${STEPS.map((step) => step.name).join(", ")}.`);
  process.exit(2);
}

const isWhole = wanted.length === 0;
const waiting = STEPS.filter(({ name }) => isWhole || wanted.includes(name));
const failures: string[] = [];
const beside = runSteps();
await runSteps();
const tests = isWhole && process.exitCode === undefined ? await runTests() : undefined;
await beside;
if (tests === undefined) process.exitCode ??= Number(failures.length > 0);
else conclude(tests);

/** Takes steps until none waits: called twice, it runs two at a time. */
async function runSteps(): Promise<void> {
  for (let step = waiting.shift(); step !== undefined; step = waiting.shift()) {
    // Told to end.
    if (process.exitCode !== undefined) return;
    const result = await runStep(step);
    showResult(step.name, result);
    if (result.failed) failures.push(step.name);
  }
}

async function runStep(step: Step): Promise<Result> {
  const startedMs = performance.now();
  let failed = false;
  let output = "";
  for (const command of step.commands) {
    const keep = (text: string): void => {
      output += text;
    };
    const exitCode = await run(command, keep, keep);
    failed ||= exitCode !== 0;
  }
  return { failed, seconds: (performance.now() - startedMs) / 1000, output };
}

function showResult(name: string, { failed, seconds, output }: Result): void {
  console.log(`${failed ? "FAILED" : "ok    "} ${name.padEnd(10)} ${seconds.toFixed(1).padStart(6)} s`);
  if (failed) console.log(`${output.trimEnd()}\n`);
}

interface Count {
  passed: number;
  failed: number;
  /** What else the last line says. */
  rest: string;
}

/** Shows the tests as they run, except for their last line, which is printed anew with the other failures in it. */
async function runTests(): Promise<Count> {
  const startedMs = performance.now();
  let held = "";
  const onOutput = (text: string): void => {
    held += text;
    // All but the last line, and the line break before it, is shown at once.
    const lastBreak = held.lastIndexOf("\n", held.length - 2);
    if (lastBreak === -1) return;
    process.stdout.write(held.slice(0, lastBreak + 1));
    held = held.slice(lastBreak + 1);
  };
  const exitCode = await run(["npm", "test"], onOutput, (text) => process.stderr.write(text));
  const count = readCount(held.trim());
  showResult("tests", { failed: exitCode !== 0, seconds: (performance.now() - startedMs) / 1000, output: held });
  // Tests that end badly without saying how must not look like a success.
  return { ...count, failed: Math.max(count.failed, Number(exitCode !== 0)) };
}

function conclude({ passed, failed, rest }: Count): void {
  if (failures.length > 0) console.log(`FAILED ${failures.join(", ")}: see above`);
  const failedInAll = failed + failures.length;
  process.exitCode ??= Number(failedInAll > 0);
  console.log(`${passed} passed, ${failedInAll} failed${rest}`);
}

function readCount(line: string): Count {
  const [, passed, failed, rest] = /^(\d+) passed, (\d+) failed(.*)$/u.exec(line) ?? [];
  return passed === undefined
    ? { passed: 0, failed: 1, rest: "" }
    : { passed: Number(passed), failed: Number(failed), rest: rest ?? "" };
}

type OnText = (text: string) => void;

/** Runs a command to its end, giving away its output as it comes. Gives its exit code. */
async function run([file = "", ...args]: readonly string[], onOutput: OnText, onError: OnText): Promise<number> {
  const child = spawn(file, args, { cwd: ROOT, stdio: ["ignore", "pipe", "pipe"] });
  running.add(child);
  child.stdout.setEncoding("utf8").on("data", onOutput);
  child.stderr.setEncoding("utf8").on("data", onError);
  try {
    return await new Promise((resolve, reject) => {
      child.once("error", reject);
      child.once("close", (code) => resolve(code ?? 1));
    });
  } finally {
    running.delete(child);
  }
}
