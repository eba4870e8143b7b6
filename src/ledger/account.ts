import type { Queryable } from "../postgres/pool.ts";
import type { ParsedEvent } from "./event.ts";
import { WHOLE_BODY, type QuarantinedItem } from "./parse.ts";
import { messageKey } from "./plan.ts";
import {
  findEvents,
  type EventRow,
  type MessageRow,
  type PageReceipt,
  type QuarantineRow,
  type ReceiptPage,
} from "./receipt-page.ts";
import { tallyOf, type HourTally, type Tallies } from "./tally.ts";

/** An item that can be read, and what became of it. */
export interface AccountedItem {
  receipt: PageReceipt;
  event: ParsedEvent;
  /** stored: its row says that it came from here. duplicate: the same event came from elsewhere. */
  fate: "stored" | "duplicate" | "missing";
  /** The row of a stored item. */
  row: EventRow | undefined;
}

/** An item that cannot be read, and its row. */
export interface AccountedQuarantine {
  receipt: PageReceipt;
  item: QuarantinedItem;
  row: QuarantineRow | undefined;
}

/** A row of quarantine whose bytes can be read today. */
export interface ReadableQuarantine {
  receipt: PageReceipt;
  row: QuarantineRow;
  events: ParsedEvent[];
  /** What of a whole body still cannot be read. */
  quarantined: QuarantinedItem[];
}

/** What the bytes of some receipts say, held against the rows. Of pending receipts only the rows are accounted for. */
export interface Account {
  items: AccountedItem[];
  quarantined: AccountedQuarantine[];
  /** Open, and waiting for somebody to order their replay. */
  readable: ReadableQuarantine[];
  /** Rows whose replay is done. */
  replayed: { receipt: PageReceipt; row: QuarantineRow }[];
  /** Rows that no item of their receipt accounts for. */
  surplusEvents: EventRow[];
  surplusQuarantine: QuarantineRow[];
}

/**
 * Says for every item of a page's receipts where it is, and for every row where it came from. Adds to `tallies` what the
 * projector must have counted for these receipts: each figure anew, from the bytes and the rows.
 */
export async function accountForPage(tx: Queryable, page: ReceiptPage, tallies: Tallies): Promise<Account> {
  const account: Account = {
    items: [],
    quarantined: [],
    readable: [],
    replayed: [],
    surplusEvents: [],
    surplusQuarantine: [],
  };
  const events = Map.groupBy(page.events, ({ receipt }) => receipt);
  const quarantine = Map.groupBy(page.quarantine, ({ receipt }) => receipt);
  for (const receipt of page.receipts) {
    const rows = { events: events.get(receipt.id) ?? [], quarantine: quarantine.get(receipt.id) ?? [] };
    accountForReceipt(account, { receipt, rows, messages: page.messages, tallies });
    events.delete(receipt.id);
    quarantine.delete(receipt.id);
  }
  account.surplusEvents.push(...[...events.values()].flat());
  account.surplusQuarantine.push(...[...quarantine.values()].flat());
  await lookElsewhere(tx, account);
  countItems(tallies, account);
  return account;
}

interface ReceiptWithRows {
  receipt: PageReceipt;
  rows: { events: EventRow[]; quarantine: QuarantineRow[] };
  messages: ReadonlyMap<number, MessageRow>;
  tallies: Tallies;
}

function accountForReceipt(account: Account, { receipt, rows, messages, tallies }: ReceiptWithRows): void {
  const { parsed, isPending } = receipt;
  const rowsAt = Map.groupBy(rows.events, ({ ordinal }) => ordinal);
  const surplus = new Set(rows.events);
  const items = parsed.events.map((event): AccountedItem => {
    const row = rowsAt.get(event.ordinal)?.find((candidate) => isRowOf(candidate, event, { receipt, messages }));
    if (row !== undefined) surplus.delete(row);
    return { receipt, event, fate: row === undefined ? "missing" : "stored", row };
  });
  account.surplusEvents.push(...surplus);
  const left = new Map(rows.quarantine.map((row) => [row.ordinal, row]));
  if (isPending) {
    for (const { ordinal } of parsed.quarantined) left.delete(ordinal);
    account.surplusQuarantine.push(...left.values());
    return;
  }
  const tally = tallyOf(tallies, receipt.receivedAt, receipt.source);
  tally.receipts += 1;
  if (!isReadableWhole(account, { receipt, items, left, tally })) {
    tally.accepted += parsed.accepted;
    tally.sanitised += parsed.sanitised;
    accountForQuarantined(account, { receipt, left, tally });
    account.items.push(...items.filter((item) => !isReadable(account, { item, left, tally })));
  }
  for (const row of left.values()) {
    const isDone =
      row.state === "replayed" &&
      (row.ordinal === WHOLE_BODY || items.some(({ event }) => event.ordinal === row.ordinal));
    if (isDone) account.replayed.push({ receipt, row });
    else account.surplusQuarantine.push(row);
  }
}

