import { constants, createReadStream } from "node:fs";
import { access } from "node:fs/promises";
import { InvalidArgumentError, type Command } from "commander";
import { loadConfig, type Config } from "../config.ts";
import { addDays, dayIn, daysBetween, isDay } from "../days.ts";
import { UsageError } from "../errors.ts";
import { drainRepairs } from "../ledger/repair.ts";
import { ENRICH_CALLS_RESERVED, RECONCILE_DAYS, RECONCILE_RANGE_DAYS_MAX } from "../limits.ts";
import { createLog } from "../log.ts";
import type { Pool } from "../postgres/pool.ts";
import { reconcileCsv, type CsvResult } from "../reconcile/csv.ts";
import { reconcileDays, type ReconcileOptions, type ReconcileResult, type ReconcileStep } from "../reconcile/run.ts";
import { readActivityCsv } from "../sendgrid/activity-csv.ts";
import { createRecordsClient } from "../sendgrid/records-client.ts";
import { interruption, withLedger, type LedgerCommandOptions } from "./ledger-command.ts";
import { createProgress, type Progress } from "./progress.ts";
import { reconcileSettings } from "./reconcile-settings.ts";
import { describeReconciliation } from "./reconcile-text.ts";

interface ReconcileFlags {
  from?: string;
  to?: string;
  repair?: boolean;
  json?: boolean;
  csv?: string;
}

/** What `reconcile` takes from outside; tests give their own. */
export interface ReconcileCommandOptions extends LedgerCommandOptions {
  config?: Config;
}

/** As a shell reports a program that Ctrl-C ended. */
const INTERRUPTED = 130;
const EXIT_CODES: Readonly<Record<ReconcileResult["outcome"], number>> = {
  complete: 0,
  missing: 1,
  unknown: 1,
  interrupted: INTERRUPTED,
};

/** Adds `reconcile`. */
export function addReconcileCommand(program: Command, options: ReconcileCommandOptions = {}): void {
  program
    .command("reconcile")
    .description("Hold days against SendGrid's own records: name what no webhook brought, and with --repair file it.")
    .option("--from <day>", `the first day, YYYY-MM-DD; default: ${RECONCILE_DAYS - 1} days ago`, parseDay)
    .option("--to <day>", "the last day; default: today", parseDay)
    .option("--repair", "file what is missing from what SendGrid's records tell of it")
    .option("--json", "print the result as JSON")
    .option(
      "--csv <file>",
      "instead of asking SendGrid, read an export of its Email Activity; --from and --to: its days",
    )
    .addHelpText(
      "after",
      "\nDays are those of HOLDFAST_ACCOUNT_TIME_ZONE. It can run beside the service; an interrupted run of the same days is" +
        "\ngone on with. Exit code: 0 nothing missing or all repaired, 1 something is missing or SendGrid could not be asked," +
        "\n130 interrupted.",
    )
    .action(async (flags: ReconcileFlags) => {
      process.exitCode = await runReconcile(flags, options);
    });
}

async function runReconcile(flags: ReconcileFlags, options: ReconcileCommandOptions): Promise<number> {
  const config = options.config ?? loadConfig();
  const print = options.print ?? ((text) => void process.stdout.write(`${text}\n`));
  if (config.SENDGRID_API_KEY === undefined && flags.csv === undefined) {
    throw new UsageError("SENDGRID_API_KEY is not set: SendGrid cannot be asked");
  }
  const days = chooseDays(flags, config.HOLDFAST_ACCOUNT_TIME_ZONE);
  const progress = createProgress();
  const interrupted = interruption();
  try {
    return await withLedger("holdfast reconcile", options, async (pool) => {
      const request = { repair: flags.repair === true, progress, signal: options.signal ?? interrupted.signal };
      const result =
        flags.csv === undefined
          ? await checkDays({ pool, config }, { ...request, ...days })
          : await checkCsv({ pool, config }, { ...request, ...givenDays(flags) }, flags.csv);
      progress.clear();
      print(flags.json === true ? JSON.stringify(result) : describeReconciliation(result, request.repair));
      return EXIT_CODES[result.outcome];
    });
  } finally {
    progress.clear();
    interrupted.end();
  }
}

