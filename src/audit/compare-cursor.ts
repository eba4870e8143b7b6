import type { ClientBase } from "pg";
import { COMPARE_STATEMENT_MS_MAX } from "../limits.ts";

/** What a side tells of one id. */
export interface Row {
  id: string;
  /** Milliseconds since 1970; null where the row has none. */
  atMs: number | null;
}

/** Rows that share an id. */
export interface Group<R extends Row> {
  row: R;
  rows: number;
  /** One of them is in the period. */
  isWanted: boolean;
}

export interface CursorOptions<R extends Row> {
  db: ClientBase;
  text: string;
  values: readonly unknown[];
  isWanted: (row: R) => boolean;
  pageRows: number;
  signal: AbortSignal | undefined;
  /** Told of each page: so many rows of this side are in memory now. */
  onHeld: (rows: number) => void;
}

const CURSOR = "holdfast_compare";

/** Begins a transaction that can write nothing and sees one moment, with time for a whole table to be sorted. */
export async function beginReading(db: ClientBase): Promise<void> {
  await db.query("BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY");
  await db.query(`SET LOCAL statement_timeout = ${COMPARE_STATEMENT_MS_MAX}`);
  // While one side is being sorted, the other waits.
  await db.query(`SET LOCAL idle_in_transaction_session_timeout = ${2 * COMPARE_STATEMENT_MS_MAX}`);
}

/**
 * The rows of a statement in the order of their ids, those of one id together, a page at a time.
 *
 * Invariant: no more than `pageRows` rows are in memory, however large the table. Ids ascend by their bytes in UTF-8 on both
 * sides, or it is said that they do not: a merge of lists in different orders would name differences that are none.
 * Test: compare.pg.test.ts.
 */
export async function* groupsOf<R extends Row>(options: CursorOptions<R>): AsyncGenerator<Group<R>> {
  const { db, text, values, isWanted, pageRows, signal, onHeld } = options;
  await db.query(`DECLARE ${CURSOR} NO SCROLL CURSOR FOR ${text}`, [...values]);
  const fetch = { text: `FETCH FORWARD ${pageRows} FROM ${CURSOR}`, query_timeout: COMPARE_STATEMENT_MS_MAX };
  let group: Group<R> | undefined;
  for (;;) {
    signal?.throwIfAborted();
    const { rows } = await db.query<R>(fetch);
    onHeld(rows.length);
    for (const row of rows) {
      const order = group === undefined ? -1 : compareIds(group.row.id, row.id);
      if (order > 0) throw new Error("the ids of a table did not come in the order of their bytes");
      if (group !== undefined && order === 0) {
        group.rows += 1;
        group.isWanted ||= isWanted(row);
        continue;
      }
      if (group !== undefined) yield group;
      group = { row, rows: 1, isWanted: isWanted(row) };
    }
    if (rows.length < pageRows) break;
  }
  if (group !== undefined) yield group;
  onHeld(0);
}

/** As COLLATE "C" orders text in UTF-8. */
export function compareIds(left: string, right: string): number {
  if (left === right) return 0;
  return Buffer.compare(Buffer.from(left), Buffer.from(right));
}
