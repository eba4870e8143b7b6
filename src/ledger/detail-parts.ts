import { DETAIL_PART_CHARS_MAX, DETAIL_PARTS_MAX } from "../limits.ts";
import type { Connection } from "../postgres/pool.ts";
import type { ParsedEvent } from "./event.ts";
import { bareObject, canonicalJson, type Json, type JsonObject } from "./json.ts";

/** An event's detail as its row holds it. The view `whole_events` puts it together again. */
export interface SplitDetail {
  /** What this event alone says, and all that decides its meaning. */
  own: JsonObject;
  /** Rows of detail_parts. */
  mailing: number | null;
  channel: number | null;
}

/** The detail in one piece, as rows that are filed one by one have it. */
export function unsplit(detail: JsonObject): SplitDetail {
  return { own: detail, mailing: null, channel: null };
}

/** How a mail was sent out, and which of its links was clicked: the same for all mails of a kind. */
const MAILING_KEYS = [
  "asm_group_id",
  "from",
  "marketing_campaign_id",
  "marketing_campaign_name",
  "marketing_campaign_split_id",
  "marketing_campaign_version",
  "mc_stats",
  "newsletter",
  "phase_id",
  "pool",
  "sg_template_id",
  "sg_template_name",
  "singlesend_id",
  "singlesend_name",
  "template_hash",
  "template_id",
  "template_version_id",
  "url_offset",
];
/** What it went through, or was read with. */
const CHANNEL_KEYS = ["cert_err", "sg_content_type", "tls", "useragent"];

type Slot = "mailing" | "channel";
/** Exported for its test: what decides the meaning of an event is in none. */
export const SLOT_OF_KEY: ReadonlyMap<string, Slot> = new Map([
  ...MAILING_KEYS.map((key) => [key, "mailing"] as const),
  ...CHANNEL_KEYS.map((key) => [key, "channel"] as const),
]);

/** Events that SendGrid's own servers report: their `ip` is the one a mail was sent from, of which there are few. */
const SENDING_TYPES: ReadonlySet<string> = new Set(["processed", "deferred", "delivered", "bounce", "dropped"]);

/** The slot of a member of an event's detail; undefined: it stays with the event. */
function slotOf(key: string, value: Json, type: string): Slot | undefined {
  if (key === "ip") return SENDING_TYPES.has(type) ? "mailing" : undefined;
  // Any other time is that of one mail.
  if (key === "send_at") return value === 0 ? "mailing" : undefined;
  return SLOT_OF_KEY.get(key);
}

const SMTP_ID = "smtp-id";
/** Stands in a part for an smtp-id of the usual shape. The view knows it too. */
const SMTP_HOST = "smtp-host";

/**
 * A part is known by its sorted text, and by the texts in which it came, which are quicker to look for, up to so many in all: a
 * hostile sender has many orders of keys.
 */
const TEXTS_MAX = 2 * DETAIL_PARTS_MAX;

/** What a process knows of detail_parts. */
export interface DetailParts {
  /** Rows by the JSON text of their part. */
  numbers: Map<string, number>;
  rows: number;
  /** The highest number read or stored. */
  latest: number;
  /** Some of it was learnt in a transaction that has not committed, as far as is known. */
  isUncertain: boolean;
}

export function createDetailParts(): DetailParts {
  return { numbers: new Map(), rows: 0, latest: 0, isUncertain: false };
}

/** Called at the beginning of a transaction. What one that did not commit had stored is not there: all is read anew then. */
export function beginParts(parts: DetailParts): void {
  if (parts.isUncertain) Object.assign(parts, createDetailParts());
}

/** Called after the commit of a transaction that began with `beginParts`, and of no other: see its test. */
export function keepParts(parts: DetailParts): void {
  parts.isUncertain = false;
}

/** What an event shares with others, and the row that holds it, once that is known. */
interface SharedPart {
  slot: Slot;
  part: JsonObject;
  /** Its JSON text as the keys came. */
  text: string;
  number: number | undefined;
}

interface Draft {
  event: ParsedEvent;
  own: JsonObject;
  shared: SharedPart[];
}

/**
 * Splits the details of events, and stores the parts that no event had yet.
 *
 * Kept apart are only keys by which nothing is decided. Two processes that meet a new part at the same time store it twice, which
 * does no harm, so nobody waits for anybody. With DETAIL_PARTS_MAX parts stored, what is new stays in the events: a sender whose
 * every event has a program of its own makes no more of them. Tests: detail-parts.pg.test.ts.
 */
