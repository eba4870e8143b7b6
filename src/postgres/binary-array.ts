/**
 * Arrays in PostgreSQL's binary form, one per column of many rows: a statement has the same text for any number of rows, and
 * neither side turns numbers, times or bytes into text and back. The driver sends any Buffer as a binary parameter.
 * Each must be cast in the statement (`$1::int8[]`), since the form names the type of its elements.
 */

/** The numbers of PostgreSQL's types. */
const BYTEA = 17;
const INT8 = 20;
const INT2 = 21;
const INT4 = 23;
const TEXT = 25;
const TIMESTAMPTZ = 1184;

/** Dimensions, whether there are nulls, the element's type, then of the one dimension its length and where it begins. */
const HEADER_BYTES = 20;
const LENGTH_BYTES = 4;
const NULL_LENGTH = -1;
/** PostgreSQL counts microseconds from the year 2000. */
const POSTGRES_EPOCH_MS = Date.UTC(2000, 0, 1);

export function int2Array(values: readonly (number | null)[]): Buffer {
  return fixedArray(INT2, 2, values, (buffer, value, at) => buffer.writeInt16BE(value, at));
}

export function int4Array(values: readonly (number | null)[]): Buffer {
  return fixedArray(INT4, 4, values, (buffer, value, at) => buffer.writeInt32BE(value, at));
}

export function int8Array(values: readonly (number | null)[]): Buffer {
  return fixedArray(INT8, 8, values, writeInt8);
}

/** Of milliseconds since 1970, for times before 2285: their microseconds are below 2^53. */
export function timestamptzArray(values: readonly (number | null)[]): Buffer {
  return fixedArray(TIMESTAMPTZ, 8, values, (buffer, value, at) =>
    writeInt8(buffer, (value - POSTGRES_EPOCH_MS) * 1000, at),
  );
}

export function byteaArray(values: readonly (Buffer | null)[]): Buffer {
  return variableArray(BYTEA, values, {
    bytesOf: (value) => value.length,
    write: (buffer, value, at) => value.copy(buffer, at),
  });
}

export function textArray(values: readonly (string | null)[]): Buffer {
  return variableArray(TEXT, values, {
    bytesOf: (value) => Buffer.byteLength(value),
    write: (buffer, value, at) => buffer.write(value, at),
  });
}

/** In two halves: a BigInt for each would be garbage. Exact up to 2^53. */
function writeInt8(buffer: Buffer, value: number, at: number): void {
  const high = Math.floor(value / 2 ** 32);
  buffer.writeInt32BE(high, at);
  buffer.writeUInt32BE(value - high * 2 ** 32, at + 4);
}

function fixedArray<T>(
  type: number,
  bytes: number,
  values: readonly (T | null)[],
  write: (buffer: Buffer, value: T, at: number) => void,
): Buffer {
  const buffer = begin(type, values, values.length * bytes);
  let at = HEADER_BYTES;
  for (const value of values) {
    at = buffer.writeInt32BE(value === null ? NULL_LENGTH : bytes, at);
    if (value === null) continue;
    write(buffer, value, at);
    at += bytes;
  }
  return buffer.subarray(0, at);
}

/** `write` says how many bytes it wrote. */
function variableArray<T>(
  type: number,
  values: readonly (T | null)[],
  { bytesOf, write }: { bytesOf: (value: T) => number; write: (buffer: Buffer, value: T, at: number) => number },
): Buffer {
  const buffer = begin(
    type,
    values,
    values.reduce((sum, value) => sum + (value === null ? 0 : bytesOf(value)), 0),
  );
  let at = HEADER_BYTES;
  for (const value of values) {
    const written = value === null ? NULL_LENGTH : write(buffer, value, at + LENGTH_BYTES);
    at = buffer.writeInt32BE(written, at) + Math.max(written, 0);
  }
  return buffer;
}

/** An array with its header, and room for its elements. */
function begin(type: number, values: readonly unknown[], bytes: number): Buffer {
  const buffer = Buffer.allocUnsafe(HEADER_BYTES + values.length * LENGTH_BYTES + bytes);
  buffer.writeInt32BE(1, 0);
  buffer.writeInt32BE(values.includes(null) ? 1 : 0, 4);
  buffer.writeInt32BE(type, 8);
  buffer.writeInt32BE(values.length, 12);
  buffer.writeInt32BE(1, 16);
  return buffer;
}
