import { accountForPage, type Account } from "../ledger/account.ts";
import { checkMessages, checkPageMessages, namelessFields } from "../ledger/message-check.ts";
import { LIKENESS_KEYS } from "../ledger/plan.ts";
import { createRead, type Read } from "../ledger/read.ts";
import { isWhole, readMessageRows, readReceiptPage, type ReceiptPage } from "../ledger/receipt-page.ts";
import { compareTallies, recountTally, type TallyChange } from "../ledger/recount.ts";
import { readTallies, tallyOf } from "../ledger/tally.ts";
import { AUDIT_DIFFERENCES_MAX, AUDIT_MESSAGES_MAX, AUDIT_STATE_MS, AUDIT_STATEMENT_MS_MAX } from "../limits.ts";
import type { Connection, Pool } from "../postgres/pool.ts";
import { differencesOfMessages, differencesOfPage } from "./check-page.ts";
import { readAuditSources, type AuditSource } from "./check-receipt.ts";
import { checkRepairs, findSurplusRepaired } from "./check-repairs.ts";
import { addDifference } from "./difference.ts";
import type { VerifyState } from "./state.ts";

export interface VerifyOptions {
  pool: Pool;
  /** A new one, or one to go on from. It is changed as the work goes on. */
  state: VerifyState;
  /** Called at most every AUDIT_STATE_MS, and at an interruption, to keep the state. */
  onState?: (state: VerifyState) => Promise<void>;
  onStep?: (step: VerifyStep) => void;
  /** Stops after the page under way. */
  signal?: AbortSignal;
  now?: () => number;
}

export interface VerifyStep {
  phase: VerifyState["phase"];
  /** Receipts, messages or tallies; a total of 0 is not known. */
  done: number;
  total: number;
  differences: number;
}

export type VerifyOutcome = "clean" | "different" | "interrupted";

/**
 * Reads every receipt's bytes again and holds them against all that came of them: their hash and signature, events,
 * quarantine, messages, and the tallies (promise P7). Reads only, in short snapshots, so it can run beside a service: a
 * receipt is either pending or whole in each, and what arrives after the beginning is only recounted. A page of receipts is in memory at a time, and one tally for each
 * hour and source.
 */
export async function verify(options: VerifyOptions): Promise<VerifyOutcome> {
  const { pool, state, onState, signal, now = performance.now.bind(performance) } = options;
  const read = createRead(pool, { statementMsMax: AUDIT_STATEMENT_MS_MAX });
  const sources = await read(readAuditSources);
  state.last ??= await read(readLast);
  const run: Run = { ...options, read, sources, total: await read(countReceipts(state)) };
  let savedMs = now();
  for (;;) {
    const isDone = await nextStep(run);
    if (isDone) return state.differences.total === 0 ? "clean" : "different";
    const isInterrupted = signal?.aborted === true;
    if (isInterrupted || now() - savedMs >= AUDIT_STATE_MS) {
      await onState?.(state);
      savedMs = now();
    }
    if (isInterrupted) return "interrupted";
  }
}

interface Run extends VerifyOptions {
  read: Read;
  sources: Map<number, AuditSource>;
  total: number;
}

/** @returns whether all is done. */
async function nextStep(run: Run): Promise<boolean> {
  switch (run.state.phase) {
    case "receipts":
      await verifyPage(run);
      return false;
    case "messages":
      await verifyOtherMessages(run);
      return false;
    case "tallies":
      return verifyTallies(run);
  }
}

/** What the tallies and the inbox say there is: only to show how far the work is. */
function countReceipts({ range }: VerifyState): (tx: Connection) => Promise<number> {
  return async (tx) => {
    const inbox = await tx.query<{ receipts: number }>("SELECT count(*) AS receipts FROM inbox");
    const tallies = await readTallies(tx, range);
    const pending = isWhole(range) ? (inbox.rows[0]?.receipts ?? 0) : 0;
    return [...tallies.values()].reduce((sum, { receipts }) => sum + receipts, pending);
  };
}

