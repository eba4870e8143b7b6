import { COMPARE_MARGIN_SECONDS, COMPARE_PAGE_ROWS, COMPARE_STATEMENT_MS_MAX } from "../limits.ts";
import type { Connection, Pool } from "../postgres/pool.ts";
import type { TableAddress } from "./compare-address.ts";
import { beginReading, compareIds, groupsOf, type Group, type Row } from "./compare-cursor.ts";
import { explained, openTable, type OpenTable, type TableColumns } from "./compare-table.ts";

export interface CompareOptions {
  pool: Pool;
  address: TableAddress;
  columns: TableColumns;
  /** Only with a time column: else it is not known which of the table's events belong to the period. */
  from: Date | undefined;
  /** Not included. */
  to: Date | undefined;
  /** The number of one source; undefined: all that are not simulated. */
  source: number | undefined;
  /** So many ids are named on each side. */
  listed: number;
  onStep?: (ids: number) => void;
  /** For tests: the rows in memory whenever a page comes. */
  onHeld?: (rows: number) => void;
  pageRows?: number;
  signal?: AbortSignal;
}

/** An event of the ledger that the table lacks. */
export interface OnlyHere {
  id: string;
  at: string | null;
  type: string;
  /** Looks like a re-delivery under another id. */
  twin: boolean;
  /** webhook, or where it was repaired from. */
  origin: string;
}

/** An event of the table that the ledger lacks. */
export interface OnlyThere {
  id: string;
  at: string | null;
  rows: number;
}

export interface Comparison {
  outcome: "equal" | "different";
  from: string | null;
  to: string | null;
  both: number;
  onlyInHoldfast: { events: number; twins: number; repaired: number; listed: OnlyHere[] };
  onlyInTable: { events: number; listed: OnlyThere[] };
  /** Events of the ledger that came without SendGrid's id. */
  notComparable: number;
  /** Ids that the table has more than once, and its rows beyond one for each. */
  repeatedInTable: { ids: number; rows: number };
  /** Rows of the table without an id, and those that the ledger lacks and whose time is not known though there is a period. */
  withoutId: number;
  withoutTime: number;
}

interface LedgerRow extends Row {
  type: string;
  twin: boolean;
  origin: string;
}

const MARGIN_MS = COMPARE_MARGIN_SECONDS * 1000;

/**
 * Holds the ledger's events against the table of another handler of the same webhooks, by SendGrid's ids, in both directions.
 * Reads only, both sides in the order of their ids, a page of each in memory.
 *
 * With a period an event is missed on one side when its time on the other is within it; the side that may lack it is read
 * some days beyond, since the table's time may be that of arrival. Test: compare.pg.test.ts.
 *
 * @throws UsageError when the table cannot be read.
 */
export async function compare(options: CompareOptions): Promise<Comparison> {
  const table = await openTable(options.address, options.columns);
  try {
    const tx = await options.pool.connect();
    try {
      await beginReading(tx);
      const comparison = await mergeSides(options, tx, table);
      await tx.query("ROLLBACK");
      tx.release();
      return comparison;
    } catch (error) {
      // Whatever state it is in, nobody else gets it.
      tx.release(true);
      throw error;
    }
  } finally {
    await table.close();
  }
}

async function mergeSides(options: CompareOptions, tx: Connection, table: OpenTable): Promise<Comparison> {
  const { address, signal, onStep, onHeld, pageRows = COMPARE_PAGE_ROWS } = options;
  const held = { here: 0, there: 0 };
  const holds = (side: keyof typeof held) => (rows: number) => {
    held[side] = rows;
    onHeld?.(held.here + held.there);
  };
  const comparison = await countApart(options, tx, table);
  const shared = { pageRows, signal, isWanted: (row: Row) => isWithin(options, row) };
  const here = groupsOf<LedgerRow>({ db: tx, ...ledgerQuery(options), ...shared, onHeld: holds("here") });
  const there = groupsOf<Row>({ db: table.db, ...tableQuery(options, table), ...shared, onHeld: holds("there") });
  const nextThere = async (): Promise<Group<Row> | undefined> => explained(address, async () => takeNext(there));
  let left = await takeNext(here);
  let right = await nextThere();
  for (let ids = 1; left !== undefined || right !== undefined; ids += 1) {
    const order = orderOf(left, right);
    countPair(comparison, options, { left: order <= 0 ? left : undefined, right: order >= 0 ? right : undefined });
    if (order <= 0) left = await takeNext(here);
    if (order >= 0) right = await nextThere();
    if (ids % COMPARE_PAGE_ROWS === 0) onStep?.(ids);
  }
  const isEqual = comparison.onlyInHoldfast.events + comparison.onlyInTable.events === 0;
  return { ...comparison, outcome: isEqual ? "equal" : "different" };
}

async function takeNext<T>(groups: AsyncGenerator<T>): Promise<T | undefined> {
  const next = await groups.next();
  return next.done === true ? undefined : next.value;
}

/** Negative: the left one comes first; 0: they are the same. A side that has ended comes last. */
function orderOf(left: Group<Row> | undefined, right: Group<Row> | undefined): number {
  if (left === undefined) return 1;
  return right === undefined ? -1 : compareIds(left.row.id, right.row.id);
}

interface Pair {
  left: Group<LedgerRow> | undefined;
  right: Group<Row> | undefined;
}

