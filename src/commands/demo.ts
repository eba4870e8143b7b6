import { setTimeout as delay } from "node:timers/promises";
import type { Command } from "commander";
import { API_CALLS_PER_MINUTE } from "../limits.ts";
import { createLog } from "../log.ts";
import { createPool, type Pool } from "../postgres/pool.ts";
import { startApiDouble, type ApiDouble } from "../simulator/api-double.ts";
import { simulatorKey } from "../simulator/key.ts";
import { databaseLedger } from "../simulator/ledger-database.ts";
import { lostEventIds } from "../simulator/losses.ts";
import { isFlawless, runSimulation, type SimulationReport } from "../simulator/run.ts";
import type { TrafficOptions } from "../simulator/traffic.ts";
import { reconcileDemo, repairCommand } from "./demo-reconcile.ts";
import { startDemoService, type DemoService } from "./demo-service.ts";
import { createProgress, type Progress } from "./progress.ts";
import { addTrafficOptions, integer, showStep, splitFlags, type TrafficFlags } from "./simulate.ts";

export interface DemoFlags extends TrafficFlags {
  exit?: boolean;
  reconcile?: boolean;
  repair?: boolean;
  callsPerMinute?: number;
  dataDir?: string;
  verbose?: boolean;
}

const EVENTS_DEFAULT = 20_000;
/** Slow enough to watch. */
const RATE_DEFAULT = 1_000;
const HOURS = 2;
const DAY_SECONDS = 86_400;
/** Both are about a minute at SendGrid; a demo cannot wait that long. */
const VISIBLE_AFTER_SECONDS = 1;
const SETTLE_SECONDS = 10;
/** A story of losses asks for each of them: nobody waits a quarter of an hour for that. */
const QUICK_CALLS_PER_MINUTE = 600;
/** The most that the service's setting takes. */
const CALLS_PER_MINUTE_MAX = 6_000;
const POLL_MS = 500;
/** Enrichment that moves nothing for this long has stopped: a refused window is asked again after at most a minute. */
const ENRICHMENT_STILL_MS_MAX = 180_000;

/** Adds `demo` to the program. With --exit its exit code is the simulation's. */
export function addDemoCommand(program: Command): void {
  const command = program
    .command("demo")
    .description(
      "Start Holdfast, a double of SendGrid's API and a campaign with duplicates, shuffling and poison; stay up for a look.",
    );
  addTrafficOptions(command, { events: EVENTS_DEFAULT, rate: RATE_DEFAULT, duplicates: 0.1 })
    .option("--exit", "post as fast as it goes, print the figures and end when everything is done", false)
    .option(
      "--reconcile",
      "compare with SendGrid's records afterwards, and say what is missing; with --lose but without --exit always done",
      false,
    )
    .option("--repair", "repair what the comparison finds", false)
    .option(
      "--calls-per-minute <n>",
      `what the double and the service take for SendGrid's limit; default: ${API_CALLS_PER_MINUTE}, as SendGrid says, and ${QUICK_CALLS_PER_MINUTE} with --lose`,
      integer(1, CALLS_PER_MINUTE_MAX),
    )
    .option("--data-dir <path>", "keep the data there; default: a fresh folder, removed at the end")
    .option("--verbose", "show the service's log", false)
    .action(async (flags: DemoFlags, self: Command) => {
      // Nobody watches a demo that ends by itself.
      const rate = flags.exit === true && self.getOptionValueSource("rate") === "default" ? 0 : flags.rate;
      process.exitCode = await demo({ ...flags, ...CAMPAIGN, rate });
    });
}

/** What was asked for, or SendGrid's published limit, which a demo that is watched must not make easier. */
function callsPerMinuteOf({ callsPerMinute, lose }: DemoFlags): number {
  return callsPerMinute ?? (lose > 0 ? QUICK_CALLS_PER_MINUTE : API_CALLS_PER_MINUTE);
}

/** A demo shows everything. */
const CAMPAIGN = { shuffle: true, twins: true, missingIds: true, poison: true };

/**
 * Runs the whole main job on this machine: a service in a process of its own, the double in this one, simulated traffic.
 *
 * @returns the simulation's exit code; without `exit` after Ctrl-C, or when the service ended by itself.
 */
async function demo(flags: DemoFlags): Promise<number> {
  const progress = createProgress();
  const interrupted = interruption();
  const double = await startApiDouble({
    callsPerMinute: callsPerMinuteOf(flags),
    visibleAfterSeconds: VISIBLE_AFTER_SECONDS,
  });
  let service: DemoService | undefined;
  try {
    process.stdout.write("Starting Holdfast with a database of its own …\n");
    service = await startDemoService({
      apiUrl: double.url,
      apiKey: double.apiKey,
      settleSeconds: SETTLE_SECONDS,
      callsPerMinute: callsPerMinuteOf(flags),
      isVerbose: flags.verbose === true,
      ...(flags.dataDir === undefined ? {} : { dataDir: flags.dataDir }),
    });
    process.stdout.write(
      `page     ${service.adminLink ?? service.url}\nwebhook  ${service.url}/webhooks/sendgrid/simulation\n\n`,
    );
    const pool = createPool({
      databaseUrl: service.databaseUrl,
      log: createLog("error"),
      connectionsMax: 3,
      name: "holdfast demo",
    });
    try {
      return await campaign({ flags, service, pool, double, progress, interrupted, startSeconds: trafficStart(flags) });
    } finally {
      await pool.end();
    }
  } finally {
    progress.clear();
    interrupted.end();
    await service?.stop();
    await double.stop();
  }
}

