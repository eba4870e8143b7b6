import { ARG_KEYS_MAX, NOTIFY_BYTES_MAX, NOTIFY_EVENTS_MAX } from "../limits.ts";
import type { Connection } from "../postgres/pool.ts";
import { together } from "../postgres/together.ts";
import type { Steps } from "../postgres/transaction.ts";
import { closeBatch } from "./close-batch.ts";
import { copyEvents } from "./copy-events.ts";
import { compareBytes } from "./event.ts";
import { heldByMessage, readHeldEvents } from "./held-events.ts";
import {
  messageKey,
  type BatchEvent,
  type HeldEvent,
  type MessageGroup,
  type MessageKey,
  type MessagePlan,
} from "./plan.ts";
import type { PreparedBatch } from "./prepare.ts";
import { countRate, countRetries, type Rates } from "./rates.ts";
import { planGroup } from "./repair-plan.ts";
import { countReflagged, settleReplaced, type Reflagged } from "./replace.ts";
import {
  findSeen,
  insertArgKeys,
  insertQuarantined,
  insertUnseenMessages,
  lockMessages,
  mergeIntoMessages,
  removeReplaced,
  type LockedMessage,
  type NewEvent,
  type ReceiptQuarantine,
} from "./statements.ts";
import type { Tally } from "./tally.ts";

export interface ProjectOptions {
  steps: Pick<Steps<unknown>, "retry" | "withCommit">;
  settleSeconds: number;
  /** Custom-arg names that this process knows to be in arg_keys. Only ever a saving; filled after the commit. */
  knownArgKeys: ReadonlySet<string>;
}

export interface Projected {
  receipts: number;
  stored: number;
  duplicate: number;
  quarantined: number;
  argKeys: readonly string[];
}

/**
 * Files receipts: all their items become events, messages or quarantine, the tallies are added to, and the receipts leave
 * the inbox, all in the caller's transaction.
 *
 * Invariant (promise P2): projecting the same receipt again, at any time, by any instance, changes nothing but the
 * count of duplicates. Test: project.pg.test.ts.
 */
export async function projectReceipts(
  tx: Connection,
  batch: PreparedBatch,
  { steps, settleSeconds, knownArgKeys }: ProjectOptions,
): Promise<Projected> {
  const { retry } = steps;
  const { receipts, events, groups, quarantined, tallies, tallyOfReceipt } = batch;
  const filed = await fileGroups(tx, groups, settleSeconds);
  const quarantinedRows = await insertQuarantined(tx, quarantined);
  const argKeys = argKeysOf(events, knownArgKeys);
  if (argKeys.length > 0) await insertArgKeys(tx, argKeys, ARG_KEYS_MAX);

  countFiled(tallyOfReceipt, filed);
  countReflagged(tallies, filed.reflagged);
  countQuarantined(tallyOfReceipt, quarantined, quarantinedRows);
  const [firstTally] = tallies.values();
  if (firstTally !== undefined && retry > 0) {
    firstTally.retries += retry;
    firstTally.rescued += 1;
  }
  steps.withCommit(() =>
    closeBatch(tx, {
      receipts: receipts.map(({ id }) => id),
      tallies,
      rates: ratesOf(filed, receipts[0]?.source, retry),
      news: newsOf(filed.stored, filed.newEvents),
    }),
  );
  return {
    receipts: receipts.length,
    stored: filed.stored,
    duplicate: filed.duplicates.length,
    quarantined: quarantinedRows,
    argKeys,
  };
}

export interface Filed {
  /** Rows that PostgreSQL says it inserted. */
  stored: number;
  newEvents: readonly NewEvent[];
  duplicates: readonly BatchEvent[];
  /** Orders for events that are there already, and the events. */
  held: readonly { gap: number; message: number; eventId: string }[];
  /** Twin flags that changed of events filed before. To be counted in their hours. */
  reflagged: readonly Reflagged[];
}

/**
 * Stores the events that are new and merges them into their messages, in the caller's transaction. What takes the place of
 * a repaired event is new, and the repaired one goes in the same transaction; both stay traceable by their repair.
 */