function countPair(comparison: Comparison, options: CompareOptions, { left, right }: Pair): void {
  const { onlyInHoldfast, onlyInTable, repeatedInTable } = comparison;
  const isWanted = left?.isWanted === true || right?.isWanted === true;
  if (isWanted && right !== undefined && right.rows > 1) {
    repeatedInTable.ids += 1;
    repeatedInTable.rows += right.rows - 1;
  }
  if (left !== undefined && right !== undefined) {
    if (isWanted) comparison.both += 1;
  } else if (left !== undefined && isWanted) {
    const { id, atMs, type, twin, origin } = left.row;
    onlyInHoldfast.events += 1;
    if (twin) onlyInHoldfast.twins += 1;
    if (origin !== "webhook") onlyInHoldfast.repaired += 1;
    if (onlyInHoldfast.listed.length < options.listed) {
      onlyInHoldfast.listed.push({ id, at: isoOf(atMs), type, twin, origin });
    }
  } else if (right !== undefined && isWanted) {
    const { id, atMs } = right.row;
    onlyInTable.events += 1;
    if (onlyInTable.listed.length < options.listed) onlyInTable.listed.push({ id, at: isoOf(atMs), rows: right.rows });
  } else if (right !== undefined && right.row.atMs === null) {
    comparison.withoutTime += 1;
  }
}

function isWithin({ from, to }: CompareOptions, { atMs }: Row): boolean {
  if (from === undefined && to === undefined) return true;
  if (atMs === null) return false;
  return atMs >= (from?.getTime() ?? -Infinity) && atMs < (to?.getTime() ?? Infinity);
}

/** Beyond what a Date can be (PostgreSQL's infinity) there is no time to show. */
function isoOf(atMs: number | null): string | null {
  if (atMs === null) return null;
  const at = new Date(atMs);
  return Number.isNaN(at.getTime()) ? null : at.toISOString();
}

/** Some days beyond the period on both ends. */
function widened({ from, to }: CompareOptions): [Date | null, Date | null] {
  return [
    from === undefined ? null : new Date(from.getTime() - MARGIN_MS),
    to === undefined ? null : new Date(to.getTime() + MARGIN_MS),
  ];
}

const OF_SOURCES = `CASE WHEN $3::int IS NULL THEN source IN (SELECT id FROM sources WHERE NOT simulated) ELSE source = $3 END`;
const IN_PERIOD = `($1::timestamptz IS NULL OR occurred_at >= $1) AND ($2::timestamptz IS NULL OR occurred_at < $2)`;

function ledgerQuery(options: CompareOptions): { text: string; values: unknown[] } {
  return {
    text: `SELECT event_id AS id, extract(epoch FROM occurred_at)::float8 * 1000 AS "atMs", type, twin, origin::text AS origin
      FROM events WHERE ${IN_PERIOD} AND ${OF_SOURCES} AND event_id NOT LIKE 'fp:%' ORDER BY event_id COLLATE "C"`,
    values: [...widened(options), options.source ?? null],
  };
}

function tableQuery(options: CompareOptions, table: OpenTable): { text: string; values: unknown[] } {
  const { conditions, values } = periodOf(table, widened(options));
  return {
    text: `SELECT ${table.id} AS id, ${table.atMs} AS "atMs" FROM ${table.table}
      WHERE ${[...conditions, `${table.id} <> ''`].join(" AND ")} ORDER BY ${table.id}`,
    values,
  };
}

function periodOf(
  table: OpenTable,
  [from, to]: readonly [Date | null, Date | null],
): { conditions: string[]; values: Date[] } {
  const values = [from, to].filter((time) => time !== null);
  const conditions: string[] = [];
  if (from !== null) conditions.push(table.since("$1"));
  if (to !== null) conditions.push(table.before(`$${values.length}`));
  return { conditions, values };
}

/** What has no id on either side cannot be compared: it is counted. */
async function countApart(options: CompareOptions, tx: Connection, table: OpenTable): Promise<Comparison> {
  const { address, from, to, source } = options;
  const statement = {
    text: `SELECT count(*) FROM events WHERE ${IN_PERIOD} AND ${OF_SOURCES} AND event_id LIKE 'fp:%'`,
    values: [from ?? null, to ?? null, source ?? null],
    query_timeout: COMPARE_STATEMENT_MS_MAX,
  };
  const here = await tx.query<{ count: number }>(statement);
  const { conditions, values } = periodOf(table, [from ?? null, to ?? null]);
  const where = [...conditions, `(${table.id} = '' OR ${table.id} IS NULL)`].join(" AND ");
  const there = await explained(address, async () =>
    table.db.query<{ count: number }>(`SELECT count(*)::float8 AS count FROM ${table.table} WHERE ${where}`, values),
  );
  return {
    outcome: "equal",
    from: from?.toISOString() ?? null,
    to: to?.toISOString() ?? null,
    both: 0,
    onlyInHoldfast: { events: 0, twins: 0, repaired: 0, listed: [] },
    onlyInTable: { events: 0, listed: [] },
    notComparable: here.rows[0]?.count ?? 0,
    repeatedInTable: { ids: 0, rows: 0 },
    withoutId: there.rows[0]?.count ?? 0,
    withoutTime: 0,
  };
}