/** What arrives while the verification runs must not keep it from ending. */
async function readLast(tx: Connection): Promise<{ receipt: number; message: number }> {
  const { rows } = await tx.query<{ receipt: number | null; message: number | null }>(
    "SELECT (SELECT max(id) FROM receipts) AS receipt, (SELECT max(id) FROM messages) AS message",
  );
  return { receipt: rows[0]?.receipt ?? 0, message: rows[0]?.message ?? 0 };
}

async function verifyPage(run: Run): Promise<void> {
  const { read, state, total } = run;
  const { range, counts, differences } = state;
  const isLast = await read(async (tx) => {
    const page = await readReceiptPage(tx, range, state.afterReceipt, {
      withMissing: true,
      upTo: state.last?.receipt,
    });
    const account = await accountForPage(tx, page, state.tallies);
    await refreshSources(tx, run, page);
    const { checked, faults, lacking } = await checkPageMessages(tx, { range, page, account });
    counts.messages += checked;
    countPage(state, page, account);
    for (const difference of differencesOfPage(page, account, run.sources)) addDifference(differences, difference);
    for (const difference of differencesOfMessages(faults, lacking)) addDifference(differences, difference);
    state.afterReceipt = page.upTo;
    const isEnd = page.receipts.length === 0;
    if (isEnd && isWhole(range)) {
      await findWithoutReceipt(tx, state);
      for (const difference of await findSurplusRepaired(tx)) addDifference(differences, difference);
    }
    return isEnd;
  });
  if (isLast) state.phase = isWhole(range) ? "messages" : "tallies";
  run.onStep?.({ phase: "receipts", done: counts.receipts, total, differences: differences.total });
}

/** Events that say a webhook brought them, and not in which receipt. */
async function findWithoutReceipt(tx: Connection, { differences }: VerifyState): Promise<void> {
  const statement = {
    text: `SELECT message, ordinal FROM events WHERE receipt IS NULL AND origin = 'webhook'
      LIMIT ${AUDIT_DIFFERENCES_MAX}`,
    query_timeout: AUDIT_STATEMENT_MS_MAX,
  };
  const { rows } = await tx.query<{ message: number; ordinal: number }>(statement);
  for (const row of rows) addDifference(differences, { kind: "receipt_missing", ...row });
}

/** Sources and keys can be added while a long verification runs; none is ever taken away. */
async function refreshSources(tx: Connection, run: Run, page: ReceiptPage): Promise<void> {
  const isKnown = page.receipts.every(({ source, key }) => {
    const known = run.sources.get(source);
    return known !== undefined && (key === null || known.keys.has(key));
  });
  if (!isKnown) run.sources = await readAuditSources(tx);
}

function countPage({ counts }: VerifyState, page: ReceiptPage, account: Account): void {
  counts.receipts += page.receipts.length;
  counts.pending += page.receipts.filter(({ isPending }) => isPending).length;
  counts.unsigned += page.receipts.filter(({ key }) => key === null).length;
  counts.stored += account.items.filter(({ fate }) => fate === "stored").length;
  counts.duplicate += account.items.filter(({ fate }) => fate === "duplicate").length;
  const open = account.quarantined.filter(({ row }) => row?.state === "open").length;
  counts.quarantined += open + account.readable.length;
  counts.readable += account.readable.length;
}