export async function fileGroups(
  tx: Connection,
  groups: readonly MessageGroup[],
  settleSeconds: number,
): Promise<Filed> {
  const plans = await planAndInsertMessages(tx, groups, settleSeconds);
  const newEvents = plans
    // By number, so that the index of identities grows at its edge, and pages are not cut in halves.
    .toSorted((a, b) => a.message - b.message)
    .flatMap(newEventsOf);
  const replaced = plans.flatMap(({ message, plan }) =>
    plan.repairs === undefined
      ? []
      : plan.repairs.replaced.map(({ eventId, by }) => ({
          message,
          eventId,
          by: { eventId: by.event.eventId, receipt: by.receipt },
        })),
  );
  if (replaced.length > 0) await removeReplaced(tx, replaced);
  const changes = plans.flatMap(({ message, plan, isNew, group }) =>
    isNew || plan.state === undefined || group.messageId === null ? [] : [{ message, state: plan.state }],
  );
  const [stored] = await together(tx, () => [
    newEvents.length === 0 ? 0 : copyEvents(tx, newEvents),
    changes.length === 0 ? undefined : mergeIntoMessages(tx, changes),
  ]);
  const settled = replaced.length > 0 ? await settleReplaced(tx, replaced, newEvents) : { newEvents, reflagged: [] };
  const held = plans.flatMap(({ message, plan }) =>
    plan.repairs === undefined ? [] : plan.repairs.held.map((order) => ({ message, ...order })),
  );
  return { stored, ...settled, duplicates: plans.flatMap(({ plan }) => plan.duplicates), held };
}

interface PlannedMessage {
  message: number;
  group: MessageGroup;
  plan: MessagePlan;
  isNew: boolean;
  /** As the ledger has it before this batch is merged into it. */
  recipient: string | null;
}

/**
 * Where a batch changes a message's recipient, all of its events say theirs: the change writes the recipient from before into
 * every row that has '' (sql/0017), whether it comes before their COPY or after.
 */
function newEventsOf({ message, plan, recipient }: PlannedMessage): NewEvent[] {
  const merged = plan.state?.recipient ?? null;
  const isKept = recipient !== null && (merged === null || compareBytes(recipient, merged) <= 0);
  return plan.events.map((entry) => ({
    ...entry,
    message,
    isToRecipient: isKept && entry.event.recipient === recipient,
  }));
}

/**
 * A message that the ledger has not seen can hold none of its events, so its plan needs no look at the events. Which are
 * unseen is first asked without a lock: to try an insert for the others would cost as much as one. Whoever comes in
 * between is met by the insert's own ON CONFLICT.
 */
async function planAndInsertMessages(
  tx: Connection,
  groups: readonly MessageGroup[],
  settleSeconds: number,
): Promise<PlannedMessage[]> {
  if (groups.length === 0) return [];
  const seen = await findSeen(tx, groups);
  const asNew = groups.filter(({ key }) => !seen.has(key)).map((group) => ({ group, plan: planGroup(group, []) }));
  const newIds =
    asNew.length === 0
      ? new Map<MessageKey, number>()
      : await insertUnseenMessages(
          tx,
          asNew.map(({ group, plan }) => ({ group, state: plan.state })),
          settleSeconds,
        );
  const known = await lockKnown(
    tx,
    groups.filter(({ key }) => !newIds.has(key)),
    seen,
  );
  return [
    ...asNew.flatMap(({ group, plan }) => {
      const message = newIds.get(group.key);
      // A nameless message has no recipient.
      const recipient = group.messageId === null ? null : (plan.state?.recipient ?? null);
      return message === undefined ? [] : [{ message, group, plan, isNew: true, recipient }];
    }),
    ...known.map(({ group, message: { id, recipient }, held }) => ({
      message: id,
      group,
      plan: planGroup(group, held),
      isNew: false,
      recipient,
    })),
  ];
}

interface Known {
  group: MessageGroup;
  message: LockedMessage;
  held: readonly HeldEvent[];
}

/**
 * Locks messages that the ledger holds, and reads what they hold. Those that came in since `seen` was read are looked for, and all of
 * them once more where one was deleted and came again under another number.
 */
