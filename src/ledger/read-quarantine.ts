import { EXCERPT_CHARS_MAX } from "../limits.ts";
import type { Connection } from "../postgres/pool.ts";
import { createParameters } from "./read-parameters.ts";

export interface QuarantineRow {
  id: number;
  receipt: number;
  source: number;
  receivedAt: Date;
  ordinal: number;
  reason: string;
  state: "open" | "replayed";
  bytes: number;
  /** The first bytes, decoded as UTF-8; what is not UTF-8 shows as U+FFFD. */
  excerpt: string;
}

export interface QuarantineSearch {
  state: "open" | "replayed" | "all";
  sources: readonly number[];
  /** Only items with a lower number: the next page. */
  before?: number | undefined;
  limit: number;
}

/** UTF-8 has at most four bytes a character. */
const EXCERPT_BYTES_MAX = EXCERPT_CHARS_MAX * 4;

/** One page of quarantined items, newest first. */
export async function readQuarantine(tx: Connection, search: QuarantineSearch): Promise<QuarantineRow[]> {
  const parameters = createParameters();
  const conditions = [`source = ANY (${parameters.add(search.sources)}::smallint[])`];
  if (search.state !== "all") conditions.push(`state = ${parameters.add(search.state)}`);
  if (search.before !== undefined) conditions.push(`id < ${parameters.add(search.before)}`);
  const result = await tx.query<Omit<QuarantineRow, "excerpt"> & { head: Buffer }>(
    `SELECT id, receipt, source, received_at AS "receivedAt", ordinal, reason, state, octet_length(bytes) AS bytes,
       substring(bytes FROM 1 FOR ${EXCERPT_BYTES_MAX}) AS head
     FROM quarantine WHERE ${conditions.join(" AND ")} ORDER BY id DESC LIMIT ${parameters.add(search.limit)}`,
    parameters.values,
  );
  return result.rows.map(({ head, id, receipt, source, receivedAt, ordinal, reason, state, bytes }) => {
    return { id, receipt, source, receivedAt, ordinal, reason, state, bytes, excerpt: excerptOf(head) };
  });
}

/** Whole characters only: a cut through one would look like broken bytes. */
function excerptOf(head: Buffer): string {
  return Array.from(head.toString("utf8"))
    .slice(0, EXCERPT_CHARS_MAX)
    .join("")
    .replace(/\uFFFD$/, "");
}

/** Whether an item with this number exists, and its state. */
export async function findQuarantined(tx: Connection, id: number): Promise<QuarantineRow["state"] | undefined> {
  const result = await tx.query<{ state: QuarantineRow["state"] }>("SELECT state FROM quarantine WHERE id = $1", [id]);
  return result.rows[0]?.state;
}
