import { zstdDecompressSync } from "node:zlib";
import { BODY_BYTES_MAX } from "./limits.ts";
import { RECEIPT_DICTIONARY_1 } from "./receipt-dictionary-1.ts";
import { RECEIPT_DICTIONARY_2 } from "./receipt-dictionary-2.ts";
import { createPacker, createUnpacker, type Packer, type Unpacker } from "./zstd.ts";

/**
 * How a receipt's bytes are kept. They come out as they came in, byte for byte: the receipt's SHA-256 and SendGrid's
 * signature are over these, and `holdfast verify` checks both.
 */

/** As it came. */
const PLAIN = 0;
/** zstd with the second dictionary. */
const ZSTD_2 = 2;
/** Nothing is packed with the first any more, but what was must stay readable. */
const DICTIONARIES: ReadonlyMap<number, Buffer> = new Map([
  [1, RECEIPT_DICTIONARY_1],
  [ZSTD_2, RECEIPT_DICTIONARY_2],
]);

/**
 * Of one event zstd's third level makes as little as the fourth and fifth do within 3 %, in 5 µs, and of ten events 124 bytes each in 30 µs
 * where the first makes 128 in 22. For more its first level is as small as the third and takes two thirds of the time.
 */
const SMALL = { level: 3, packers: new WeakMap<Buffer, Packer>() };
const LARGE = { level: 1, packers: new WeakMap<Buffer, Packer>() };
const SMALL_BYTES_MAX = 16 * 1024;

/** Longer bodies are unpacked by themselves, all at once: making a context is little beside that. */
const KEPT_UNPACKER_BYTES_MAX = 32 * 1024;
/** Room for the look whether more comes. */
const OUTPUT_BYTES_MORE = 1024;

/** The contexts of who unpacks many bodies with the same dictionaries, by dictionary. */
export type Unpackers = WeakMap<Buffer, Unpacker>;

/** What belongs to a dictionary: made when it is first asked for, and kept as long as the dictionary is. */
function kept<Value>(byDictionary: WeakMap<Buffer, Value>, dictionary: Buffer, create: () => Value): Value {
  const known = byDictionary.get(dictionary);
  if (known !== undefined) return known;
  const created = create();
  byDictionary.set(dictionary, created);
  return created;
}

/** Dictionaries learnt from the ledger's own receipts, by number (`readDictionaries`). A body's codec is minus the number. */
export type Dictionaries = ReadonlyMap<number, Buffer>;

/** What the next bodies are packed with. */
export interface LearntDictionary {
  number: number;
  dictionary: Buffer;
}

/** A body as it stands in its row. */
export interface PackedBody {
  codec: number;
  /** The length as it came, where the packed one differs. */
  bytes: number | null;
  body: Buffer;
}

/**
 * Packs a body for its row; what would not become smaller stays as it came.
 *
 * In this process and not in PostgreSQL: of a POST of 100 events zstd makes a sixth in 0.1 ms, where pglz made a third, and
 * less goes over the connection and into the log; the intake took 141,000 events a second where it had taken 80,000.
 * Synchronous, since a body of the usual size is done before a thread of the pool would have begun.
 */
export function packBody(body: Buffer, learnt?: LearntDictionary): PackedBody {
  const dictionary = learnt?.dictionary ?? RECEIPT_DICTIONARY_2;
  const { level, packers } = body.length <= SMALL_BYTES_MAX ? SMALL : LARGE;
  const packed = kept(packers, dictionary, () => createPacker(dictionary, level))(body);
  if (packed.length >= body.length) return { codec: PLAIN, bytes: null, body };
  return { codec: learnt === undefined ? ZSTD_2 : -learnt.number, bytes: body.length, body: packed };
}

const NONE: Dictionaries = new Map();

/**
 * The bytes as they came. Throws where the row was damaged.
 *
 * Without `unpackers`, zstd's memory is given back at once: who reads the dictionaries anew each time would leave a context behind
 * each time, until V8 collects it.
 */
export function unpackBody(
  { codec, bytes, body }: PackedBody,
  dictionaries: Dictionaries = NONE,
  unpackers?: Unpackers,
): Buffer {
  if (codec === PLAIN) return body;
  const dictionary = codec < 0 ? dictionaries.get(-codec) : DICTIONARIES.get(codec);
  if (dictionary === undefined) {
    throw new Error(`a receipt is packed in a way (${codec}) that is not known`);
  }
  const known = unpackers === undefined ? undefined : unpackKept(body, dictionary, bytes ?? 0, unpackers);
  const unpacked = known ?? unpack(body, dictionary, bytes ?? 0);
  if (unpacked.length !== bytes) throw new Error("a receipt's packed body has another length than it had");
  return unpacked;
}

function unpackKept(body: Buffer, dictionary: Buffer, bytes: number, unpackers: Unpackers): Buffer | undefined {
  if (bytes > KEPT_UNPACKER_BYTES_MAX) return undefined;
  return kept(unpackers, dictionary, () => createUnpacker(dictionary, KEPT_UNPACKER_BYTES_MAX))(body, bytes);
}

function unpack(body: Buffer, dictionary: Buffer, bytes: number): Buffer {
  // In pieces of 16 KiB, which Node makes unless it is told, 56 KB took 161 µs, and so 77.
  const chunkSize = Math.min(bytes, BODY_BYTES_MAX) + OUTPUT_BYTES_MORE;
  return zstdDecompressSync(body, { dictionary, maxOutputLength: BODY_BYTES_MAX, chunkSize });
}

/** For an audit, which must go on over damage: where it cannot be unpacked, the packed bytes, whose hash is another. */
export function unpackDamagedBody(packed: PackedBody, dictionaries: Dictionaries = NONE): Buffer {
  try {
    return unpackBody(packed, dictionaries);
  } catch {
    return packed.body;
  }
}