async function lockKnown(
  tx: Connection,
  known: readonly MessageGroup[],
  seen: ReadonlyMap<MessageKey, number>,
): Promise<readonly Known[]> {
  if (known.length === 0) return [];
  const missed = known.filter(({ key }) => !seen.has(key));
  const ids = missed.length === 0 ? seen : new Map([...seen, ...(await findSeen(tx, missed))]);
  const locked = (await lockSeen(tx, known, ids)) ?? (await lockSeen(tx, known, await findSeen(tx, known)));
  // Only a purge of simulated data deletes messages. A receipt that meets it in just this moment is tried again.
  if (locked === undefined) throw new Error("a message was neither inserted nor found");
  return locked;
}

/** Both go out in one round trip: PostgreSQL begins to read once it has the locks. @returns undefined when one is not there any more. */
async function lockSeen(
  tx: Connection,
  known: readonly MessageGroup[],
  ids: ReadonlyMap<MessageKey, number>,
): Promise<readonly Known[] | undefined> {
  const candidates = known.flatMap((group) => {
    const message = ids.get(group.key);
    return message === undefined ? [] : [{ group, message }];
  });
  if (candidates.length < known.length) return undefined;
  const [rows, heldRows] = await together(tx, () => [
    lockMessages(
      tx,
      candidates.map(({ message }) => message),
    ),
    readHeldEvents(tx, candidates),
  ]);
  const locked = new Map(rows.map((row) => [messageKey(row), row]));
  const held = heldByMessage(heldRows, new Map(rows.map(({ id, recipient }) => [id, recipient])));
  const found = candidates.flatMap(({ group, message: id }) => {
    const message = locked.get(group.key);
    return message?.id === id ? [{ group, message, held: held.get(id) ?? [] }] : [];
  });
  return found.length < known.length ? undefined : found;
}

/**
 * Counts into the tally of each event's own receipt. PostgreSQL's own count has the last word: a row that it did not
 * insert is taken off again and shows as lost.
 */
function countFiled(tallies: ReadonlyMap<number, Tally>, filed: Filed): void {
  for (const { receipt, twin } of filed.newEvents) {
    add(tallies, receipt, "stored");
    if (twin) add(tallies, receipt, "twin");
  }
  for (const { receipt } of filed.duplicates) add(tallies, receipt, "duplicate");
  const [first] = tallies.keys();
  if (first !== undefined) add(tallies, first, "stored", filed.stored - filed.newEvents.length);
}

function ratesOf(filed: Filed, firstSource: number | undefined, retry: number): Rates {
  const rates: Rates = new Map();
  for (const { event, source } of filed.newEvents) countRate(rates, source, event.type);
  if (firstSource !== undefined && retry > 0) countRetries(rates, firstSource, retry);
  return rates;
}

function countQuarantined(
  tallies: ReadonlyMap<number, Tally>,
  items: readonly ReceiptQuarantine[],
  rows: number,
): void {
  for (const { receipt } of items) add(tallies, receipt, "quarantined");
  const [first] = tallies.keys();
  if (first !== undefined) add(tallies, first, "quarantined", rows - items.length);
}

function add(tallies: ReadonlyMap<number, Tally>, receipt: number | null, column: keyof Tally, amount = 1): void {
  const tally = receipt === null ? undefined : tallies.get(receipt);
  if (tally !== undefined) tally[column] += amount;
}

/** The names of the events' custom args but for the known ones, in order. */
export function argKeysOf(events: readonly BatchEvent[], known: ReadonlySet<string> = new Set()): string[] {
  const keys = new Set<string>();
  for (const { event } of events) {
    for (const key of Object.keys(event.args)) if (!known.has(key)) keys.add(key);
  }
  return [...keys].sort();
}

/** Tells the live page what was filed, at the commit. */
export async function notifyFiled(tx: Connection, filed: number, newEvents: readonly NewEvent[]): Promise<void> {
  await tx.query({
    name: "notify filed",
    text: "SELECT pg_notify('holdfast_filed', $1)",
    values: [newsOf(filed, newEvents)],
  });
}

/** How many events were filed, and as many of the latest as one notification can carry. */
function newsOf(filed: number, newEvents: readonly NewEvent[]): string {
  const latest = newEvents.toSorted((a, b) => a.event.occurredAtMs - b.event.occurredAtMs).slice(-NOTIFY_EVENTS_MAX);
  const events = latest.map(({ message, event }) => [message, event.eventId]);
  const payload = (): string => JSON.stringify({ filed, events });
  while (Buffer.byteLength(payload()) > NOTIFY_BYTES_MAX) events.shift();
  return payload();
}
