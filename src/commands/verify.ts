import { join } from "node:path";
import { InvalidArgumentError, type Command } from "commander";
import { DIFFERENCE_KINDS, type Difference } from "../audit/difference.ts";
import {
  ledgerIdentity,
  readState,
  removeState,
  startState,
  writeState,
  type VerifyRange,
  type VerifyState,
} from "../audit/state.ts";
import { verify, type VerifyOutcome, type VerifyStep } from "../audit/verify.ts";
import { loadConfig } from "../config.ts";
import { UsageError } from "../errors.ts";
import type { Pool } from "../postgres/pool.ts";
import { interruption, sourceNumber, withLedger, type LedgerCommandOptions } from "./ledger-command.ts";
import { createProgress, type Progress } from "./progress.ts";

interface VerifyFlags {
  from?: Date;
  to?: Date;
  source?: string;
  resume?: string | true;
  json?: boolean;
}

const HOUR_MS = 3_600_000;
const STATE_FILE = "verify.state.json";
/** As a shell reports a program that Ctrl-C ended: neither clean nor different. */
const INTERRUPTED = 130;

/** Adds `verify`. Its exit code is 0 when all is as it must be, 1 when anything differs, 130 when it was interrupted. */
export function addVerifyCommand(program: Command, options: LedgerCommandOptions = {}): void {
  program
    .command("verify")
    .description(
      "Read every receipt's bytes again and hold them against signatures, events, quarantine, messages and balance.",
    )
    .option("--from <time>", "only receipts that arrived since then (ISO 8601, taken back to its hour)", parseTime)
    .option("--to <time>", "only receipts that arrived before then (taken forward to the next hour)", parseTime)
    .option("--source <name>", "only receipts of this source")
    .option("--resume [file]", `go on where an interrupted run stopped; default: ${STATE_FILE} in HOLDFAST_DATA_DIR`)
    .option("--json", "print the result as JSON")
    .addHelpText(
      "after",
      "\nIt only reads, and can run beside the service. Without --from, --to and --source it also finds rows that no" +
        "\nreceipt leads to. Ctrl-C keeps how far it is. Exit code: 0 clean, 1 something differs, 130 interrupted.",
    )
    .action(async (flags: VerifyFlags) => {
      process.exitCode = await runVerify(flags, options);
    });
}

async function runVerify(flags: VerifyFlags, options: LedgerCommandOptions): Promise<number> {
  const dataDir = options.dataDir ?? loadConfig().HOLDFAST_DATA_DIR;
  const path = typeof flags.resume === "string" ? flags.resume : join(dataDir, STATE_FILE);
  const print = options.print ?? ((text) => void process.stdout.write(`${text}\n`));
  const warn = options.warn ?? ((text) => void process.stderr.write(`holdfast: ${text}\n`));
  const progress = createProgress();
  const interrupted = interruption();
  try {
    return await withLedger("holdfast verify", options, async (pool) => {
      const startedMs = performance.now();
      const database = await ledgerIdentity(pool);
      const state = await chooseState({ pool, flags, path, database });
      const keeper = createStateKeeper(path, database, warn);
      const outcome = await verify({
        pool,
        state,
        onState: async (kept) => keeper.keep(kept),
        onStep: (step) => showStep(progress, step),
        signal: options.signal ?? interrupted.signal,
      });
      if (outcome !== "interrupted") await removeState(path);
      progress.clear();
      const seconds = (performance.now() - startedMs) / 1000;
      print(
        flags.json === true
          ? JSON.stringify(asJson(outcome, state, seconds))
          : asText(outcome, state, keeper.isKept() ? path : undefined),
      );
      return { clean: 0, different: 1, interrupted: INTERRUPTED }[outcome];
    });
  } finally {
    progress.clear();
    interrupted.end();
  }
}

interface Choice {
  pool: Pool;
  flags: VerifyFlags;
  path: string;
  database: string;
}

