import { InvalidArgumentError, type Command } from "commander";
import { loadConfig } from "../config.ts";
import { UsageError } from "../errors.ts";
import type { ReceiptRange } from "../ledger/receipt-page.ts";
import type { TallyChange } from "../ledger/recount.ts";
import { replayQuarantine, type ReplayedQuarantine } from "../ledger/replay-quarantine.ts";
import { replayReceipts, type ReplayedReceipts } from "../ledger/replay-receipts.ts";
import type { Pool } from "../postgres/pool.ts";
import { interruption, sourceNumber, withLedger, type LedgerCommandOptions } from "./ledger-command.ts";
import { createProgress } from "./progress.ts";

interface ReplayFlags {
  quarantine?: string[] | true;
  all?: boolean;
  reason?: string;
  receipts?: ReceiptRange;
  source?: string;
  dryRun?: boolean;
  json?: boolean;
}

/** Adds `replay`. */
export function addReplayCommand(program: Command, options: LedgerCommandOptions = {}): void {
  program
    .command("replay")
    .description(
      "File again what quarantine holds, or what the ledger lacks of a range of receipts. Nothing is filed twice.",
    )
    .option("--quarantine [numbers...]", "read these quarantined items again; or with --all or --reason")
    .option("--all", "all open items of quarantine")
    .option("--reason <reason>", "all open items with this reason, such as no_timestamp")
    .option(
      "--receipts <range>",
      "project these receipts again: FROM..TO, as numbers (both included) or as times of arrival (before TO); either may be left out",
      parseRange,
    )
    .option("--source <name>", "only what came from this source")
    .option("--dry-run", "say what would change, and change nothing")
    .option("--json", "print the result as JSON")
    .addHelpText(
      "after",
      "\nExit code: 0 when all is filed, 1 when items asked for still cannot be read, or a dry run found something to do.",
    )
    .action(async (flags: ReplayFlags) => {
      process.exitCode = await runReplay(flags, options);
    });
}

async function runReplay(flags: ReplayFlags, options: LedgerCommandOptions): Promise<number> {
  checkFlags(flags);
  const print = options.print ?? ((text) => void process.stdout.write(`${text}\n`));
  const settleSeconds = loadConfig().HOLDFAST_ENRICHMENT_SETTLE_SECONDS;
  const progress = createProgress();
  const interrupted = interruption();
  const signal = options.signal ?? interrupted.signal;
  try {
    return await withLedger("holdfast replay", options, async (pool) => {
      const common = { pool, settleSeconds, isDryRun: flags.dryRun === true, signal };
      const source = flags.source === undefined ? undefined : await sourceNumber(pool, flags.source);
      if (flags.receipts === undefined) {
        const result = await replayQuarantine({
          ...common,
          selection: { ids: numbersOf(flags.quarantine), reason: flags.reason, source },
          onStep: ({ done, total }) => progress.show("replaying", done, total),
        });
        progress.clear();
        print(flags.json === true ? JSON.stringify(result) : describeQuarantine(result, common.isDryRun));
        return result.unreadable + result.notOpen.length > 0 || (common.isDryRun && result.filed > 0) ? 1 : 0;
      }
      const result = await replayReceipts({
        ...common,
        range: { ...flags.receipts, source },
        onStep: ({ receipts, hours }) =>
          progress.show("replaying receipts", receipts, 0, hours === 0 ? "" : `${hours} hours recounted`),
      });
      progress.clear();
      const names = await sourceNames(pool);
      print(
        flags.json === true ? JSON.stringify(asJson(result, names)) : describeReceipts(result, names, common.isDryRun),
      );
      return common.isDryRun && hasChanges(result) ? 1 : 0;
    });
  } finally {
    progress.clear();
    interrupted.end();
  }
}

function checkFlags({ quarantine, receipts, all, reason }: ReplayFlags): void {
  if ((quarantine === undefined) === (receipts === undefined)) {
    throw new UsageError("say what to replay: either --quarantine or --receipts");
  }
  if (receipts !== undefined && (all === true || reason !== undefined)) {
    throw new UsageError("--all and --reason go with --quarantine");
  }
  const ways = [Array.isArray(quarantine), all === true, reason !== undefined].filter(Boolean).length;
  if (receipts === undefined && ways !== 1) {
    throw new UsageError("say which quarantined items: their numbers, or --all, or --reason");
  }
}

