import { constants, zstdCompressSync, zstdDecompressSync, type ZstdOptions } from "node:zlib";
import { BODY_BYTES_MAX } from "./limits.ts";
import { RECEIPT_DICTIONARY_1 } from "./receipt-dictionary-1.ts";
import { RECEIPT_DICTIONARY_2 } from "./receipt-dictionary-2.ts";

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
 * Told the length before, zstd makes tables no larger than a small body needs, and its fourth level makes 252 bytes of one
 * event where the usual third makes 260, in about 3 µs more. For more events its first level is as small as the third and takes two
 * thirds of the time: 0.5 ms instead of 0.7 for 500.
 */
const SMALL: ZstdOptions = { params: { [constants.ZSTD_c_compressionLevel]: 4 } };
const LARGE: ZstdOptions = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };
const SMALL_BYTES_MAX = 2048;
/** Dictionaries learnt from the ledger's own receipts, by number (`readDictionaries`). A body's codec is minus the number. */
export type Dictionaries = ReadonlyMap<number, Buffer>;

/** What the next bodies are packed with. */
export interface LearntDictionary {
  number: number;
  dictionary: Buffer;
}

/** A packed body is a quarter at most, where it is larger than this. */
const PACKED_SHARE = 1 / 4;
const OUTPUT_BYTES_MIN = 1024;

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
  // Unless it is told, Node makes 16 KiB of room for each output: 54 µs instead of 27 for one event, and garbage.
  const chunkSize = Math.max(OUTPUT_BYTES_MIN, Math.ceil(body.length * PACKED_SHARE));
  const options = body.length < SMALL_BYTES_MAX ? { ...SMALL, pledgedSrcSize: body.length } : LARGE;
  const dictionary = learnt?.dictionary ?? RECEIPT_DICTIONARY_2;
  const packed = zstdCompressSync(body, { ...options, chunkSize, dictionary });
  if (packed.length >= body.length) return { codec: PLAIN, bytes: null, body };
  return { codec: learnt === undefined ? ZSTD_2 : -learnt.number, bytes: body.length, body: packed };
}

const NONE: Dictionaries = new Map();

/** The bytes as they came. Throws where the row was damaged. */
export function unpackBody({ codec, bytes, body }: PackedBody, dictionaries: Dictionaries = NONE): Buffer {
  if (codec === PLAIN) return body;
  const dictionary = codec < 0 ? dictionaries.get(-codec) : DICTIONARIES.get(codec);
  if (dictionary === undefined) {
    throw new Error(`a receipt is packed in a way (${codec}) that is not known`);
  }
  // Room for all of it at once, and for the look whether more comes: in pieces of 16 KiB, 56 KB took 161 µs, and so 77.
  const chunkSize = Math.min(bytes ?? 0, BODY_BYTES_MAX) + OUTPUT_BYTES_MIN;
  const unpacked = zstdDecompressSync(body, { dictionary, maxOutputLength: BODY_BYTES_MAX, chunkSize });
  if (unpacked.length !== bytes) throw new Error("a receipt's packed body has another length than it had");
  return unpacked;
}

/** For an audit, which must go on over damage: where it cannot be unpacked, the packed bytes, whose hash is another. */
export function unpackDamagedBody(packed: PackedBody, dictionaries: Dictionaries = NONE): Buffer {
  try {
    return unpackBody(packed, dictionaries);
  } catch {
    return packed.body;
  }
}
