import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { Interrupted, SetupFailed } from "./root.mjs";

/**
 * @typedef {object} Outcome
 * @property {number | null} code
 * @property {NodeJS.Signals | null} signal what ended the child, if a signal did
 * @property {NodeJS.Signals | undefined} interrupted what this process was asked to end by, if it was
 * @property {string} output of a hidden child, standard output and error together
 */

/** A terminal sends these to everything in its foreground, so the child has them already. */
const FROM_TERMINAL = new Set(["SIGINT", "SIGHUP"]);
/** @type {readonly NodeJS.Signals[]} */
const FORWARDED = ["SIGINT", "SIGHUP", "SIGTERM"];
/** npm passes on what the terminal has sent already; a person's second Ctrl-C comes later than this. */
const SAME_SIGNAL_MS = 500;
/** The last part of a hidden child's output is what tells why it failed. */
const OUTPUT_CHARS_MAX = 200_000;

/**
 * Runs a program to its end. While it runs, this process outlives the signals that ask it to end and passes each on
 * exactly once.
 *
 * @param {string} file
 * @param {string[]} args
 * @param {{ hidden: boolean, env?: NodeJS.ProcessEnv, cwd?: string, onStart?: (pid: number) => void }} options
 * @returns {Promise<Outcome>}
 */
export async function runChild(file, args, { hidden, env, cwd, onStart }) {
  /** @type {import("node:child_process").SpawnOptions} */
  const options = { stdio: hidden ? ["ignore", "pipe", "pipe"] : "inherit", env: env ?? process.env };
  if (cwd !== undefined) options.cwd = cwd;
  const child = spawn(file, args, options);
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding("utf8").on("data", (/** @type {string} */ text) => {
      output = (output + text).slice(-OUTPUT_CHARS_MAX);
    });
  }
  const forwarding = forwardSignals(child);
  try {
    return await new Promise((resolve, reject) => {
      child.once("spawn", () => onStart?.(/** @type {number} */ (child.pid)));
      child.once("error", reject);
      child.once("close", (code, signal) => resolve({ code, signal, interrupted: forwarding.interrupted(), output }));
    });
  } finally {
    forwarding.stop();
  }
}

/** @param {import("node:child_process").ChildProcess} child */
function forwardSignals(child) {
  /** @type {NodeJS.Signals | undefined} */
  let interrupted;
  /** @type {Map<NodeJS.Signals, number>} */
  const lastMs = new Map();
  /** @param {NodeJS.Signals} signal */
  const onSignal = (signal) => {
    interrupted = signal;
    const nowMs = performance.now();
    const isRepeat = nowMs - (lastMs.get(signal) ?? -Infinity) < SAME_SIGNAL_MS;
    lastMs.set(signal, nowMs);
    if (!isRepeat && !(FROM_TERMINAL.has(signal) && isInForeground())) child.kill(signal);
  };
  for (const signal of FORWARDED) process.on(signal, onSignal);
  return {
    interrupted: () => interrupted,
    stop() {
      for (const signal of FORWARDED) process.off(signal, onSignal);
    },
  };
}

/** Whether this process belongs to the foreground of a terminal, where Ctrl-C reaches its children by itself. */
function isInForeground() {
  try {
    // After the name in parentheses: state, parent, process group, session, terminal, the terminal's foreground group.
    const [, , group, , , foreground] = readFileSync("/proc/self/stat", "utf8")
      .replace(/^.*\) /su, "")
      .split(" ");
    return group === foreground;
  } catch {
    // No /proc, as on macOS.
    return process.stdin.isTTY;
  }
}

/**
 * Goes on only after a step of the setup that went well; else shows what it said.
 *
 * @param {Outcome} outcome
 * @param {string} step
 */
export function stopUnlessDone(outcome, step) {
  if (outcome.interrupted !== undefined) throw new Interrupted(outcome.interrupted);
  if (outcome.code === 0) return;
  process.stderr.write(outcome.output);
  throw new SetupFailed(`${step} failed; what it said stands above`);
}

/**
 * Ends this process as a child ended: with its exit code, or by the signal that ended it.
 *
 * @param {Pick<Outcome, "code" | "signal">} outcome
 */
export function endLike({ code, signal }) {
  if (signal === null) {
    process.exitCode = code ?? 1;
    return;
  }
  // Should the signal be ignored here, the code that a shell would show.
  process.exitCode = 128 + (SIGNAL_NUMBERS[signal] ?? 0);
  process.kill(process.pid, signal);
}

/** @type {Partial<Record<NodeJS.Signals, number>>} */
const SIGNAL_NUMBERS = { SIGHUP: 1, SIGINT: 2, SIGQUIT: 3, SIGABRT: 6, SIGKILL: 9, SIGSEGV: 11, SIGTERM: 15 };
