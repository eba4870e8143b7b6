import { ARG_KEYS_MAX, AUDIT_STATEMENT_MS_MAX } from "../limits.ts";
import type { Connection, Pool } from "../postgres/pool.ts";
import { BY_INDEX, transaction } from "../postgres/transaction.ts";
import { accountForPage, type Account, type ReadableQuarantine } from "./account.ts";
import { correctMessages, type Corrected } from "./correct.ts";
import { dryRun } from "./dry-run.ts";
import type { MessageExtras } from "./merge.ts";
import { checkPageMessages, extrasOf } from "./message-check.ts";
import { batchEvent, groupByMessage, type BatchEvent } from "./plan.ts";
import { argKeysOf, fileGroups, notifyFiled } from "./project.ts";
import { createRead } from "./read.ts";
import { readReceiptPage, type ReceiptPage, type ReceiptRange } from "./receipt-page.ts";
import { correctTally, type TallyChange } from "./recount.ts";
import { countReflagged, extrasOfNew } from "./replace.ts";
import { withReplayLock } from "./replay-lock.ts";
import { insertArgKeys, insertQuarantined, lockMessages, markReplayed, type ReceiptQuarantine } from "./statements.ts";
import { addTallies, type Tallies } from "./tally.ts";

export interface ReplayReceiptsOptions {
  pool: Pool;
  range: ReceiptRange;
  settleSeconds: number;
  /** Does it all in one transaction, and rolls that back. */
  isDryRun: boolean;
  onStep?: (step: { receipts: number; hours: number }) => void;
  /** Stops after the page under way. */
  signal?: AbortSignal | undefined;
}

/** What a replay found and put right, or would. */
export interface ReplayedReceipts {
  receipts: number;
  /** Receipts left to the projector, since they wait for it. */
  pending: number;
  /** Events that were missing. */
  stored: number;
  /** Items that belonged in quarantine and were not there. */
  quarantined: number;
  /** Items that came out of quarantine. */
  readable: number;
  /** Messages set to what their events give, and events whose twin flag was wrong. */
  messages: number;
  twins: number;
  tallies: TallyChange[];
}

/** Where the work is done: each page in transactions of its own, or all in one. */
interface Access {
  read<T>(work: (tx: Connection) => Promise<T>): Promise<T>;
  write<T>(work: (tx: Connection) => Promise<T>): Promise<T>;
}

/**
 * Projects receipts again: files what the ledger lacks of them, sets their messages to what their events give, and the
 * tallies of their hours to what bytes and rows give.
 *
 * Invariant: a replay of what is whole changes nothing. An event or a row of quarantine that is there is neither
 * overwritten nor removed, whatever it says: it is evidence. Tests: replay-receipts.pg.test.ts.
 *
 * @throws UsageError when another replay is under way.
 */
export async function replayReceipts(options: ReplayReceiptsOptions): Promise<ReplayedReceipts> {
  const { pool, isDryRun } = options;
  return withReplayLock(pool, async () => {
    if (isDryRun) {
      return dryRun(pool, async (tx) => {
        const here: Access["read"] = async (work) => work(tx);
        return replay({ read: here, write: here }, options);
      });
    }
    const read = createRead(pool, { statementMsMax: AUDIT_STATEMENT_MS_MAX });
    return replay({ read, write: async (work) => transaction(pool, work, { settings: BY_INDEX }) }, options);
  });
}

async function replay(access: Access, options: ReplayReceiptsOptions): Promise<ReplayedReceipts> {
  const { range, settleSeconds, isDryRun, onStep, signal } = options;
  const result: ReplayedReceipts = {
    receipts: 0,
    pending: 0,
    stored: 0,
    quarantined: 0,
    readable: 0,
    messages: 0,
    twins: 0,
    tallies: [],
  };
  const hours: Tallies = new Map();
  let after: number | undefined;
  for (;;) {
    const found = await access.read(async (tx) => survey(tx, range, after, hours));
    if (found.page.receipts.length === 0 || signal?.aborted === true) break;
    await repair(access, found, settleSeconds, result);
    after = found.page.upTo;
    result.receipts += found.page.receipts.length;
    result.pending += found.page.receipts.filter(({ isPending }) => isPending).length;
    onStep?.({ receipts: result.receipts, hours: 0 });
  }
  for (const [index, tally] of [...hours.values()].entries()) {
    const change = await correctTally(access, tally, { isDryRun });
    if (change !== undefined) result.tallies.push(change);
    onStep?.({ receipts: result.receipts, hours: index + 1 });
  }
  return result;
}

