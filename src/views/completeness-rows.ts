import { COMPLETENESS_ACCOUNTS_MAX, DETAIL_BYTES_MAX, RECONCILIATION_CHANGES_MAX } from "../limits.ts";
import type { Connection } from "../postgres/pool.ts";
import type { ChangeReason, DayState, Gap, GapState, KindFigures } from "./contract-completeness.ts";
import type { Day, DayRange } from "./days.ts";

/** The statements on the tables of completeness: reconcile and the ledger write them, views only read. */

export interface ResultRow {
  day: Day;
  account: string;
  state: DayState;
  final: boolean;
  missing: number;
  repaired: number;
  open: number;
  simulated: boolean;
  checkedAt: Date;
  timeZone: string;
}

export interface FiguresRow extends ResultRow {
  kinds: KindFigures[];
}

const RESULT = `day::text AS day, account, state, final, missing, repaired, open, simulated, checked_at AS "checkedAt", time_zone AS "timeZone"`;

/** Newest first. One step through the primary key for each year, however many days and accounts it has. */
export async function readYears(tx: Connection): Promise<number[]> {
  const { rows } = await tx.query<{ year: number }>(
    `WITH RECURSIVE years (day) AS (
       SELECT max(day) FROM reconciliations
       UNION ALL
       SELECT (SELECT max(day) FROM reconciliations WHERE day < date_trunc('year', years.day)::date) FROM years
       WHERE years.day IS NOT NULL
     )
     SELECT extract(year FROM day)::integer AS year FROM years WHERE day IS NOT NULL`,
  );
  return rows.map(({ year }) => year);
}

export interface Accounts {
  accounts: string[];
  accountsLeftOut: number;
}

/** The accounts with a result in a range, the key's own first. */
export async function readAccounts(tx: Connection, { from, to }: DayRange): Promise<Accounts> {
  const { rows } = await tx.query<{ account: string; total: number }>(
    `SELECT account, count(*) OVER () AS total FROM reconciliations WHERE day BETWEEN $1 AND $2
     GROUP BY account ORDER BY account LIMIT $3`,
    [from, to, COMPLETENESS_ACCOUNTS_MAX],
  );
  return { accounts: rows.map(({ account }) => account), accountsLeftOut: (rows[0]?.total ?? 0) - rows.length };
}

export async function readResults(tx: Connection, range: DayRange, accounts: readonly string[]): Promise<ResultRow[]> {
  const { rows } = await tx.query<ResultRow>(
    `SELECT ${RESULT} FROM reconciliations WHERE day BETWEEN $1 AND $2 AND account = ANY ($3) ORDER BY day, account`,
    [range.from, range.to, accounts],
  );
  return rows;
}

export interface FiguresQuestion extends DayRange {
  account: string | undefined;
  limit: number;
}

/** Results with their figures by kind. */
export async function readFigures(tx: Connection, question: FiguresQuestion): Promise<FiguresRow[]> {
  const { from, to, account = null, limit } = question;
  const { rows } = await tx.query<FiguresRow>(
    `SELECT ${RESULT}, kinds FROM reconciliations
     WHERE day BETWEEN $1 AND $2 AND ($3::text IS NULL OR account = $3) ORDER BY day, account LIMIT $4`,
    [from, to, account, limit],
  );
  return rows;
}

export interface RepairedFrom {
  account: string;
  origin: "logs" | "messages" | "csv";
  count: number;
}

/** Which records the repaired events of a range were filed from. */
export async function readRepairedFrom(tx: Connection, range: DayRange, account?: string): Promise<RepairedFrom[]> {
  const { rows } = await tx.query<RepairedFrom>(
    `SELECT g.account, r.origin::text AS origin, count(*) AS count FROM gaps g JOIN repairs r ON r.gap = g.id
     WHERE g.day BETWEEN $1 AND $2 AND ($3::text IS NULL OR g.account = $3) AND r.outcome = 'filed'
     GROUP BY g.account, r.origin ORDER BY g.account, count DESC, r.origin`,
    [range.from, range.to, account ?? null],
  );
  return rows;
}

export interface ChangeRow {
  id: number;
  account: string;
  changedAt: Date;
  before: Record<string, unknown>;
  after: Record<string, unknown>;
  reasons: ChangeReason[];
  total: number;
}

/** How a day's results came to be what they are, newest first, at most RECONCILIATION_CHANGES_MAX. */
export async function readChanges(tx: Connection, day: Day, account: string | undefined): Promise<ChangeRow[]> {
  const { rows } = await tx.query<ChangeRow>(
    `SELECT id, account, changed_at AS "changedAt", before, after, reasons, count(*) OVER () AS total
     FROM reconciliation_changes WHERE day = $1 AND ($2::text IS NULL OR account = $2) ORDER BY id DESC LIMIT $3`,
    [day, account ?? null, RECONCILIATION_CHANGES_MAX],
  );
  return rows;
}

export interface GapSearch {
  day: Day;
  account: string | undefined;
  state: GapState | undefined;
  kind: string | undefined;
  /** Only gaps with a higher number: the next page. */
  after: number | undefined;
  limit: number;
}

export interface GapRow extends Omit<Gap, "id" | "occurredAt" | "foundAt" | "closedAt" | "evidence" | "repair"> {
  id: number;
  occurredAt: Date | null;
  foundAt: Date;
  closedAt: Date | null;
  evidence: Record<string, unknown> | null;
  origin: RepairedFrom["origin"] | null;
  outcome: "filed" | "held" | "unreadable" | null;
  repairedAt: Date | null;
  replacedAt: Date | null;
  replacedByReceipt: number | null;
}

/** One page of a day's gaps, in the order they were found. */
export async function readGaps(tx: Connection, search: GapSearch): Promise<GapRow[]> {
  const { day, account = null, state = null, kind = null, after = null, limit } = search;
  const { rows } = await tx.query<GapRow>(
    `SELECT g.id, g.account, g.kind, g.occurred_at AS "occurredAt", g.recipient,
       coalesce(m.message_id, g.message_id) AS "messageId", m.id IS NOT NULL AS "isHeld", g.event_id AS "eventId",
       g.rule, g.confidence, g.state, g.found_at AS "foundAt", g.closed_at AS "closedAt",
       CASE WHEN length(g.evidence::text) <= ${DETAIL_BYTES_MAX} THEN g.evidence END AS evidence,
       length(g.evidence::text) > ${DETAIL_BYTES_MAX} AS "evidenceLeftOut",
       r.origin::text AS origin, r.outcome, r.repaired_at AS "repairedAt", r.replaced_at AS "replacedAt",
       r.replaced_by_receipt AS "replacedByReceipt"
     FROM gaps g LEFT JOIN repairs r ON r.gap = g.id
       LEFT JOIN messages m ON m.id = coalesce(r.message, g.message) AND m.message_id IS NOT NULL
     WHERE g.day = $1 AND ($2::text IS NULL OR g.account = $2) AND ($3::text IS NULL OR g.state = $3)
       AND ($4::text IS NULL OR g.kind = $4) AND ($5::bigint IS NULL OR g.id > $5)
     ORDER BY g.id LIMIT $6`,
    [day, account, state, kind, after, limit],
  );
  return rows;
}