export async function splitDetails(
  tx: Connection,
  events: readonly ParsedEvent[],
  parts: DetailParts,
): Promise<SplitDetail[]> {
  const drafts = events.map((event) => draftOf(event, parts));
  const unknown = drafts.flatMap(({ shared }) => shared.filter(({ number }) => number === undefined));
  if (unknown.length > 0 && parts.rows < DETAIL_PARTS_MAX) {
    await learn(tx, unknown, parts);
    for (const entry of unknown) entry.number = numberOf(entry, parts);
  }
  return drafts.map(settle);
}

function draftOf(event: ParsedEvent, parts: DetailParts): Draft {
  const { detail, messageId, type } = event;
  const own = bareObject<Json>();
  let mailing: JsonObject | undefined;
  let channel: JsonObject | undefined;
  for (const key in detail) {
    const value = detail[key] ?? null;
    const slot = slotOf(key, value, type);
    const host = key === SMTP_ID ? smtpHost(value, messageId) : undefined;
    if (host !== undefined) (channel ??= bareObject())[SMTP_HOST] = host;
    else if (slot === "mailing") (mailing ??= bareObject())[key] = value;
    else if (slot === "channel") (channel ??= bareObject())[key] = value;
    else own[key] = value;
  }
  const shared: SharedPart[] = [];
  if (mailing !== undefined) shared.push(sharedPart("mailing", mailing, parts));
  if (channel !== undefined) shared.push(sharedPart("channel", channel, parts));
  return { event, own, shared };
}

function sharedPart(slot: Slot, part: JsonObject, parts: DetailParts): SharedPart {
  const text = JSON.stringify(part);
  return { slot, part, text, number: numberOf({ part, text }, parts) };
}

/** What an smtp-id says beyond its message's id: SendGrid makes it of the mail's id, which both begin with, and a host. */
function smtpHost(smtpId: Json | undefined, messageId: string | null): string | undefined {
  const end = messageId?.indexOf(".") ?? -1;
  if (typeof smtpId !== "string" || messageId === null || end <= 0) return undefined;
  const start = `<${messageId.slice(0, end)}@`;
  return smtpId.startsWith(start) && smtpId.endsWith(">") ? smtpId.slice(start.length, -1) : undefined;
}

function numberOf({ part, text }: Pick<SharedPart, "part" | "text">, { numbers }: DetailParts): number | undefined {
  const number = numbers.get(text);
  if (number !== undefined) return number;
  const sorted = numbers.get(canonicalJson(part));
  if (sorted !== undefined && numbers.size < TEXTS_MAX) numbers.set(text, sorted);
  return sorted;
}

interface PartRow {
  id: number;
  part: JsonObject;
}

/** Reads what others stored since the last time, and stores what is still unknown then. */
async function learn(tx: Connection, unknown: readonly SharedPart[], parts: DetailParts): Promise<void> {
  parts.isUncertain = true;
  const stored = await tx.query<PartRow>("SELECT id, part FROM detail_parts WHERE id > $1 ORDER BY id LIMIT $2", [
    parts.latest,
    DETAIL_PARTS_MAX,
  ]);
  addRows(parts, stored.rows);
  const wanted = new Map(unknown.map(({ part }) => [canonicalJson(part), part]));
  const missing = [...wanted].filter(([text]) => text.length <= DETAIL_PART_CHARS_MAX && !parts.numbers.has(text));
  const room = DETAIL_PARTS_MAX - parts.rows;
  if (missing.length === 0 || room <= 0) return;
  const added = await tx.query<PartRow>(
    "INSERT INTO detail_parts (part) SELECT value FROM jsonb_array_elements($1::jsonb) RETURNING id, part",
    [JSON.stringify(missing.slice(0, room).map(([, part]) => part))],
  );
  addRows(parts, added.rows);
}

function addRows(parts: DetailParts, rows: readonly PartRow[]): void {
  for (const { id, part } of rows) {
    parts.numbers.set(canonicalJson(part), id);
    parts.latest = Math.max(parts.latest, id);
  }
  parts.rows += rows.length;
}

function settle({ event, own, shared }: Draft): SplitDetail {
  const split: SplitDetail = { own, mailing: null, channel: null };
  for (const { slot, part, number } of shared) {
    if (number === undefined) restore(own, event.detail, part);
    else split[slot] = number;
  }
  return split;
}

/** Puts what no row holds back into the event's own detail. */
function restore(own: JsonObject, detail: JsonObject, part: JsonObject): void {
  for (const partKey of Object.keys(part)) {
    const key = partKey === SMTP_HOST ? SMTP_ID : partKey;
    own[key] = detail[key] ?? null;
  }
}
