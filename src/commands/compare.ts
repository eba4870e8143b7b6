import { InvalidArgumentError, type Command } from "commander";
import { readTableAddress, TABLE_FORM, type TableAddress } from "../audit/compare-address.ts";
import { compare, type Comparison } from "../audit/compare.ts";
import { UsageError } from "../errors.ts";
import { COMPARE_LISTED_DEFAULT, COMPARE_LISTED_MAX, RECONCILE_SETTLE_SECONDS } from "../limits.ts";
import { interruption, sourceNumber, withLedger, type LedgerCommandOptions } from "./ledger-command.ts";
import { createProgress } from "./progress.ts";

interface CompareFlags {
  table: string;
  idColumn: string;
  timeColumn?: string;
  from?: Date;
  to?: Date;
  source?: string;
  limit: number;
  json?: boolean;
}

/** As a shell reports a program that Ctrl-C ended. */
const INTERRUPTED = 130;

/** Adds `compare`. Its exit code is 0 when both sides have the same events, 1 when they differ. */
export function addCompareCommand(program: Command, options: LedgerCommandOptions = {}): void {
  program
    .command("compare")
    .description(
      "Hold the ledger against the table of another handler of the same webhooks: which events has only one?",
    )
    // Read by hand: commander repeats what it refuses, and this may hold a password.
    .requiredOption("--table <address>", `the table: ${TABLE_FORM}`)
    .requiredOption("--id-column <name>", "its column with SendGrid's sg_event_id")
    .option("--time-column <name>", "its column with the event's time: timestamptz, timestamp (in UTC) or unix seconds")
    .option("--from <time>", "only events since then (ISO 8601); needs --time-column", parseTime)
    .option("--to <time>", "only events before then; with --time-column the default is two minutes ago", parseTime)
    .option("--source <name>", "only the ledger's events of this source; default: all that are not simulated")
    .option(
      "--limit <n>",
      `name so many ids on each side, at most ${COMPARE_LISTED_MAX}`,
      parseLimit,
      COMPARE_LISTED_DEFAULT,
    )
    .option("--json", "print the result as JSON")
    .addHelpText(
      "after",
      "\nExample: holdfast compare --table postgres://reader@db.example.com/shop.public.email_events --id-column event_id" +
        "\nIt is the address of the database with the table behind its name; options such as ?sslmode=require come last, a dot" +
        "\nwithin a name is written %2E. Better than in the address stands the password in PGPASSWORD or ~/.pgpass. Names of" +
        "\nschema, table and columns are taken as they are, capitals too." +
        "\nNothing is written on either side. The user of the other database needs SELECT on the table, no more." +
        "\nWith a period the side that may lack an event is read three days beyond, so that a time of arrival will do." +
        "\nExit code: 0 the same events, 1 they differ, 2 used wrongly or the table cannot be read, 130 interrupted.",
    )
    .action(async (flags: CompareFlags) => {
      process.exitCode = await runCompare(flags, options);
    });
}

async function runCompare(flags: CompareFlags, options: LedgerCommandOptions): Promise<number> {
  const print = options.print ?? ((text) => void process.stdout.write(`${text}\n`));
  const address = readTableAddress(flags.table);
  const { from, to } = periodOf(flags);
  const progress = createProgress();
  const interrupted = interruption();
  const signal = options.signal ?? interrupted.signal;
  try {
    return await withLedger("holdfast compare", options, async (pool) => {
      const comparison = await compare({
        pool,
        address,
        columns: { id: flags.idColumn, time: flags.timeColumn },
        from,
        to,
        source: flags.source === undefined ? undefined : await sourceNumber(pool, flags.source),
        listed: flags.limit,
        onStep: (ids) => progress.show("comparing", ids, 0),
        signal,
      });
      progress.clear();
      print(flags.json === true ? JSON.stringify(comparison) : describeComparison(comparison, address));
      return comparison.outcome === "equal" ? 0 : 1;
    });
  } catch (error) {
    if (signal.aborted) return INTERRUPTED;
    throw error;
  } finally {
    progress.clear();
    interrupted.end();
  }
}

