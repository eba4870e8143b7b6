import { AUDIT_PAGE_RECEIPTS_MAX } from "../limits.ts";
import type { Connection } from "../postgres/pool.ts";
import { unpackDamagedBody, type PackedBody } from "../receipt-body.ts";
import { readDictionaries } from "../receipt-dictionaries.ts";
import type { Account, AccountedItem } from "./account.ts";
import { deriveMessages, type Derived } from "./derive.ts";
import { compareBytes } from "./event.ts";
import { COUNTS, EARLIEST, LATEST, mergeExtras, NO_EXTRAS, type MessageExtras, type MessageState } from "./merge.ts";
import { parseReceipt } from "./parse.ts";
import { readFiledRepairs } from "./read-repairs.ts";
import { isWhole, readMessageRows, type MessageRow, type ReceiptPage, type ReceiptRange } from "./receipt-page.ts";

/** A message that is not what its events give. */
export interface MessageFault {
  message: number;
  row: MessageRow;
  /** Columns of messages that differ. */
  fields: string[];
  twins: Derived["twins"];
  /** What it should be; undefined when it has no event at all. */
  state: MessageState | undefined;
}

/** A message that does not know what an item of it says. */
export interface LackingMessage {
  message: number;
  fields: string[];
}

/**
 * Compares messages with what their events give. `atHand` is what the items that the caller has just read say of their
 * args and categories; only where that is not all, the message's other receipts are read too.
 */
export async function checkMessages(
  tx: Connection,
  messages: readonly number[],
  atHand: ReadonlyMap<number, MessageExtras>,
): Promise<MessageFault[]> {
  const rows = await readMessageRows(tx, messages);
  const named = [...rows.values()].filter(({ messageId }) => messageId !== null).map(({ id }) => id);
  const derived = await deriveMessages(tx, named);
  const faults: MessageFault[] = [];
  for (const [message, { state, twins, hasOtherOrigin }] of derived) {
    const row = rows.get(message);
    if (row === undefined) continue;
    const known = atHand.get(message) ?? NO_EXTRAS;
    const extras = await completeExtras(tx, row, hasOtherOrigin ? await addRepaired(tx, message, known) : known);
    const { args, categories } = extras;
    const expected = state === undefined ? undefined : { ...state, args, categories };
    const fields = expected === undefined ? [] : differingFields(row, expected);
    if (expected === undefined || fields.length > 0 || twins.length > 0) {
      faults.push({ message, row, fields, twins, state: expected });
    }
  }
  return faults;
}

/**
 * Checks the messages that a page's rows belong to. Over all receipts each message is checked once, with the first of its
 * receipts; in a limited range with every page that has rows of it. `lacking` are messages that do not know what one of
 * these items says of them.
 */
export async function checkPageMessages(
  tx: Connection,
  { range, page, account }: { range: ReceiptRange; page: ReceiptPage; account: Account },
): Promise<{ checked: number; faults: MessageFault[]; lacking: LackingMessage[] }> {
  const named = [...page.messages.values()].filter(({ messageId }) => messageId !== null).map(({ id }) => id);
  const due = isWhole(range) ? await firstSeen(tx, named, page.after) : named;
  const extras = extrasOf(account.items);
  const faults = await checkMessages(tx, due, extras);
  const checked = new Set(due);
  const lacking = named.flatMap((message) => {
    const row = page.messages.get(message);
    const said = extras.get(message);
    const fields = checked.has(message) || row === undefined || said === undefined ? [] : lackedFields(row, said);
    return fields.length === 0 ? [] : [{ message, fields }];
  });
  return { checked: due.length, faults, lacking };
}

/** Those of the messages that have no event from a receipt up to this number. */
async function firstSeen(tx: Connection, messages: readonly number[], receipt: number): Promise<number[]> {
  if (messages.length === 0) return [];
  const { rows } = await tx.query<{ id: number }>({
    name: "messages first seen",
    // One look for each message: as an anti-join PostgreSQL would rather read all events up to there.
    text: `SELECT id FROM unnest($1::bigint[]) AS id
      LEFT JOIN LATERAL (SELECT true AS seen FROM events WHERE message = id AND receipt <= $2 LIMIT 1) AS before ON true
      WHERE before.seen IS NULL`,
    values: [messages, receipt],
  });
  return rows.map(({ id }) => id);
}