/** Messages that no receipt leads to: those without any event of a webhook, and the nameless ones. */
async function verifyOtherMessages(run: Run): Promise<void> {
  const { read, state } = run;
  const { counts, differences } = state;
  await read(async (tx) => {
    const { rows } = await tx.query<{ id: number | null }>(
      `SELECT max(id) AS id
       FROM (SELECT id FROM messages WHERE id > $1 AND id <= $2 ORDER BY id LIMIT ${AUDIT_MESSAGES_MAX}) AS next`,
      [state.afterMessage, state.last?.message],
    );
    const upTo = rows[0]?.id ?? undefined;
    for await (const difference of checkRepairs(tx, state.afterMessage, upTo)) addDifference(differences, difference);
    if (upTo === undefined) {
      state.phase = "tallies";
      return;
    }
    const found = await tx.query<{ id: number; isNameless: boolean }>(
      `SELECT id, message_id IS NULL AS "isNameless" FROM messages
       LEFT JOIN LATERAL (SELECT true AS seen FROM events WHERE message = id AND receipt IS NOT NULL LIMIT 1) AS webhook ON true
       WHERE id > $1 AND id <= $2 AND (message_id IS NULL OR webhook.seen IS NULL)`,
      [state.afterMessage, upTo],
    );
    const named = found.rows.filter(({ isNameless }) => !isNameless).map(({ id }) => id);
    const nameless = found.rows.filter(({ isNameless }) => isNameless).map(({ id }) => id);
    const faults = await checkMessages(tx, named, new Map());
    for (const difference of differencesOfMessages(faults)) addDifference(differences, difference);
    for (const message of nameless) await verifyNameless(tx, state, message);
    counts.messages += found.rows.length;
    state.afterMessage = upTo;
  });
  run.onStep?.({ phase: "messages", done: counts.messages, total: 0, differences: differences.total });
}

/** A nameless message can have any number of events, so its twins are counted where they are. */
async function verifyNameless(tx: Connection, { differences }: VerifyState, message: number): Promise<void> {
  const row = (await readMessageRows(tx, [message])).get(message);
  const fields = row === undefined ? [] : namelessFields(row);
  if (fields.length > 0) addDifference(differences, { kind: "message_changed", message, fields });
  const statement = {
    text: `SELECT FROM events WHERE message = $1
      GROUP BY type, occurred_at, recipient, ${LIKENESS_KEYS.map((key) => `coalesce(detail->'${key}', 'null')`).join(", ")}
      HAVING count(*) FILTER (WHERE NOT twin) <> 1 LIMIT 1`,
    values: [message],
    query_timeout: AUDIT_STATEMENT_MS_MAX,
  };
  const wrong = await tx.query(statement);
  if (wrong.rowCount !== 0) addDifference(differences, { kind: "twins_wrong", message });
}

/**
 * Holds the recount against the tallies. Where they differ, receipts may have arrived or been replayed while the
 * verification ran: then that hour is counted once more, together with its tally in one snapshot, and that count decides.
 *
 * @returns false when it was interrupted; it has found nothing then, and begins anew.
 */
async function verifyTallies(run: Run): Promise<boolean> {
  const { read, state } = run;
  const { counts, differences, range } = state;
  const recorded = await read(async (tx) => readTallies(tx, range));
  for (const { hour, source } of state.tallies.values()) tallyOf(recorded, hour, source);
  const found: TallyChange[] = [];
  let done = 0;
  for (const tally of recorded.values()) {
    if (run.signal?.aborted === true) return false;
    const { hour, source } = tally;
    const seemsWrong = compareTallies(tally, tallyOf(state.tallies, hour, source)) !== undefined;
    const change = seemsWrong ? await read(async (tx) => recountTally(tx, { hour, source })) : undefined;
    if (change !== undefined) found.push(change);
    done += 1;
    run.onStep?.({ phase: "tallies", done, total: recorded.size, differences: differences.total });
  }
  for (const { hour, source, recorded: wrong, counted } of found) {
    const name = run.sources.get(source)?.name ?? String(source);
    const fields = Object.keys(wrong);
    const at = { hour: hour.toISOString(), source: name };
    addDifference(differences, { kind: "tally_wrong", ...at, fields, recorded: wrong, counted });
  }
  counts.tallies = recorded.size;
  return true;
}
