import { isEventId } from "../event-id.ts";
import { AUDIT_PAGE_BYTES_MAX, AUDIT_PAGE_RECEIPTS_MAX, AUDIT_SURPLUS_ROWS_MAX } from "../limits.ts";
import { isMessageId } from "../message-id.ts";
import type { Queryable } from "../postgres/pool.ts";
import { unpackDamagedBody, type PackedBody } from "../receipt-body.ts";
import { readDictionaries } from "../receipt-dictionaries.ts";
import { SIGNATURE } from "../receipt-signature.ts";
import type { JsonObject } from "./json.ts";
import { COUNTS, EARLIEST, LATEST, type Delivery } from "./merge.ts";
import { parseReceipt, type ParsedReceipt } from "./parse.ts";

/** Which receipts are meant; without any limit all of them, and then what points to no receipt is looked for too. */
export interface ReceiptRange {
  /** Numbers of receipts, both included. */
  firstId?: number | undefined;
  lastId?: number | undefined;
  /** Times of arrival: from, up to and not including to. */
  from?: Date | undefined;
  to?: Date | undefined;
  source?: number | undefined;
}

export interface PageReceipt {
  id: number;
  receivedAt: Date;
  source: number;
  /** As it came; what cannot be unpacked, as it stands in its row. */
  body: Buffer;
  key: number | null;
  signedAt: string | null;
  signature: string | null;
  sha256: Buffer;
  /** Still in the inbox. */
  isPending: boolean;
  parsed: ParsedReceipt;
}

export interface EventRow {
  message: number;
  eventId: string;
  /** null only for an event that no webhook brought. */
  receipt: number | null;
  ordinal: number;
  origin: string;
  source: number;
  twin: boolean;
  nameless: boolean;
  type: string;
  /** Unix milliseconds, with a fraction where the row has one. */
  occurredAtMs: number;
  recipient: string | null;
  detail: JsonObject;
}

export interface QuarantineRow {
  id: number;
  receipt: number;
  receivedAt: Date;
  source: number;
  ordinal: number;
  state: "open" | "replayed";
  sha256: Buffer;
}

/** A row of messages. Its times are Unix milliseconds. */
export interface MessageRow {
  id: number;
  messageId: string | null;
  source: number;
  recipient: string | null;
  delivery: Delivery;
  args: Record<string, string>;
  categories: string[];
  times: Record<string, number | null>;
  counts: Record<string, number>;
}

/** Receipts with all that the ledger holds about them. */
export interface ReceiptPage {
  receipts: readonly PageReceipt[];
  /** Rows that say they came from one of these receipts, or from one between them that is not there. */
  events: readonly EventRow[];
  quarantine: readonly QuarantineRow[];
  /** The messages of `events`. */
  messages: ReadonlyMap<number, MessageRow>;
  /** Numbers in the inbox that belong to no receipt. */
  pendingWithoutReceipt: readonly number[];
  /** The numbers that the page covers: beyond the first, up to the second. */
  after: number;
  upTo: number;
}

export interface PageOptions {
  /** Also finds rows whose receipt is not there at all; without limits also behind the last receipt. */
  withMissing?: boolean | undefined;
  /** Goes no further than this receipt: what arrives while the work goes on must not keep it from ending. */
  upTo?: number | undefined;
}

/** Times as Unix milliseconds: a Date would drop microseconds, and hide that somebody changed them. */
const millisecondsOf = (column: string): string => `(extract(epoch FROM ${column}) * 1000)::float8`;

/** Whether all receipts are meant. */
export function isWhole(range: ReceiptRange): boolean {
  return Object.values(range).every((limit) => limit === undefined);
}

/**
 * Reads the receipts that follow number `after` in the range, as many as fit the page, and what the ledger holds about
 * them. A page without receipts is the last one. In a transaction of the level READ COMMITTED too, a receipt that is
 * projected meanwhile is either pending or has all its rows: the inbox is read after the receipts and before their rows.
 */
export async function readReceiptPage(
  tx: Queryable,
  range: ReceiptRange,
  after: number | undefined,
  options: PageOptions = {},
): Promise<ReceiptPage> {
  const bodies = await readReceipts(tx, { ...range, lastId: options.upTo ?? range.lastId }, after);
  const window = windowOf(range, after, bodies);
  if (window === undefined) return EMPTY_PAGE;
  const ids = bodies.map(({ id }) => id);
  const inbox = await readInbox(tx, window);
  const receipts = bodies.map((receipt) =>
    Object.assign(receipt, { isPending: inbox.has(receipt.id), parsed: parseReceipt(receipt.body) }),
  );
  // An item accounts for one row at most: where there are more, something is wrong, and the first of them show it.
  const items = receipts.reduce((sum, { parsed }) => sum + parsed.accepted, 0);
  // Between the receipts of a page that leaves none out there are no others.
  const isComplete = isWhole(range) && ids.length > 0;
  const missing = options.withMissing === true && !isComplete ? await findMissing(tx, window, ids, range.source) : [];
  const selection: Selection = {
    ...window,
    ids: isComplete ? undefined : [...ids, ...missing],
    rowsMax: items + AUDIT_SURPLUS_ROWS_MAX,
  };
  const events = await readEventRows(tx, selection);
  const quarantine = await readQuarantineRows(tx, selection);
  const messages = await readMessageRows(tx, [...new Set(events.map(({ message }) => message))]);
  for (const id of ids) inbox.delete(id);
  const pendingWithoutReceipt = isComplete ? [...inbox] : await findPendingWithout(tx, window, range, options);
  return { ...window, receipts, events, quarantine, messages, pendingWithoutReceipt };
}

