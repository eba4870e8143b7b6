import { eventRecipient } from "../src/event-recipient.ts";
import type { JsonObject } from "../src/ledger/json.ts";
import {
  COUNTS,
  EARLIEST,
  LATEST,
  mergeStates,
  stateOf,
  type Delivery,
  type MessageState,
} from "../src/ledger/merge.ts";
import { parseReceipt } from "../src/ledger/parse.ts";
import { unpackBody, type PackedBody } from "../src/receipt-body.ts";
import { ledgerKey } from "./posts.ts";
import type { World } from "./world.ts";

/** Messages read in one statement. */
const MESSAGES_AT_ONCE = 5_000;
/** Receipts read in one statement. */
const RECEIPTS_AT_ONCE = 200;
const EXAMPLES_MAX = 10;

interface EventRow {
  message: number;
  event_id: string;
  type: string;
  occurred_at: Date;
  recipient: string | null;
  source: number;
  twin: boolean;
  detail: JsonObject;
}

type MessageRow = {
  id: number;
  message_id: string | null;
  source: number;
  recipient: string | null;
  delivery: Delivery;
} & Record<(typeof EARLIEST)[number] | (typeof LATEST)[number], Date | null> &
  Record<(typeof COUNTS)[number], number>;

export interface LedgerContents {
  /** Rows of `events` by their key. */
  found: Map<string, number>;
  events: number;
  messages: number;
  /** Messages whose columns are not what their events give. At most EXAMPLES_MAX are named. */
  wrongStates: { count: number; examples: string[] };
}

/** Reads all events and messages, and works out each message's state anew from its events alone. */
export async function readLedger(world: World): Promise<LedgerContents> {
  const contents: LedgerContents = {
    found: new Map(),
    events: 0,
    messages: 0,
    wrongStates: { count: 0, examples: [] },
  };
  for (let after = 0; ;) {
    const messages = await world.ask<MessageRow>(
      `SELECT id, message_id, source, recipient, delivery, ${[...EARLIEST, ...LATEST, ...COUNTS].join(", ")}
       FROM messages WHERE id > $1 ORDER BY id LIMIT ${MESSAGES_AT_ONCE}`,
      [after],
    );
    const last = messages.at(-1);
    if (last === undefined) return contents;
    const events = await world.ask<EventRow>(
      `SELECT message, event_id, type, occurred_at, ${eventRecipient("events")} AS recipient, source, twin, detail
       FROM events WHERE message > $1 AND message <= $2`,
      [after, last.id],
    );
    after = last.id;
    addChunk(
      contents,
      messages,
      Map.groupBy(events, ({ message }) => message),
    );
  }
}

function addChunk(
  contents: LedgerContents,
  messages: readonly MessageRow[],
  events: ReadonlyMap<number, readonly EventRow[]>,
): void {
  for (const message of messages) {
    const own = events.get(message.id) ?? [];
    contents.messages += 1;
    contents.events += own.length;
    for (const event of own) {
      const key = keyOfRow(message.message_id, event);
      contents.found.set(key, (contents.found.get(key) ?? 0) + 1);
    }
    // A nameless message has no state of its own.
    if (message.message_id === null) continue;
    const difference = differenceOf(message, own);
    if (difference === undefined) continue;
    contents.wrongStates.count += 1;
    if (contents.wrongStates.count <= EXAMPLES_MAX) {
      contents.wrongStates.examples.push(`${message.message_id}: ${difference}`);
    }
  }
}

function keyOfRow(messageId: string | null, row: EventRow): string {
  return ledgerKey({
    messageId,
    eventId: row.event_id.startsWith("fp:") ? undefined : row.event_id,
    type: row.type,
    seconds: Math.floor(row.occurred_at.getTime() / 1000),
    recipient: row.recipient,
  });
}