/** A row's identity stands in its message and its event id; a nameless event is its source's. */
function isRowOf(
  row: EventRow,
  event: ParsedEvent,
  { receipt, messages }: { receipt: PageReceipt; messages: ReadonlyMap<number, MessageRow> },
): boolean {
  const message = messages.get(row.message);
  if (message === undefined || row.eventId !== event.eventId) return false;
  return messageKey(message) === messageKey({ messageId: event.messageId, source: receipt.source });
}

interface Unaccounted {
  receipt: PageReceipt;
  /** Rows of quarantine by ordinal; those that are accounted for are taken out. */
  left: Map<number, QuarantineRow>;
  tally: HourTally;
}

/** A body that was quarantined whole and can be read today counts as the one item that it was taken for. */
function isReadableWhole(account: Account, found: Unaccounted & { items: readonly AccountedItem[] }): boolean {
  const { receipt, items, left, tally } = found;
  const { events, quarantined } = receipt.parsed;
  const row = left.get(WHOLE_BODY);
  if (row?.state !== "open" || quarantined[0]?.ordinal === WHOLE_BODY) return false;
  if (items.some((item) => item.fate === "stored")) return false;
  account.readable.push({ receipt, row, events, quarantined });
  left.delete(WHOLE_BODY);
  tally.accepted += 1;
  tally.quarantined += 1;
  return true;
}

function accountForQuarantined(account: Account, { receipt, left, tally }: Unaccounted): void {
  for (const item of receipt.parsed.quarantined) {
    const row = left.get(item.ordinal);
    left.delete(item.ordinal);
    account.quarantined.push({ receipt, item, row });
    if (row?.state === "open") tally.quarantined += 1;
  }
}

/** Whether the item lies in quarantine and can be read today. */
function isReadable(account: Account, found: Omit<Unaccounted, "receipt"> & { item: AccountedItem }): boolean {
  const { item, left, tally } = found;
  const { receipt, event } = item;
  const row = item.row === undefined ? left.get(event.ordinal) : undefined;
  if (row?.state !== "open") return false;
  account.readable.push({ receipt, row, events: [event], quarantined: [] });
  left.delete(event.ordinal);
  tally.quarantined += 1;
  return true;
}

async function lookElsewhere(tx: Queryable, account: Account): Promise<void> {
  const wanted = account.items.filter(({ fate }) => fate === "missing");
  const found = await findEvents(
    tx,
    wanted.map(({ receipt, event }) => ({
      messageId: event.messageId,
      source: receipt.source,
      eventId: event.eventId,
    })),
  );
  for (const [place, item] of wanted.entries()) {
    const held = found.get(place);
    // Of a repaired event: the item itself is in none, and will take that one's place.
    if (held === undefined || (held.receipt === null && held.origin !== "webhook")) continue;
    // Its own row may have been left out of a page that holds far too many.
    const isOwn = held.receipt === item.receipt.id && held.ordinal === item.event.ordinal;
    item.fate = isOwn ? "stored" : "duplicate";
  }
}

function countItems(tallies: Tallies, account: Account): void {
  for (const { receipt, fate, row } of account.items) {
    if (fate === "missing") continue;
    const tally = tallyOf(tallies, receipt.receivedAt, receipt.source);
    tally[fate] += 1;
    if (row?.twin === true) tally.twin += 1;
  }
}