function numbersOf(quarantine: ReplayFlags["quarantine"]): number[] | undefined {
  if (!Array.isArray(quarantine)) return undefined;
  return quarantine.map((text) => {
    if (!/^[1-9]\d{0,14}$/.test(text)) throw new UsageError(`${text} is not the number of a quarantined item`);
    return Number(text);
  });
}

/** `FROM..TO`: both numbers of receipts, or both times; either may be left out. A number alone is that receipt. */
function parseRange(text: string): ReceiptRange {
  const [from = "", to = "", ...rest] = text.includes("..") ? text.split("..") : [text, text];
  if (rest.length > 0 || (from === "" && to === "")) throw new InvalidArgumentError("It must look like FROM..TO.");
  if ([from, to].every((limit) => /^(\d{1,15})?$/.test(limit))) {
    return { firstId: from === "" ? undefined : Number(from), lastId: to === "" ? undefined : Number(to) };
  }
  const [fromTime, toTime] = [from, to].map((limit) => (limit === "" ? undefined : new Date(limit)));
  if ([fromTime, toTime].some((time) => time !== undefined && Number.isNaN(time.getTime())) || !text.includes("..")) {
    throw new InvalidArgumentError("FROM and TO must be numbers of receipts, or times such as 2026-01-31T12:00:00Z.");
  }
  return { from: fromTime, to: toTime };
}

function describeQuarantine(result: ReplayedQuarantine, isDryRun: boolean): string {
  const { filed, stored, duplicate, unreadable, unreadableIds, notOpen } = result;
  return [
    ...(isDryRun ? ["Nothing was changed. A replay would give:"] : []),
    `filed       ${filed} items (${stored} events stored, ${duplicate} duplicates)`,
    `unreadable  ${unreadable}${unreadable === 0 ? "" : `: ${shortList(unreadableIds, unreadable)}`}`,
    ...(notOpen.length === 0 ? [] : [`not open    ${shortList(notOpen, notOpen.length)}`]),
  ].join("\n");
}

function shortList(numbers: readonly number[], total: number): string {
  return `${numbers.join(", ")}${total > numbers.length ? ", …" : ""}`;
}

function hasChanges(result: ReplayedReceipts): boolean {
  const { stored, quarantined, readable, messages, twins, tallies } = result;
  return stored + quarantined + readable + messages + twins + tallies.length > 0;
}

function describeReceipts(result: ReplayedReceipts, names: ReadonlyMap<number, string>, isDryRun: boolean): string {
  return [
    ...(isDryRun ? ["Nothing was changed. A replay would give:"] : []),
    `receipts     ${result.receipts}${result.pending === 0 ? "" : ` (${result.pending} pending: left to the projector)`}`,
    `stored       ${result.stored} events that were missing`,
    `quarantined  ${result.quarantined} items that were missing there`,
    `readable     ${result.readable} items taken out of quarantine`,
    `messages     ${result.messages} set to what their events give`,
    `twins        ${result.twins} flags set right`,
    `tallies      ${result.tallies.length} set to what was counted`,
    ...result.tallies.map((change) => `  ${describeTally(change, names)}`),
  ].join("\n");
}

function describeTally({ hour, source, recorded, counted }: TallyChange, names: ReadonlyMap<number, string>): string {
  const figures = Object.entries(counted).map(
    ([column, value]) => `${column} ${recorded[column as keyof typeof recorded] ?? 0} to ${value}`,
  );
  return `${hour.toISOString()} ${names.get(source) ?? source}: ${figures.join(", ")}`;
}

function asJson(result: ReplayedReceipts, names: ReadonlyMap<number, string>): unknown {
  const tallies = result.tallies.map((change) => Object.assign({}, change, { source: names.get(change.source) }));
  return { ...result, tallies };
}

async function sourceNames(pool: Pool): Promise<Map<number, string>> {
  const { rows } = await pool.query<{ id: number; name: string }>("SELECT id, name FROM sources");
  return new Map(rows.map(({ id, name }) => [id, name]));
}