/** Custom args and categories are not kept per event, so `readReceipts` answers for those. */
function differenceOf(message: MessageRow, events: readonly EventRow[]): string | undefined {
  const state = events
    .map((row): MessageState => {
      const { event_id: eventId, type, recipient, detail } = row;
      const event = { ordinal: 0, messageId: message.message_id, eventId, type, recipient, detail };
      const occurredAtMs = row.occurred_at.getTime();
      return stateOf({ ...event, occurredAtMs, args: {}, categories: [] }, row.source, row.twin);
    })
    .reduce<MessageState | undefined>(
      (merged, next) => (merged === undefined ? next : mergeStates(merged, next)),
      undefined,
    );
  if (state === undefined) return "it has no event";
  if (state.delivery !== message.delivery) return `delivery is ${message.delivery} and should be ${state.delivery}`;
  if (state.source !== message.source) return `source is ${message.source} and should be ${state.source}`;
  if (state.recipient !== message.recipient) return "another recipient than its events'";
  for (const column of COUNTS) {
    if (state.counts[column] !== message[column]) {
      return `${column} is ${message[column]} and should be ${state.counts[column]}`;
    }
  }
  for (const column of [...EARLIEST, ...LATEST]) {
    const is = message[column]?.getTime();
    const should = state.times[column];
    if (is !== should) return `${column} is ${is ?? "null"} and should be ${should ?? "null"}`;
  }
  return undefined;
}

export interface ReceiptContents {
  receipts: number;
  /** Items in the receipts' bytes, parsed anew. */
  items: number;
  /** SHA-256 of each body as the receipt says, by the receipt's number. */
  sha256: Map<string, string>;
  /** Messages whose custom args or categories are not what the receipts' bytes give. */
  wrongWords: { count: number; examples: string[] };
}

/** Reads all receipts and parses their bytes again: the items for the balance, and what events say of their messages in words. */
export async function readReceipts(world: World): Promise<ReceiptContents> {
  const contents: ReceiptContents = {
    receipts: 0,
    items: 0,
    sha256: new Map(),
    wrongWords: { count: 0, examples: [] },
  };
  const words = new Map<string, Pick<MessageState, "args" | "categories">>();
  for (let after = 0; ;) {
    const rows = await world.ask<{ id: number; sha256: Buffer } & PackedBody>(
      `SELECT id, sha256, codec, bytes, body FROM receipts WHERE id > $1 ORDER BY id LIMIT ${RECEIPTS_AT_ONCE}`,
      [after],
    );
    const used = await world.ask<{ number: number; dictionary: Buffer }>(
      "SELECT number, dictionary FROM receipt_dictionaries WHERE number = ANY ($1)",
      [[...new Set(rows.map(({ codec }) => -codec))]],
    );
    const dictionaries = new Map(used.map(({ number, dictionary }) => [number, dictionary]));
    for (const { id, sha256, ...packed } of rows) {
      after = id;
      contents.receipts += 1;
      contents.sha256.set(String(id), sha256.toString("hex"));
      const parsed = parseReceipt(unpackBody(packed, dictionaries));
      contents.items += parsed.accepted;
      for (const event of parsed.events) {
        if (event.messageId === null) continue;
        const said = stateOf(event, 0, false);
        const known = words.get(event.messageId);
        const { args, categories } = known === undefined ? said : mergeStates({ ...said, ...known }, said);
        words.set(event.messageId, { args, categories });
      }
    }
    if (rows.length === 0) break;
  }
  await compareWords(world, words, contents.wrongWords);
  return contents;
}

/** PostgreSQL compares, so that its own idea of equal JSON decides. */
async function compareWords(
  world: World,
  words: ReadonlyMap<string, Pick<MessageState, "args" | "categories">>,
  wrong: ReceiptContents["wrongWords"],
): Promise<void> {
  const all = [...words];
  for (let at = 0; at < all.length; at += MESSAGES_AT_ONCE) {
    const rows = all
      .slice(at, at + MESSAGES_AT_ONCE)
      .map(([message_id, { args, categories }]) => ({ message_id, args, categories }));
    const different = await world.ask<{ message_id: string }>(
      `SELECT row.message_id FROM jsonb_to_recordset($1::jsonb) AS row (message_id text, args jsonb, categories text[])
       LEFT JOIN messages AS m ON m.message_id = row.message_id
       WHERE m.args IS DISTINCT FROM row.args OR m.categories IS DISTINCT FROM row.categories`,
      [JSON.stringify(rows)],
    );
    wrong.count += different.length;
    wrong.examples.push(...different.slice(0, EXAMPLES_MAX).map(({ message_id }) => message_id));
  }
}