interface Survey {
  page: ReceiptPage;
  missing: BatchEvent[];
  quarantined: ReceiptQuarantine[];
  readable: ReadableQuarantine[];
  /** Messages that are not what their events give. */
  faulty: number[];
  extras: Map<number, MessageExtras>;
}

/** Looks for what there is to do. Most pages have nothing, and then nothing is locked. */
async function survey(tx: Connection, range: ReceiptRange, after: number | undefined, hours: Tallies): Promise<Survey> {
  const page = await readReceiptPage(tx, range, after);
  const account = await accountForPage(tx, page, hours);
  const { faults, lacking } = await checkPageMessages(tx, { range, page, account });
  return {
    page,
    ...missingOf(account),
    // What of a whole body cannot be read stays where it is.
    readable: account.readable.filter(({ events }) => events.length > 0),
    faulty: [...new Set([...faults, ...lacking].map(({ message }) => message))],
    extras: extrasOf(account.items),
  };
}

function missingOf({ items, quarantined }: Account): Pick<Survey, "missing" | "quarantined"> {
  return {
    missing: items
      .filter(({ fate }) => fate === "missing")
      .map(({ event, receipt }) => batchEvent({ event, source: receipt.source, receipt: receipt.id })),
    quarantined: quarantined
      .filter(({ row }) => row === undefined)
      .map(({ receipt, item }) => ({
        receipt: receipt.id,
        receivedAt: receipt.receivedAt,
        source: receipt.source,
        item,
      })),
  };
}

async function repair(access: Access, found: Survey, settleSeconds: number, result: ReplayedReceipts): Promise<void> {
  const corrected = new Set<number>();
  if (found.missing.length + found.quarantined.length + found.readable.length > 0) {
    const filed = await access.write(async (tx) => fileMissing(tx, found, settleSeconds));
    result.stored += filed.stored;
    result.quarantined += filed.quarantined;
    result.readable += filed.readable;
    addCorrected(result, filed.corrected);
    for (const message of filed.messages) corrected.add(message);
  }
  const faulty = found.faulty.filter((message) => !corrected.has(message));
  if (faulty.length === 0) return;
  // In a transaction of its own: the one above took its locks already, and locks are taken in one order.
  const done = await access.write(async (tx) => {
    const locked = await lockMessages(tx, faulty);
    return correctMessages(
      tx,
      locked.map(({ id }) => id),
      found.extras,
    );
  });
  addCorrected(result, done);
}

function addCorrected(result: ReplayedReceipts, { messages, twins }: Corrected): void {
  result.messages += messages;
  result.twins += twins.length;
}

interface Filed {
  stored: number;
  quarantined: number;
  readable: number;
  messages: readonly number[];
  corrected: Corrected;
}

async function fileMissing(tx: Connection, found: Survey, settleSeconds: number): Promise<Filed> {
  const readable = await stillOpen(tx, found.readable);
  const events = [
    ...found.missing,
    ...readable.flatMap(({ receipt, events: items }) =>
      items.map((event) => batchEvent({ event, source: receipt.source, receipt: receipt.id })),
    ),
  ];
  const quarantined = [
    ...found.quarantined,
    ...readable.flatMap(({ receipt, quarantined: items }) =>
      items.map((item) => ({ receipt: receipt.id, receivedAt: receipt.receivedAt, source: receipt.source, item })),
    ),
  ];
  const { stored, newEvents, reflagged } = await fileGroups(tx, groupByMessage(events), settleSeconds);
  const rows = await insertQuarantined(tx, quarantined);
  await markReplayed(
    tx,
    readable.map(({ row }) => row.id),
  );
  await insertArgKeys(tx, argKeysOf(events), ARG_KEYS_MAX);
  // An event that was filed before and deleted is still in its message's counts, and its twins still have their flags.
  const messages = [...new Set(newEvents.map(({ message }) => message))];
  const corrected = await correctMessages(tx, messages, extrasOfNew(newEvents, found.extras));
  const tallies: Tallies = new Map();
  countReflagged(tallies, reflagged);
  await addTallies(tx, tallies);
  await notifyFiled(tx, stored, newEvents);
  return { stored, quarantined: rows, readable: readable.length, messages, corrected };
}

/** Locks the rows that nobody replayed meanwhile. */
async function stillOpen(tx: Connection, readable: readonly ReadableQuarantine[]): Promise<ReadableQuarantine[]> {
  if (readable.length === 0) return [];
  const open = await tx.query<{ id: number }>(
    "SELECT id FROM quarantine WHERE id = ANY ($1) AND state = 'open' ORDER BY id FOR UPDATE",
    [readable.map(({ row }) => row.id)],
  );
  const ids = new Set(open.rows.map(({ id }) => id));
  return readable.filter(({ row }) => ids.has(row.id));
}
