import type { Queryable } from "./postgres/pool.ts";
import type { Dictionaries, PackedBody } from "./receipt-body.ts";

/** SQL: with another dictionary zstd would make other bytes of the same length, without a word. */
export const IS_INTACT = "sha256 = sha256(dictionary)";

/**
 * Reads the ledger's own dictionaries that these bodies are packed with, but for those that are known. A row of
 * receipt_dictionaries never changes and was committed before the first body was packed with it, so what is known stays true.
 * What is not there or was damaged is left out, and `unpackBody` says so.
 *
 * @returns `known`, with those added.
 */
export async function readDictionaries(
  db: Queryable,
  packed: readonly Pick<PackedBody, "codec">[],
  known: Map<number, Buffer> = new Map(),
): Promise<Dictionaries> {
  const missing = new Set(packed.map(({ codec }) => -codec).filter((number) => number > 0 && !known.has(number)));
  if (missing.size === 0) return known;
  const { rows } = await db.query<{ number: number; dictionary: Buffer }>(
    `SELECT number, dictionary FROM receipt_dictionaries WHERE number = ANY ($1) AND ${IS_INTACT}`,
    [[...missing]],
  );
  for (const { number, dictionary } of rows) known.set(number, dictionary);
  return known;
}