interface Campaign {
  flags: DemoFlags;
  service: DemoService;
  pool: Pool;
  double: ApiDouble;
  progress: Progress;
  interrupted: Interruption;
  /** Unix seconds. */
  startSeconds: number;
}

async function campaign(run: Campaign): Promise<number> {
  const { flags, service, pool, double, progress, interrupted, startSeconds } = run;
  const { privateKey } = await simulatorKey(service.dataDir);
  const simulation = splitFlags(flags, startSeconds, HOURS);
  const report = await runSimulation({
    ...simulation,
    url: `${service.url}/webhooks/sendgrid/simulation`,
    privateKey,
    ledger: databaseLedger(pool, "simulation"),
    onNews: (event) => double.record(event),
    onStep: (step) => showStep(progress, step, flags.events),
    signal: interrupted.signal,
  });
  progress.clear();
  if (flags.exit !== true)
    process.stdout.write(
      `${summary(await readBalance(pool), report, flags.lose)}\n\nEnriching, ${callsPerMinuteOf(flags)} calls a minute …\n`,
    );
  const enrichment = await waitUntilEnriched(pool, progress, interrupted.signal);
  const balance = await readBalance(pool);
  const { messages, message, logs, log } = double.calls;
  const calls = messages + message + logs + log;
  if (flags.exit === true) {
    const rows: [string, number][] = [
      ["accepted", balance.accepted],
      ["stored", balance.stored],
      ["duplicate", balance.duplicate],
      ["retries", balance.retries],
      ["lost", lostIn(balance, report)],
      ["double", report.comparison?.double ?? 0],
      ["enriched", enrichment.enriched],
      ["API calls", calls],
    ];
    process.stdout.write(`${rows.map(([name, value]) => `${name} ${value}`).join("\n")}\n`);
    explain(report, enrichment);
  } else if (!interrupted.signal.aborted) {
    process.stdout.write(`enriched ${enrichment.enriched} messages with ${calls} API calls\n`);
  }
  const isComplete = await compareWithRecords(run, simulation.traffic);
  if (flags.exit !== true && !interrupted.signal.aborted) {
    process.stdout.write("\nHoldfast stays up. Ctrl-C ends it.\n");
    await Promise.race([interrupted.happened, service.ended]);
  }
  return isFlawless(report) && lostIn(balance, report) === 0 && isComplete ? 0 : 1;
}

/**
 * The hours before now. What is lost plays on the day before, in UTC: all that is missing of a day can only be known when
 * the day is over.
 */
function trafficStart({ lose }: DemoFlags): number {
  if (lose > 0) return Math.floor(Date.now() / 1000 / DAY_SECONDS) * DAY_SECONDS - DAY_SECONDS / 2;
  return Math.floor(Date.now() / 60_000) * 60 - HOURS * 3_600;
}

/**
 * Compares the ledger with the double's records, where that is part of the story.
 *
 * @returns whether exactly the lost events are missing, and repaired if that was asked for.
 */
async function compareWithRecords(run: Campaign, traffic: TrafficOptions): Promise<boolean> {
  const { flags, service, pool, double, progress, interrupted, startSeconds } = run;
  const isPart = flags.reconcile === true || (flags.lose > 0 && flags.exit !== true);
  if (!isPart || interrupted.signal.aborted) return true;
  const repair = flags.repair === true;
  if (flags.exit !== true)
    process.stdout.write(`\nComparing with SendGrid's records, ${callsPerMinuteOf(flags)} calls a minute …\n`);
  const found = await reconcileDemo({
    pool,
    apiUrl: double.url,
    apiKey: double.apiKey,
    callsPerMinute: callsPerMinuteOf(flags),
    startSeconds,
    endSeconds: startSeconds + HOURS * 3_600,
    repair,
    progress,
    signal: interrupted.signal,
  });
  process.stdout.write(`missing ${found.missing}\nrepaired ${found.repaired}\n`);
  if (flags.exit !== true && !repair)
    process.stdout.write(
      `\nRepair it on the page, or by\n  ${repairCommand(service, double, callsPerMinuteOf(flags))}\n`,
    );
  const strangers = await strangersAmongGaps(pool, lostEventIds(traffic, flags.lose));
  if (strangers.length > 0)
    process.stderr.write(`${strangers.map((id) => `missing, though not lost: ${id}`).join("\n")}\n`);
  return found.missing === flags.lose && strangers.length === 0 && (!repair || found.repaired === found.missing);
}

