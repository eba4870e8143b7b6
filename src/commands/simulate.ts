import { InvalidArgumentError, type Command } from "commander";
import { loadConfig, type Config } from "../config.ts";
import { UsageError } from "../errors.ts";
import { SIMULATED_BATCH_MAX, SIMULATED_CONCURRENCY_MAX, SIMULATED_EVENTS_MAX } from "../limits.ts";
import { createLog } from "../log.ts";
import { createPool } from "../postgres/pool.ts";
import type { LedgerReader } from "../simulator/compare.ts";
import { parseSimulatorKey, readSimulatorKey, simulatorKey, type SimulatorKey } from "../simulator/key.ts";
import { databaseLedger } from "../simulator/ledger-database.ts";
import { restLedger } from "../simulator/ledger-rest.ts";
import { isFlawless, runSimulation, type SimulationReport, type SimulationStep } from "../simulator/run.ts";
import { createProgress, type Progress } from "./progress.ts";
import { findRunningService, type RunningService } from "./running-service.ts";

/** What the simulated traffic is like: the options that `simulate` and `demo` share. */
export interface TrafficFlags {
  events: number;
  rate: number;
  batch: number;
  duplicates: number;
  shuffle: boolean;
  twins: boolean;
  missingIds: boolean;
  poison: boolean;
  seed: string;
  concurrency: number;
  lose: number;
}

export interface SimulateFlags extends TrafficFlags {
  /** Unix seconds. */
  start?: number;
  hours: number;
  url?: string;
  source: string;
  key?: string;
  keyFile?: string;
  token?: string;
  manifest?: string;
  json?: boolean;
}

const HOUR_SECONDS = 3_600;

/** Adds `simulate` to the program. Its exit code is 0, or 1 when something is lost or double. */
export function addSimulateCommand(program: Command): void {
  const command = program
    .command("simulate")
    .description(
      "Post life-like traffic as SendGrid does, then compare by id what was acknowledged with what the ledger holds.",
    );
  addTrafficOptions(command, { events: 1_000, rate: 0, duplicates: 0 })
    .option("--shuffle", "post events out of their order", false)
    .option("--twins", "re-deliver some events under another sg_event_id", false)
    .option("--missing-ids", "leave out the ids that SendGrid is known to leave out", false)
    .option("--poison", "add broken items and bodies, forged POSTs, and good events that are hard to store", false)
    .option(
      "--start <time>",
      "the traffic's beginning, ISO 8601; default: --hours before the last full hour",
      parseTime,
    )
    .option("--hours <n>", "the time the traffic is spread over", number(0.01, 24 * 365), 2)
    .option("--url <address>", "the whole webhook address; default: the service running on HOLDFAST_DATA_DIR", parseUrl)
    .option("--source <name>", "the source posted to", "simulation")
    .option("--key <pem>", "the private key that signs (other users of this machine can see it: rather use --key-file)")
    .option(
      "--key-file <path>",
      "a file with the private key that signs; default: the simulator's key in HOLDFAST_DATA_DIR",
    )
    .option("--token <token>", "compare through the REST interface with this token, instead of through the database")
    .option("--manifest <path>", "write what was acknowledged into a new file, a line of JSON for each POST")
    .option("--json", "print the result as JSON")
    .addHelpText(
      "after",
      "\nThe same seed, start and options give the same bytes: a second run then finds nothing but duplicates." +
        "\nThe start is printed; give it with --start to repeat a run after the hour has changed.",
    )
    .action(async (flags: SimulateFlags) => {
      process.exitCode = await simulate(flags);
    });
}

/** Declares the options that `simulate` and `demo` share. */
export function addTrafficOptions(
  command: Command,
  defaults: { events: number; rate: number; duplicates: number },
): Command {
  return command
    .option(
      "--events <n>",
      "events to make, each distinct; duplicates, twins and broken items come on top",
      integer(1, SIMULATED_EVENTS_MAX),
      defaults.events,
    )
    .option("--rate <n>", "events a second; 0 is as fast as it goes", number(0, 1_000_000), defaults.rate)
    .option("--batch <n>", "events in a POST", integer(1, SIMULATED_BATCH_MAX), 100)
    .option(
      "--duplicates <share>",
      "the share of events that are posted again, from 0 to 1",
      number(0, 1),
      defaults.duplicates,
    )
    .option("--seed <text>", "makes the run repeatable", "1")
    .option("--concurrency <n>", "POSTs under way at once", integer(1, SIMULATED_CONCURRENCY_MAX), 4)
    .option(
      "--lose <n>",
      "events that SendGrid knows and never posts, chosen by the seed: its webhook lost them",
      integer(0, SIMULATED_EVENTS_MAX),
      0,
    );
}

/**
 * Runs one simulation against a running service.
 *
 * @returns the exit code: 0, or 1 when something is lost, double or otherwise wrong.
 * @throws UsageError when there is no service to post to, or it does not take this traffic.
 */
async function simulate(flags: SimulateFlags): Promise<number> {
  const config = loadConfig();
  const service = await findRunningService(config.HOLDFAST_DATA_DIR);
  const url = flags.url ?? defaultUrl(service, flags.source, config);
  const { privateKey } = await chooseKey(flags, config);
  const ledger = openLedger(flags, url, service, config);
  const startSeconds = flags.start ?? defaultStart(flags.hours);
  const progress = createProgress();
  const abort = new AbortController();
  const onInterrupt = (): void => abort.abort();
  process.once("SIGINT", onInterrupt);
  try {
    const report = await runSimulation({
      ...splitFlags(flags, startSeconds, flags.hours),
      url,
      privateKey,
      ledger,
      ...(flags.manifest === undefined ? {} : { manifestPath: flags.manifest }),
      onStep: (step) => showStep(progress, step, flags.events),
      signal: abort.signal,
    });
    progress.clear();
    print(report, flags, startSeconds);
    return isFlawless(report) ? 0 : 1;
  } finally {
    progress.clear();
    process.off("SIGINT", onInterrupt);
    await ledger?.close();
  }
}