const EMPTY_PAGE: ReceiptPage = {
  receipts: [],
  events: [],
  quarantine: [],
  messages: new Map(),
  pendingWithoutReceipt: [],
  after: 0,
  upTo: 0,
};

interface Window {
  after: number;
  upTo: number;
}

/** Over all receipts the windows cover every number there is. */
function windowOf(
  range: ReceiptRange,
  after: number | undefined,
  receipts: readonly { id: number }[],
): Window | undefined {
  const first = receipts[0];
  const last = receipts.at(-1);
  if (isWhole(range)) {
    return { after: after ?? Number.MIN_SAFE_INTEGER, upTo: last?.id ?? Number.MAX_SAFE_INTEGER };
  }
  if (first === undefined || last === undefined) return undefined;
  return { after: after ?? first.id - 1, upTo: last.id };
}

type StoredReceipt = Omit<PageReceipt, "isPending" | "parsed">;

/** The sizes first, so that no more than a page of bodies is ever in memory. */
async function readReceipts(tx: Queryable, range: ReceiptRange, after: number | undefined): Promise<StoredReceipt[]> {
  const values: unknown[] = [];
  const conditions: string[] = [];
  const limit = (condition: string, value: unknown): void => {
    if (value === undefined) return;
    values.push(value);
    conditions.push(`${condition} $${values.length}`);
  };
  limit("id >", after);
  limit("id >=", range.firstId);
  limit("id <=", range.lastId);
  limit("received_at >=", range.from);
  limit("received_at <", range.to);
  limit("source =", range.source);
  const where = conditions.length === 0 ? "" : `WHERE ${conditions.join(" AND ")}`;
  const sizes = await tx.query<{ id: number; receivedAt: Date; bytes: number }>(
    `SELECT id, received_at AS "receivedAt", coalesce(bytes, octet_length(body)) AS bytes FROM receipts ${where}
     ORDER BY id LIMIT ${AUDIT_PAGE_RECEIPTS_MAX}`,
    values,
  );
  const chosen = withinPage(sizes.rows);
  if (chosen.length === 0) return [];
  const times = chosen.map(({ receivedAt }) => receivedAt.getTime());
  const found = await tx.query<StoredReceipt & PackedBody>({
    name: "read page of receipts",
    // The times let PostgreSQL look only into the partitions that can hold these receipts. A Date lacks microseconds.
    text: `SELECT id, received_at AS "receivedAt", source, key, signed_at AS "signedAt", ${SIGNATURE} AS signature,
        sha256, codec, bytes, body
      FROM receipts WHERE id = ANY ($1) AND received_at >= $2 AND received_at < $3 ORDER BY id`,
    values: [chosen.map(({ id }) => id), new Date(Math.min(...times)), new Date(Math.max(...times) + 1)],
  });
  const dictionaries = await readDictionaries(tx, found.rows);
  for (const row of found.rows) row.body = unpackDamagedBody(row, dictionaries);
  return found.rows;
}

function withinPage<T extends { bytes: number }>(sizes: readonly T[]): readonly T[] {
  let bytes = 0;
  const end = sizes.findIndex((receipt, index) => {
    bytes += receipt.bytes;
    return index > 0 && bytes > AUDIT_PAGE_BYTES_MAX;
  });
  return end === -1 ? sizes : sizes.slice(0, end);
}

async function readInbox(tx: Queryable, window: Window): Promise<Set<number>> {
  const found = await tx.query<{ receipt: number }>({
    name: "read inbox of page",
    text: `SELECT receipt FROM inbox WHERE receipt > $1 AND receipt <= $2 ORDER BY receipt LIMIT $3`,
    values: [window.after, window.upTo, AUDIT_PAGE_RECEIPTS_MAX + AUDIT_SURPLUS_ROWS_MAX],
  });
  return new Set(found.rows.map(({ receipt }) => receipt));
}

/**
 * Numbers in the window that rows name and no receipt has. Looked for one by one: the receipts of other sources may lie in
 * between in any number.
 */