/** Without the table's times it is not known which of its events belong to a period. */
function periodOf({ from, to, timeColumn }: CompareFlags): { from: Date | undefined; to: Date | undefined } {
  if (timeColumn === undefined) {
    if (from !== undefined || to !== undefined) throw new UsageError("--from and --to need --time-column");
    return { from, to };
  }
  // What is younger may still be on its way to one of the two.
  const end = to ?? new Date(Date.now() - RECONCILE_SETTLE_SECONDS * 1000);
  if (from !== undefined && from >= end) throw new UsageError("--from is not before --to");
  return { from, to: end };
}

/** The result for people: three counts, then what differs, then what could not be compared. */
function describeComparison(comparison: Comparison, { shown }: TableAddress): string {
  const { both, onlyInHoldfast, onlyInTable, from, to, outcome } = comparison;
  const isWhole = from === null && to === null;
  return [
    `Holdfast beside ${shown}${isWhole ? "" : `, events ${from === null ? "" : `from ${from} `}until ${to ?? "now"}`}`,
    "",
    `in both            ${both}`,
    `only in Holdfast   ${onlyInHoldfast.events}${notes([
      [onlyInHoldfast.twins, "twins: the same event under another id"],
      [onlyInHoldfast.repaired, "filed from SendGrid's records, no webhook brought them"],
    ])}`,
    ...onlyInHoldfast.listed.map(
      ({ id, at, type, twin, origin }) =>
        `  ${at ?? "no time"}  ${type}  ${id}${twin ? "  twin" : ""}${origin === "webhook" ? "" : `  from ${origin}`}`,
    ),
    ...left(onlyInHoldfast.events - onlyInHoldfast.listed.length),
    `only in the table  ${onlyInTable.events}`,
    ...onlyInTable.listed.map(({ id, at, rows }) => `  ${at ?? "no time"}  ${id}${rows === 1 ? "" : `  ${rows} rows`}`),
    ...left(onlyInTable.events - onlyInTable.listed.length),
    ...apart(comparison),
    "",
    outcome === "equal" ? "Both have the same events." : "They differ.",
  ].join("\n");
}

function notes(counts: readonly (readonly [count: number, text: string])[]): string {
  const told = counts.filter(([count]) => count > 0).map(([count, text]) => `${count} ${text}`);
  return told.length === 0 ? "" : ` (${told.join("; ")})`;
}

function left(count: number): string[] {
  return count === 0 ? [] : [`  and ${count} more`];
}

function apart({ notComparable, repeatedInTable, withoutId, withoutTime }: Comparison): string[] {
  return [
    ...(repeatedInTable.ids === 0
      ? []
      : [`more than once in the table: ${repeatedInTable.ids} ids, ${repeatedInTable.rows} rows too many`]),
    ...(notComparable === 0 ? [] : [`not comparable: ${notComparable} events of Holdfast came without SendGrid's id`]),
    ...(withoutId === 0 ? [] : [`not comparable: ${withoutId} rows of the table have no id`]),
    ...(withoutTime === 0
      ? []
      : [`not known whether of this period: ${withoutTime} ids only in the table have no time`]),
  ];
}

function parseTime(text: string): Date {
  const time = new Date(
    /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d))?$/.test(text) ? text : "",
  );
  if (Number.isNaN(time.getTime())) {
    throw new InvalidArgumentError("It must be a time such as 2026-03-01T09:00:00Z, or a date.");
  }
  return time;
}

function parseLimit(text: string): number {
  const limit = Number(text);
  if (!/^\d+$/.test(text) || limit > COMPARE_LISTED_MAX) {
    throw new InvalidArgumentError(`It must be a number from 0 to ${COMPARE_LISTED_MAX}.`);
  }
  return limit;
}