/** Events that were found missing, and that SendGrid's webhook did not lose. */
async function strangersAmongGaps(pool: Pool, lost: readonly string[]): Promise<string[]> {
  const found = await pool.query<{ id: string }>(
    `SELECT coalesce(event_id, identity) AS id FROM gaps
     WHERE confidence = 'confirmed' AND (event_id IS NULL OR event_id <> ALL ($1)) ORDER BY id`,
    [lost],
  );
  return found.rows.map(({ id }) => id);
}

interface BalanceFigures {
  accepted: number;
  stored: number;
  duplicate: number;
  quarantined: number;
  /** Transactions tried again after a deadlock. */
  retries: number;
}

/** As GET /api/balance, over everything. */
async function readBalance(pool: Pool): Promise<BalanceFigures> {
  const result = await pool.query<BalanceFigures>(
    `SELECT coalesce(sum(accepted), 0) AS accepted, coalesce(sum(stored), 0) AS stored, coalesce(sum(duplicate), 0) AS duplicate,
            coalesce(sum(quarantined), 0) AS quarantined, coalesce(sum(retries), 0) AS retries
     FROM tallies`,
  );
  return result.rows[0] ?? { accepted: 0, stored: 0, duplicate: 0, quarantined: 0, retries: 0 };
}

/** Whichever of the two proofs finds more: the ledger's own balance, or the comparison by id. */
function lostIn(balance: BalanceFigures, report: SimulationReport): number {
  const unbalanced = Math.abs(balance.accepted - balance.stored - balance.duplicate - balance.quarantined);
  return Math.max(unbalanced, report.comparison?.lost ?? 0);
}

function summary(balance: BalanceFigures, report: SimulationReport, lose: number): string {
  return [
    ...(lose === 0 ? [] : [`losing ${lose}`]),
    `accepted ${balance.accepted}`,
    `stored ${balance.stored}`,
    `duplicate ${balance.duplicate}`,
    `quarantined ${balance.quarantined}`,
    `lost ${lostIn(balance, report)}`,
    `double ${report.comparison?.double ?? 0}`,
  ].join("\n");
}

/** What is wrong, on standard error: the figures on standard output are for programs too. */
function explain(report: SimulationReport, enrichment: { failed: number; pending: number }): void {
  const { sent, comparison } = report;
  const lines = [
    ...(comparison?.examples.lost ?? []).map((id) => `lost: ${id}`),
    ...(comparison?.examples.double ?? []).map((id) => `double: ${id}`),
    ...(comparison !== undefined && comparison.quarantined.found !== comparison.quarantined.expected
      ? [`quarantined ${comparison.quarantined.found} of ${comparison.quarantined.expected}`]
      : []),
    ...(sent.givenUp > 0 ? [`POSTs never acknowledged: ${sent.givenUp}`] : []),
    ...(sent.forgedAccepted > 0 ? [`forged POSTs accepted: ${sent.forgedAccepted}`] : []),
    ...(enrichment.failed > 0 ? [`messages whose enrichment failed: ${enrichment.failed}`] : []),
    ...(enrichment.pending > 0 ? [`messages still waiting for enrichment: ${enrichment.pending}`] : []),
  ];
  if (lines.length > 0) process.stderr.write(`${lines.join("\n")}\n`);
}

interface EnrichmentFigures {
  enriched: number;
  failed: number;
  pending: number;
}

async function readEnrichment(pool: Pool): Promise<EnrichmentFigures> {
  const result = await pool.query<EnrichmentFigures>(
    `SELECT count(*) FILTER (WHERE state = 'enriched') AS enriched, count(*) FILTER (WHERE state = 'failed') AS failed,
            count(*) FILTER (WHERE state = 'pending') AS pending
     FROM enrichments`,
  );
  return result.rows[0] ?? { enriched: 0, failed: 0, pending: 0 };
}

/** Waits until every message is enriched or failed, or until nothing has moved for a long time. */
async function waitUntilEnriched(pool: Pool, progress: Progress, signal: AbortSignal): Promise<EnrichmentFigures> {
  let lowest = Infinity;
  let movedMs = performance.now();
  for (;;) {
    const figures = await readEnrichment(pool);
    const total = figures.enriched + figures.failed + figures.pending;
    progress.show(
      "enriching",
      figures.enriched + figures.failed,
      total,
      figures.failed > 0 ? `${figures.failed} failed` : "",
    );
    if (figures.pending < lowest) {
      lowest = figures.pending;
      movedMs = performance.now();
    }
    if (figures.pending === 0 || signal.aborted || performance.now() - movedMs > ENRICHMENT_STILL_MS_MAX) {
      progress.clear();
      return figures;
    }
    await delay(POLL_MS);
  }
}

interface Interruption {
  signal: AbortSignal;
  happened: Promise<void>;
  end(): void;
}

/** SIGINT and SIGTERM end the demo cleanly: the service drains, and a folder made for it is removed. */
function interruption(): Interruption {
  const abort = new AbortController();
  const { signal } = abort;
  const happened = new Promise<void>((resolve) => {
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
  const onSignal = (): void => {
    abort.abort();
  };
  process.on("SIGINT", onSignal);
  process.on("SIGTERM", onSignal);
  return {
    signal,
    happened,
    end() {
      process.off("SIGINT", onSignal);
      process.off("SIGTERM", onSignal);
    },
  };
}