/** The flags as the simulator's own options. */
export function splitFlags(
  flags: TrafficFlags,
  startSeconds: number,
  hours: number,
): Pick<Parameters<typeof runSimulation>[0], "traffic" | "posting" | "rate" | "concurrency"> {
  const { seed, events, twins, missingIds, poison, batch, duplicates, shuffle, rate, concurrency, lose } = flags;
  const periodSeconds = Math.round(hours * HOUR_SECONDS);
  return {
    traffic: { seed, startSeconds, periodSeconds, events, twins, missingIds, poison },
    posting: { batch, duplicates, shuffle, ...(lose === 0 ? {} : { lose }) },
    rate,
    concurrency,
  };
}

/** Shows how far a simulation is. */
export function showStep(progress: Progress, step: SimulationStep, events: number): void {
  if (step.step === "send")
    progress.show("posting  ", step.done, events, step.retries === 0 ? "" : `${step.retries} retries`);
  else if (step.step === "project") progress.show("filing   ", step.pending, 0, "receipts waiting");
  else progress.show("comparing", step.done, events);
}

/** Full hours, so that a second run soon after the first repeats it; nothing of it lies in the future. */
function defaultStart(hours: number): number {
  const fullHour = Math.floor(Date.now() / 1000 / HOUR_SECONDS) * HOUR_SECONDS;
  return fullHour - Math.round(hours * HOUR_SECONDS);
}

function defaultUrl(service: RunningService | undefined, source: string, config: Config): string {
  if (service === undefined) {
    throw new UsageError(
      `no Holdfast is running on ${config.HOLDFAST_DATA_DIR}: start it with npm start, or give an address with --url`,
    );
  }
  return `${service.url}/webhooks/sendgrid${source === "default" ? "" : `/${source}`}`;
}

async function chooseKey(flags: SimulateFlags, config: Config): Promise<SimulatorKey> {
  try {
    if (flags.key !== undefined) return parseSimulatorKey(flags.key, "--key");
    if (flags.keyFile !== undefined) return await readSimulatorKey(flags.keyFile);
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : "the key cannot be read", { cause: error });
  }
  return simulatorKey(config.HOLDFAST_DATA_DIR);
}

/** The database where it is at hand, else the REST interface where there is a token, else nothing. */
function openLedger(
  flags: SimulateFlags,
  url: string,
  service: RunningService | undefined,
  config: Config,
): LedgerReader | undefined {
  const { origin } = new URL(url);
  if (flags.token !== undefined) return restLedger(origin, flags.token);
  const isThisService = service !== undefined && new URL(service.url).origin === origin;
  const databaseUrl = isThisService ? service.databaseUrl : config.DATABASE_URL;
  if (databaseUrl === undefined) return undefined;
  const pool = createPool({ databaseUrl, log: createLog("error"), connectionsMax: 2, name: "holdfast simulate" });
  return databaseLedger(pool, flags.source, () => pool.end());
}

function print(report: SimulationReport, flags: SimulateFlags, startSeconds: number): void {
  const start = new Date(startSeconds * 1000).toISOString();
  const { sent, comparison, acknowledged, pending, seconds } = report;
  if (flags.json === true) {
    process.stdout.write(
      `${JSON.stringify({ seed: flags.seed, start, losing: flags.lose, acknowledged, pending, seconds, ...sent, ...comparison })}\n`,
    );
    return;
  }
  const lines: string[] = [];
  const line = (name: string, value: string | number): void => {
    lines.push(`${name.padEnd(13)}${value}`);
  };
  line("seed", `${flags.seed}, from ${start}`);
  if (flags.lose > 0) line("losing", flags.lose);
  line("acknowledged", acknowledged);
  if (comparison === undefined) {
    line("retries", sent.retries);
    lines.push("not compared: there is neither a database at hand nor a token (--token)");
  } else {
    line("processed", comparison.processed);
    line("retries", sent.retries);
    line("lost", comparison.lost);
    line("double", comparison.double);
    if (flags.poison) line("quarantined", `${comparison.quarantined.found} of ${comparison.quarantined.expected}`);
    if (comparison.unchecked > 0) line("unchecked", comparison.unchecked);
    for (const id of comparison.examples.lost) line("  lost", id);
    for (const id of comparison.examples.double) line("  double", id);
  }
  if (pending > 0) lines.push(`${pending} receipts were still waiting to be filed when the comparison began`);
  if (sent.givenUp > 0) lines.push(`${sent.givenUp} POSTs were never acknowledged`);
  if (sent.forgedAccepted > 0) lines.push(`${sent.forgedAccepted} POSTs with a forged signature were accepted`);
  process.stdout.write(`${lines.join("\n")}\n`);
}

export function integer(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < min || value > max)
      throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`);
    return value;
  };
}

function number(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (text.trim() === "" || !(value >= min && value <= max))
      throw new InvalidArgumentError(`It must be a number from ${min} to ${max}.`);
    return value;
  };
}

function parseTime(text: string): number {
  const ms = Date.parse(text);
  if (Number.isNaN(ms)) throw new InvalidArgumentError("It must be a time such as 2026-01-31T12:00:00Z.");
  return Math.floor(ms / 1000);
}

function parseUrl(text: string): string {
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol))
    throw new InvalidArgumentError("It must be an address beginning with http:// or https://.");
  return text;
}