async function findMissing(
  tx: Queryable,
  window: Window,
  ids: readonly number[],
  source: number | undefined,
): Promise<number[]> {
  const named = (table: string): string => `SELECT receipt FROM ${table}
    WHERE receipt > $1 AND receipt <= $2 AND receipt <> ALL ($3) AND ($4::smallint IS NULL OR source = $4)`;
  const found = await tx.query<{ receipt: number }>(
    `SELECT named.receipt FROM (${named("events")} UNION ${named("quarantine")}) AS named
     LEFT JOIN LATERAL (SELECT id FROM receipts WHERE id = named.receipt LIMIT 1) AS known ON true
     WHERE known.id IS NULL LIMIT ${AUDIT_SURPLUS_ROWS_MAX}`,
    [window.after, window.upTo, ids, source ?? null],
  );
  return found.rows.map(({ receipt }) => receipt);
}

/** The same for the inbox, behind the last receipt. */
async function findPendingWithout(
  tx: Queryable,
  window: Window,
  range: ReceiptRange,
  { withMissing }: PageOptions,
): Promise<number[]> {
  if (withMissing !== true || !isWhole(range)) return [];
  const found = await tx.query<{ receipt: number }>(
    `SELECT receipt FROM inbox LEFT JOIN LATERAL (SELECT id FROM receipts WHERE id = inbox.receipt LIMIT 1) AS known ON true
     WHERE receipt > $1 AND receipt <= $2 AND known.id IS NULL LIMIT ${AUDIT_SURPLUS_ROWS_MAX}`,
    [window.after, window.upTo],
  );
  return found.rows.map(({ receipt }) => receipt);
}

interface Selection extends Window {
  /** undefined: every number of the window. */
  ids: readonly number[] | undefined;
  rowsMax: number;
}

const SELECTED = "receipt > $1 AND receipt <= $2 AND ($3::bigint[] IS NULL OR receipt = ANY ($3)) LIMIT $4";

function selectionValues({ after, upTo, ids, rowsMax }: Selection): unknown[] {
  return [after, upTo, ids ?? null, rowsMax];
}

async function readEventRows(tx: Queryable, selection: Selection): Promise<EventRow[]> {
  const found = await tx.query<EventRow>(
    `SELECT message, event_id AS "eventId", receipt, ordinal, origin, source, twin, nameless, type,
       ${millisecondsOf("occurred_at")} AS "occurredAtMs", recipient, detail
     FROM whole_events WHERE ${SELECTED}`,
    selectionValues(selection),
  );
  return found.rows;
}

async function readQuarantineRows(tx: Queryable, selection: Selection): Promise<QuarantineRow[]> {
  const found = await tx.query<QuarantineRow>(
    `SELECT id, receipt, received_at AS "receivedAt", source, ordinal, state, sha256(bytes) AS sha256
     FROM quarantine WHERE ${SELECTED}`,
    selectionValues(selection),
  );
  return found.rows;
}

/** The rows of these messages, by number. Numbers that are not there are left out. */
export async function readMessageRows(tx: Queryable, messages: readonly number[]): Promise<Map<number, MessageRow>> {
  if (messages.length === 0) return new Map();
  const jsonOf = (columns: readonly string[], value: (column: string) => string): string =>
    `jsonb_build_object(${columns.map((column) => `'${column}', ${value(column)}`).join(", ")})`;
  const found = await tx.query<MessageRow>({
    name: "read message rows",
    text: `SELECT id, message_id AS "messageId", source, recipient, delivery, args, categories,
        ${jsonOf([...EARLIEST, ...LATEST], millisecondsOf)} AS times, ${jsonOf(COUNTS, (column) => column)} AS counts
      FROM messages WHERE id = ANY ($1)`,
    values: [messages],
  });
  return new Map(found.rows.map((row) => [row.id, row]));
}

/** What is asked of the ledger: the event with this identity. */
export interface Identity {
  messageId: string | null;
  source: number;
  eventId: string;
}

/** Where an event came from. */
export type FoundEvent = Pick<EventRow, "receipt" | "ordinal" | "origin">;

/** Where the events with these identities came from, by the identity's place in the list. */
export async function findEvents(tx: Queryable, identities: readonly Identity[]): Promise<Map<number, FoundEvent>> {
  if (identities.length === 0) return new Map();
  const found = await tx.query<FoundEvent & { place: number }>({
    name: "find events by identity",
    text: `WITH wanted AS MATERIALIZED (
        SELECT place - 1 AS place, message_id, source, event_id
        FROM unnest($1::text[], $2::smallint[], $3::text[]) WITH ORDINALITY AS w (message_id, source, event_id, place)
      ), found AS (
        SELECT w.place, w.event_id, m.id FROM wanted AS w JOIN messages AS m ON ${isMessageId("m.message_id", "w.message_id")}
        UNION ALL
        SELECT w.place, w.event_id, m.id FROM wanted AS w
        JOIN messages AS m ON w.message_id IS NULL AND m.message_id IS NULL AND m.source = w.source
      )
      SELECT f.place, e.receipt, e.ordinal, e.origin FROM found AS f JOIN events AS e ON e.message = f.id AND ${isEventId("e.event_id", "f.event_id")}`,
    values: [
      identities.map(({ messageId }) => messageId),
      identities.map(({ source }) => source),
      identities.map(({ eventId }) => eventId),
    ],
  });
  return new Map(found.rows.map(({ place, ...event }) => [place, event]));
}