interface Place {
  pool: Pool;
  config: Config;
}

interface Check {
  repair: boolean;
  progress: Progress;
  signal: AbortSignal;
}

const NAME = "holdfast reconcile";

/** Checks days on a ledger by the settings, and carries out the repairs by itself. */
async function checkDays(
  place: Place,
  { progress, ...request }: Check & { fromDay: string; toDay: string },
): Promise<ReconcileResult> {
  return withOptions(place, async (options) =>
    reconcileDays(options, {
      ...request,
      name: NAME,
      onStep: (step) => showStep(progress, step, options.callsPerMinute),
    }),
  );
}

async function checkCsv(
  place: Place,
  { progress, ...request }: Check & { fromDay?: string; toDay?: string },
  file: string,
): Promise<CsvResult> {
  await access(file, constants.R_OK).catch((error: unknown) => {
    throw new UsageError(`${file} cannot be read`, { cause: error });
  });
  progress.show("reading the export", 0, 0);
  const result = await withOptions(place, async (options) =>
    reconcileCsv(options, { ...request, name: `${NAME} --csv` }, readActivityCsv(createReadStream(file))),
  );
  if (result.events === 0) throw new UsageError(`${file} holds no event (${result.reason ?? "it is empty"})`);
  return result;
}

async function withOptions<T>({ pool, config }: Place, work: (options: ReconcileOptions) => Promise<T>): Promise<T> {
  const client = createRecordsClient({ apiKey: config.SENDGRID_API_KEY ?? "", apiUrl: config.SENDGRID_API_URL });
  const settleSeconds = config.HOLDFAST_ENRICHMENT_SETTLE_SECONDS;
  try {
    return await work({
      ...reconcileSettings(config),
      pool,
      log: createLog("error"),
      client,
      async settleRepairs() {
        await drainRepairs(pool, { settleSeconds });
      },
    });
  } finally {
    await client.close();
  }
}

function givenDays({ from, to }: ReconcileFlags): { fromDay?: string; toDay?: string } {
  return { ...(from === undefined ? {} : { fromDay: from }), ...(to === undefined ? {} : { toDay: to }) };
}

function chooseDays({ from, to }: ReconcileFlags, timeZone: string): { fromDay: string; toDay: string } {
  const today = dayIn(timeZone, new Date());
  const toDay = to ?? today;
  const fromDay = from ?? addDays(toDay, 1 - RECONCILE_DAYS);
  if (fromDay > toDay) throw new UsageError("--from is later than --to");
  if (toDay > today) throw new UsageError(`--to is later than today, ${today}`);
  if (daysBetween(fromDay, toDay).length > RECONCILE_RANGE_DAYS_MAX) {
    throw new UsageError(`at most ${RECONCILE_RANGE_DAYS_MAX} days at once`);
  }
  return { fromDay, toDay };
}

const PHASES: Readonly<Record<ReconcileStep["phase"], string>> = {
  waiting: "another check is under way",
  totals: "totals",
  suspects: "messages that lack an event",
  suppressions: "suppression lists",
  lists: "lists of messages",
  messages: "single messages",
  repairs: "repairs",
  done: "done",
};

function showStep(progress: Progress, step: ReconcileStep, callsPerMinute: number): void {
  const { phase, day, account, done, days, calls, planned } = step;
  const place = account === "" ? day : `${day} ${account}`;
  // What is left to people is not ours.
  const minutes = Math.ceil(planned / Math.max(callsPerMinute - ENRICH_CALLS_RESERVED, 1));
  const left = planned === 0 ? "" : `, ${planned} to come, done in ${minutes} min`;
  progress.show("reconciling", done, days, `${place}: ${PHASES[phase]}; ${calls} calls${left}`);
}

function parseDay(text: string): string {
  if (!isDay(text)) throw new InvalidArgumentError("It must be a day such as 2026-01-31.");
  return text;
}
