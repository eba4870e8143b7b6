import { dayIn, daysBetween } from "../days.ts";
import { RECONCILE_SETTLE_SECONDS } from "../limits.ts";
import { isMessageId } from "../message-id.ts";
import { countAccounts, type CountedAccount } from "./accounts.ts";
import { checkedWithoutCalls, repairRange } from "./check-day.ts";
import type { Context, DayWork } from "./context.ts";
import { withExport, type ExportRow, type ExportedMessage } from "./csv-rows.ts";
import { fileRecord } from "./messages.ts";
import { withRun, type ReconcileOptions, type ReconcileRequest, type ReconcileResult } from "./run.ts";

export interface CsvResult extends ReconcileResult {
  events: number;
  skipped: number;
  /** Why the first skipped row was. */
  reason: string | undefined;
}

/**
 * Holds a CSV export of SendGrid's Email Activity against the ledger, at no calls: by message, type and second, since an
 * export has no ids of events. The days are those of the export, unless the request names fewer.
 */
export async function reconcileCsv(
  options: ReconcileOptions,
  request: Omit<ReconcileRequest, "fromDay" | "toDay"> & Partial<Pick<ReconcileRequest, "fromDay" | "toDay">>,
  rows: AsyncIterable<ExportRow>,
): Promise<CsvResult> {
  const { pool, timeZone, now = () => new Date() } = options;
  return withExport(pool, rows, async (exported) => {
    const { first, last, events, skipped, reason } = exported;
    const fromDay = request.fromDay ?? dayIn(timeZone, first ?? now());
    const toDay = request.toDay ?? dayIn(timeZone, last ?? now());
    const range = { ...request, fromDay, toDay };
    const result = await withRun(options, range, async (context, days) => {
      const accounts = await countAccounts(pool, options.accounts, options.includeSimulated);
      const bySource = new Map(
        accounts.flatMap((account) => account.sources.map((source) => [source, account] as const)),
      );
      for await (const page of exported.lacking(context.signal)) {
        for (const message of page) await fileExported(context, { message, bySource, accounts });
      }
      for (const account of accounts) {
        if (request.repair)
          await repairRange(context, options.settleRepairs, { account: account.name, fromDay, toDay });
        for (const day of daysBetween(fromDay, toDay)) days.push(await checkedWithoutCalls(context, account, day));
      }
    });
    return { ...result, events, skipped, reason };
  });
}

async function fileExported(
  context: Context,
  {
    message,
    bySource,
    accounts,
  }: { message: ExportedMessage; bySource: ReadonlyMap<number, CountedAccount>; accounts: readonly CountedAccount[] },
): Promise<void> {
  const { messageId, events } = message;
  const found = await context.pool.query<{ source: number }>(
    `SELECT source FROM messages WHERE ${isMessageId("message_id", "$1")}`,
    [messageId],
  );
  // An export is of the account of the key, unless the ledger knows the message from elsewhere.
  const account = bySource.get(found.rows[0]?.source ?? -1) ?? accounts[0];
  const mainSource = account?.sources[0];
  if (account === undefined || mainSource === undefined) return;
  await fileRecord(context, exportWork(context, account, mainSource), {
    api: "csv",
    messageId,
    record: { recipient: undefined, events },
  });
}

/** A day that is no certain one: an export says nothing of how many there must be. */
function exportWork(context: Context, account: CountedAccount, mainSource: number): DayWork {
  return {
    account,
    day: "",
    fromMs: 0,
    toMs: 0,
    settledMs: context.now().getTime() - RECONCILE_SETTLE_SECONDS * 1000,
    mainSource,
    wanted: undefined,
    asked: new Set(),
    tried: new Set(),
    coverage: new Map(),
    callsLeft: { day: 0, guesses: 0 },
    listsLeft: 0,
    messagesLeft: 0,
    proven: new Set(),
    counted: new Map(),
    checked: { lists: 0, listsPlanned: 0, messages: 0, suppressions: false },
    isCut: false,
    lists: "none",
    groups: false,
    unlikely: new Set(),
    entries: [],
  };
}
