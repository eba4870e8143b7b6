import { DAY_MS } from "../days.ts";
import {
  DICTIONARY_BODY_BYTES_MAX,
  DICTIONARY_DAYS_MAX,
  DICTIONARY_EVENT_CHARS_MAX,
  DICTIONARY_EVENTS_MAX,
  DICTIONARY_EVENTS_MIN,
  DICTIONARY_LOOK_MS,
  DICTIONARY_RECEIPT_EVENTS_MAX,
  DICTIONARY_RECEIPTS_LOOKED_AT,
  DICTIONARY_RECEIPTS_MAX,
  DICTIONARY_RECEIPTS_NEW,
} from "../limits.ts";
import type { Log } from "../log.ts";
import { createLoop, type Loop } from "../loop.ts";
import { lockTransaction } from "../postgres/advisory-lock.ts";
import type { Pool, Queryable } from "../postgres/pool.ts";
import { transaction } from "../postgres/transaction.ts";
import { unpackDamagedBody, type LearntDictionary, type PackedBody } from "../receipt-body.ts";
import { IS_INTACT, readDictionaries } from "../receipt-dictionaries.ts";
import { DICTIONARY_TABLES } from "../receipt-dictionary-2.ts";
import { learnPieces, type SampleEvent } from "./learn-dictionary.ts";

export interface DictionaryKeeper extends Loop {
  /** What to pack the next body with; undefined while nothing has been learnt. */
  current(): LearntDictionary | undefined;
  /** Told of receipts that were appended: the first ones are learnt from soon. */
  appended(receipts: number): void;
  /** Reads the newest dictionary, and learns one when it is time. */
  tick(): Promise<boolean>;
  /** Only reads. */
  read(): Promise<void>;
}

export interface DictionaryKeeperOptions {
  pool: Pool;
  log: Log;
  /** A clock in milliseconds since 1970; tests pass their own. */
  now?: (() => number) | undefined;
}

interface Newest extends LearntDictionary {
  learntAt: Date;
}

/**
 * Learns from the receipts what this ledger's bodies have in common, so that small ones are packed to two thirds: from the first
 * thousand, and again as the ledger grows older, since templates come and go. Nothing depends on it but the room that receipts take.
 *
 * Invariant: a body is packed only with a dictionary that has been committed. Test: dictionary.pg.test.ts.
 */
export function createDictionaryKeeper({ pool, log, now = Date.now }: DictionaryKeeperOptions): DictionaryKeeper {
  let newest: Newest | undefined;
  let appendedReceipts = 0;

  async function read(): Promise<void> {
    const found = await readNewest(pool);
    // The same bytes as before in a new buffer would have zstd begin anew with them.
    if (found?.number !== newest?.number) newest = found;
  }

  async function tick(): Promise<boolean> {
    await read();
    if (newest !== undefined && now() < dueAtMs(newest)) return false;
    const sample = await readSample(pool);
    if (sample.length < DICTIONARY_EVENTS_MIN) return false;
    const learnt = await learnPieces(sample);
    if (learnt.length === 0) return false;
    // Without the second dictionary's text, which all but rare kinds of events bring themselves: zstd reads all of a dictionary for
    // each body, and with both a POST of one event took 8 µs more of the processor, for 8 bytes less.
    await store(pool, Buffer.concat([DICTIONARY_TABLES, Buffer.from(learnt.join(""))]), newest?.number);
    await read();
    log.info({ dictionary: newest?.number, bytes: newest?.dictionary.length }, "learnt what receipts have in common");
    return false;
  }

  const loop = createLoop({ name: "dictionary", log, tick, idleMs: DICTIONARY_LOOK_MS });
  return {
    ...loop,
    current: () => newest,
    appended(receipts) {
      if (newest !== undefined) return;
      appendedReceipts += receipts;
      if (appendedReceipts < DICTIONARY_RECEIPTS_NEW) return;
      appendedReceipts = 0;
      loop.wake();
    },
    tick,
    read,
  };
}

/** After 1 day, then 4, 9, 16, 25 and every 30: the first hours of a ledger are not like the rest. */
function dueAtMs({ number, learntAt }: Newest): number {
  return learntAt.getTime() + Math.min(number ** 2, DICTIONARY_DAYS_MAX) * DAY_MS;
}

async function readNewest(db: Queryable): Promise<Newest | undefined> {
  const { rows } = await db.query<Newest>(
    `SELECT number, dictionary, learnt_at AS "learntAt" FROM receipt_dictionaries WHERE ${IS_INTACT} ORDER BY number DESC LIMIT 1`,
  );
  return rows[0];
}

/** Of several processes that learn at once, one stores. */
async function store(pool: Pool, dictionary: Buffer, after: number | undefined): Promise<void> {
  await transaction(pool, async (tx) => {
    await lockTransaction(tx, "dictionary");
    await tx.query(
      `INSERT INTO receipt_dictionaries (dictionary, sha256)
       SELECT $1::bytea, sha256($1::bytea) WHERE NOT EXISTS (SELECT FROM receipt_dictionaries WHERE number > $2 AND ${IS_INTACT})`,
      [dictionary, after ?? 0],
    );
  });
}

/** Some events of each of the latest receipts that are not large. Simulated ones are not like the rest. */
async function readSample(db: Queryable): Promise<SampleEvent[]> {
  const { rows } = await db.query<PackedBody>(
    `SELECT codec, bytes, body
     FROM (SELECT id, source, codec, bytes, body FROM receipts ORDER BY id DESC LIMIT ${DICTIONARY_RECEIPTS_LOOKED_AT}) AS latest
     WHERE source IN (SELECT id FROM sources WHERE NOT simulated)
       AND coalesce(bytes, octet_length(body)) <= ${DICTIONARY_BODY_BYTES_MAX}
     ORDER BY id DESC LIMIT ${DICTIONARY_RECEIPTS_MAX}`,
  );
  const dictionaries = await readDictionaries(db, rows);
  const sample: SampleEvent[] = [];
  for (const row of rows) {
    if (sample.length >= DICTIONARY_EVENTS_MAX) break;
    sample.push(...eventsOf(unpackDamagedBody(row, dictionaries)));
  }
  return sample.slice(0, DICTIONARY_EVENTS_MAX);
}

function eventsOf(body: Buffer): SampleEvent[] {
  let items: unknown;
  try {
    items = JSON.parse(body.toString());
  } catch {
    return [];
  }
  if (!Array.isArray(items)) return [];
  return items.slice(0, DICTIONARY_RECEIPT_EVENTS_MAX).flatMap((item: { email?: unknown } | null) => {
    const recipient = item?.email;
    const text = JSON.stringify(item);
    return typeof recipient === "string" && text.length <= DICTIONARY_EVENT_CHARS_MAX ? [{ recipient, text }] : [];
  });
}