/** A nameless message has no state of its own: the columns that say otherwise. */
export function namelessFields(row: MessageRow): string[] {
  const blank: MessageState = {
    ...NO_EXTRAS,
    source: row.source,
    recipient: null,
    delivery: "unknown",
    times: {},
    counts: { opens: 0, machine_opens: 0, clicks: 0 },
  };
  return differingFields(row, blank);
}

/** What these stored items say of their messages' args and categories, by message. */
export function extrasOf(items: readonly AccountedItem[]): Map<number, MessageExtras> {
  const byMessage = new Map<number, MessageExtras>();
  for (const { event, row } of items) {
    if (row === undefined) continue;
    const known = byMessage.get(row.message);
    byMessage.set(row.message, known === undefined ? event : mergeExtras(known, event));
  }
  return byMessage;
}

/** The columns that do not know what an item of the message says. */
function lackedFields(row: MessageRow, { args, categories }: MessageExtras): string[] {
  const knowsArgs = Object.entries(args).every(([key, value]) => {
    const known = Object.hasOwn(row.args, key) ? row.args[key] : undefined;
    return typeof known === "string" && (known === value || compareBytes(known, value) > 0);
  });
  const knowsCategories = categories.every((category) => row.categories.includes(category));
  return [...(knowsArgs ? [] : ["args"]), ...(knowsCategories ? [] : ["categories"])];
}

function differingFields(row: MessageRow, expected: MessageState): string[] {
  const fields: string[] = [];
  for (const column of [...EARLIEST, ...LATEST]) {
    if (row.times[column] !== (expected.times[column] ?? null)) fields.push(column);
  }
  for (const column of COUNTS) if (row.counts[column] !== expected.counts[column]) fields.push(column);
  for (const column of ["delivery", "source", "recipient"] as const) {
    if (row[column] !== expected[column]) fields.push(column);
  }
  if (!sameArgs(row.args, expected.args)) fields.push("args");
  if (!sameCategories(row.categories, expected.categories)) fields.push("categories");
  return fields;
}

function sameExtras(a: MessageExtras, b: MessageExtras): boolean {
  return sameArgs(a.args, b.args) && sameCategories(a.categories, b.categories);
}

function sameArgs(a: MessageExtras["args"], b: MessageExtras["args"]): boolean {
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && a[key] === b[key]);
}

function sameCategories(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((category, index) => category === b[index]);
}

/** Adds what its repaired events say: their items stand in their repairs. */
async function addRepaired(tx: Connection, message: number, known: MessageExtras): Promise<MessageExtras> {
  let extras = known;
  for await (const repairs of readFiledRepairs(tx, { after: message - 1, upTo: message })) {
    for (const { event } of repairs) if (event !== undefined) extras = mergeExtras(extras, event);
  }
  return extras;
}

/**
 * Adds to what is known of a message's args and categories what its other stored items say, from the bytes of their
 * receipts, one receipt at a time, until it is what the message says: that an item says more than the message is found
 * where that item is at hand.
 */
async function completeExtras(tx: Connection, row: MessageRow, known: MessageExtras): Promise<MessageExtras> {
  let extras = known;
  if (sameExtras(row, extras)) return extras;
  const dictionaries = new Map<number, Buffer>();
  let after = Number.MIN_SAFE_INTEGER;
  for (;;) {
    const { rows: receipts } = await tx.query<{ receipt: number; ordinals: number[] }>(
      `SELECT receipt, array_agg(ordinal) AS ordinals FROM events WHERE message = $1 AND receipt > $2
       GROUP BY receipt ORDER BY receipt LIMIT ${AUDIT_PAGE_RECEIPTS_MAX}`,
      [row.id, after],
    );
    for (const { receipt, ordinals } of receipts) {
      const found = await tx.query<PackedBody>("SELECT codec, bytes, body FROM receipts WHERE id = $1 LIMIT 1", [
        receipt,
      ]);
      const events =
        found.rows[0] === undefined
          ? []
          : parseReceipt(unpackDamagedBody(found.rows[0], await readDictionaries(tx, found.rows, dictionaries))).events;
      for (const event of events) {
        if (event.messageId === row.messageId && ordinals.includes(event.ordinal)) extras = mergeExtras(extras, event);
      }
      if (sameExtras(row, extras)) return extras;
      after = receipt;
    }
    if (receipts.length < AUDIT_PAGE_RECEIPTS_MAX) return extras;
  }
}
