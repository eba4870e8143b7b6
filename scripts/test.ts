/**
 * The tests: `npm test [-- FILTER … and vitest's options]`. Runs vitest and prints, as the last line, what came of it:
 * `N passed, N failed`, with `, N skipped` where some were. Exit code 1 when any failed or none ran.
 */
import { createVitest, parseCLI, TestsNotFoundError, type Vitest } from "vitest/node";

/** How long a test may go on after the run was told to end. Its worker is killed then. */
const CANCEL_MS_MAX = 5_000;
const SIGNAL_NUMBERS = { SIGINT: 2, SIGTERM: 15 } as const;

interface Count {
  passed: number;
  failed: number;
  skipped: number;
}

const { filter, options } = parseCLI(["vitest", "run", ...process.argv.slice(2)]);
const vitest = await createVitest("test", { ...options, watch: false, run: true });
const signal = endOnSignal(vitest);
let broken = 0;
try {
  await vitest.start(filter);
} catch (error) {
  // Vitest has said which files it looked for; anything else (a setup that failed) nobody has shown yet.
  if (!(error instanceof TestsNotFoundError)) {
    broken += 1;
    vitest.logger.printError(error, { fullStack: true, type: "Unhandled Error" });
  }
}
const count = countTests(vitest);
await vitest.close();
count.failed += broken;
// A teardown that failed, or a threshold that was missed, is told by the exit code only.
if (count.failed === 0 && (process.exitCode ?? 0) !== 0) count.failed = 1;
finish(count);

/** What cannot be laid at a test's door (a file that does not load, an error outside of any test) is a failure each. */
function countTests({ state }: Vitest): Count {
  const found: Count = { passed: 0, failed: state.getUnhandledErrors().length, skipped: 0 };
  for (const testModule of state.getTestModules()) {
    found.failed += testModule.errors().length;
    for (const suite of testModule.children.allSuites()) found.failed += suite.errors().length;
    for (const test of testModule.children.allTests()) {
      const { state: outcome } = test.result();
      // A pending test was never reached: the run was ended before.
      found[outcome === "pending" ? "skipped" : outcome] += 1;
    }
  }
  return found;
}

function finish({ passed, failed, skipped }: Count): void {
  const line = `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`;
  const isGood = passed > 0 && failed === 0;
  const exitCode = signal.received === undefined ? Number(!isGood) : 128 + SIGNAL_NUMBERS[signal.received];
  // The exit is explicit: a handle that some test left open must not hold the result back.
  process.stdout.write(`\n${line}\n`, () => process.exit(exitCode));
}

/** On Ctrl-C the run ends in order, so that the test database is stopped; vitest itself would leave it running. */
function endOnSignal(run: Vitest): { received: keyof typeof SIGNAL_NUMBERS | undefined } {
  const seen: { received: keyof typeof SIGNAL_NUMBERS | undefined } = { received: undefined };
  for (const name of ["SIGINT", "SIGTERM"] as const) {
    process.removeAllListeners(name);
    process.on(name, () => {
      if (seen.received !== undefined) return;
      seen.received = name;
      void run.cancelCurrentRun("keyboard-input");
      setTimeout(() => void run.close().then(() => finish(countTests(run))), CANCEL_MS_MAX).unref();
    });
  }
  return seen;
}