async function chooseState({ pool, flags, path, database }: Choice): Promise<VerifyState> {
  const range: VerifyRange = {
    from: flags.from === undefined ? undefined : new Date(Math.floor(flags.from.getTime() / HOUR_MS) * HOUR_MS),
    to: flags.to === undefined ? undefined : new Date(Math.ceil(flags.to.getTime() / HOUR_MS) * HOUR_MS),
    source: flags.source === undefined ? undefined : await sourceNumber(pool, flags.source),
  };
  if (flags.resume === undefined) return startState(range);
  const state = await readState(path, database);
  if (state === undefined) {
    // A file that was named is where the state of a new run is to be kept.
    if (flags.resume !== true) return startState(range);
    throw new UsageError(`there is no interrupted verification to go on with (${path})`);
  }
  const isOther = (["from", "to", "source"] as const).some(
    (limit) => range[limit] !== undefined && range[limit].valueOf() !== state.range[limit]?.valueOf(),
  );
  if (isOther)
    throw new UsageError("the interrupted verification had other limits: leave out --from, --to and --source");
  return state;
}

interface StateKeeper {
  keep(state: VerifyState): Promise<void>;
  isKept(): boolean;
}

/** A state that cannot be written costs only the resuming, and is said once. */
function createStateKeeper(path: string, database: string, warn: (text: string) => void): StateKeeper {
  let isKept = true;
  return {
    keep: async (state) => {
      try {
        await writeState(path, database, state);
      } catch (error) {
        const reason = error instanceof Error ? error.message : "unknown";
        if (isKept) warn(`how far it is cannot be kept in ${path} (${reason}); it goes on without`);
        isKept = false;
      }
    },
    isKept: () => isKept,
  };
}

const PHASES: Record<VerifyStep["phase"], string> = {
  receipts: "verifying receipts",
  messages: "verifying messages",
  tallies: "comparing tallies",
};

function showStep(progress: Progress, { phase, done, total, differences }: VerifyStep): void {
  progress.show(PHASES[phase], done, total, differences === 0 ? "" : `${differences} differences`);
}

function asJson(outcome: VerifyOutcome, state: VerifyState, seconds: number): unknown {
  const { range, counts, differences } = state;
  return { outcome, range, ...counts, differences: differences.total, listed: differences.listed, seconds };
}

function asText(outcome: VerifyOutcome, state: VerifyState, keptIn: string | undefined): string {
  const { counts, differences } = state;
  const count = (value: number): string => value.toLocaleString("en-GB");
  const readable = counts.readable === 0 ? "" : `, ${count(counts.readable)} can be read today: holdfast replay`;
  const lines = [
    `receipts     ${count(counts.receipts)} (${count(counts.pending)} pending, ${count(counts.unsigned)} unsigned)`,
    `events       ${count(counts.stored)} stored, ${count(counts.duplicate)} duplicates`,
    `quarantined  ${count(counts.quarantined)}${readable}`,
    `messages     ${count(counts.messages)}`,
    `tallies      ${count(counts.tallies)}`,
    `differences  ${count(differences.total)}`,
    ...differences.listed.map((difference) => `  ${describe(difference)}`),
  ];
  if (differences.total > differences.listed.length) {
    lines.push(`  … and ${count(differences.total - differences.listed.length)} more`);
  }
  if (outcome === "interrupted") {
    lines.push(keptIn === undefined ? "Interrupted." : `Interrupted. Go on with: holdfast verify --resume ${keptIn}`);
  }
  return lines.join("\n");
}

function describe(difference: Difference): string {
  const { kind, receipt, ordinal, message, quarantine, repair, fields, hour, source, recorded, counted } = difference;
  const places = [
    ...(receipt === undefined ? [] : [`receipt ${receipt}`]),
    ...(ordinal === undefined ? [] : [ordinal === -1 ? "whole body" : `item ${ordinal}`]),
    ...(message === undefined ? [] : [`message ${message}`]),
    ...(quarantine === undefined ? [] : [`quarantine ${quarantine}`]),
    ...(repair === undefined ? [] : [`repair ${repair}`]),
    ...(hour === undefined ? [] : [`hour ${hour}`, `source ${source ?? ""}`]),
    ...(fields ?? []).map((field) =>
      recorded === undefined ? field : `${field} ${recorded[field] ?? 0} instead of ${counted?.[field] ?? 0}`,
    ),
  ];
  return `${kind.padEnd(19)} ${places.join(", ")}: ${DIFFERENCE_KINDS[kind]}`;
}

function parseTime(text: string): Date {
  const time = new Date(text);
  if (Number.isNaN(time.getTime())) throw new InvalidArgumentError("It must be a time such as 2026-01-31T12:00:00Z.");
  return time;
}
