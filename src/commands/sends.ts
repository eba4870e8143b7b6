import { constants, createReadStream } from "node:fs";
import { access } from "node:fs/promises";
import { addAbortSignal, Readable } from "node:stream";
import type { Command } from "commander";
import { UsageError } from "../errors.ts";
import { SENDS_PER_REQUEST_MAX } from "../limits.ts";
import type { Pool } from "../postgres/pool.ts";
import { registerSends, type Send } from "../views/register-sends.ts";
import { interruption, withLedger, type LedgerCommandOptions } from "./ledger-command.ts";
import { createProgress } from "./progress.ts";
import { logLines, readSendLine } from "./send-lines.ts";

interface SendsFlags {
  file?: string;
  stdin?: boolean;
  source: string;
  json?: boolean;
}

/** What `sends` takes from outside; tests give their own. */
export interface SendsCommandOptions extends LedgerCommandOptions {
  stdin?: AsyncIterable<string>;
}

/** As a shell reports a program that Ctrl-C ended. */
const INTERRUPTED = 130;

/** Adds `sends`. */
export function addSendsCommand(program: Command, options: SendsCommandOptions = {}): void {
  program
    .command("sends")
    .description("Read the X-Message-Id values in an application's log and put them into the sent register.")
    .option("--file <log>", "the log")
    .option("--stdin", "read it from the standard input, for as long as it comes")
    .option("--source <name>", "the webhook that brings the events of these sends", "default")
    .option("--json", "print the result as JSON")
    .addHelpText(
      "after",
      "\nA line may hold several, in any usual form (X-Message-Id: …, JSON). Its time is the first ISO 8601 time with a zone" +
        '\nin it, or pino\'s "time"; without one it is now. What is registered already stays as it is, so a log can be read again.' +
        "\nA send without an event for an hour is a suspected gap." +
        "\nExit code: 0 all read, 1 a line could not be read, 2 used wrongly, 130 interrupted.",
    )
    .action(async (flags: SendsFlags) => {
      process.exitCode = await runSends(flags, options);
    });
}

async function runSends(flags: SendsFlags, options: SendsCommandOptions): Promise<number> {
  const print = options.print ?? ((text) => void process.stdout.write(`${text}\n`));
  const warn = options.warn ?? ((text) => void process.stderr.write(`holdfast: ${text}\n`));
  const input = await openInput(flags, options);
  const interrupted = interruption();
  const progress = createProgress();
  const signal = options.signal ?? interrupted.signal;
  try {
    return await withLedger("holdfast sends", options, async (pool) => {
      const counts = await readAll({ pool, input, source: flags.source, signal }, (done, problem) => {
        if (problem === undefined) progress.show("lines", done, 0);
        else {
          progress.clear();
          warn(problem);
        }
      });
      progress.clear();
      print(flags.json === true ? JSON.stringify(counts) : asText(counts));
      if (signal.aborted) return INTERRUPTED;
      return counts.problems > 0 ? 1 : 0;
    });
  } finally {
    progress.clear();
    interrupted.end();
  }
}

async function openInput({ file, stdin }: SendsFlags, options: SendsCommandOptions): Promise<AsyncIterable<string>> {
  if ((file === undefined) === (stdin !== true)) throw new UsageError("give either --file or --stdin");
  if (file === undefined) return options.stdin ?? process.stdin.setEncoding("utf8");
  await access(file, constants.R_OK).catch((error: unknown) => {
    throw new UsageError(`${file} cannot be read`, { cause: error });
  });
  return createReadStream(file, "utf8");
}

interface Counts {
  lines: number;
  /** Ids found, each time it was. */
  found: number;
  registered: number;
  known: number;
  problems: number;
}

interface Reading {
  pool: Pool;
  input: AsyncIterable<string>;
  source: string;
  signal: AbortSignal;
}

/** Reads to the end, and registers with each piece what was in it. */
async function readAll(
  { pool, input, source, signal }: Reading,
  onLine: (done: number, problem: string | undefined) => void,
): Promise<Counts> {
  const counts: Counts = { lines: 0, found: 0, registered: 0, known: 0, problems: 0 };
  let batch: Send[] = [];
  const flush = async (): Promise<void> => {
    if (batch.length === 0) return;
    const told = await registerSends(pool, { source, name: "holdfast sends" }, batch);
    if (told.outcome === "source_unknown")
      throw new UsageError(`there is no source named ${source} that is not simulated`);
    counts.registered += told.registered;
    counts.known += told.known;
    batch = [];
  };
  if (input instanceof Readable) addAbortSignal(signal, input);
  for await (const lines of untilAborted(logLines(input), signal)) {
    for (const line of lines) {
      const { ids, at, problem } = readSendLine(line);
      counts.lines += 1;
      counts.found += ids.length;
      if (problem !== undefined) {
        counts.problems += 1;
        onLine(counts.lines, `line ${line.number}: ${problem}`);
      }
      for (const messageId of ids) batch.push({ messageId, at: at ?? new Date() });
      if (batch.length >= SENDS_PER_REQUEST_MAX) await flush();
    }
    await flush();
    onLine(counts.lines, undefined);
    if (signal.aborted) break;
  }
  return counts;
}

/** A stream that nothing comes from any more is not waited for; what came before is kept. */
async function* untilAborted<T>(source: AsyncIterable<T>, signal: AbortSignal): AsyncGenerator<T> {
  try {
    yield* source;
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

function asText({ lines, found, registered, known, problems }: Counts): string {
  return `${lines} lines, ${found} ids: ${registered} registered, ${known} known already.${problems === 0 ? "" : ` Lines with a problem: ${problems}.`}`;
}
