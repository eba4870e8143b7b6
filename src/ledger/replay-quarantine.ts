import { AUDIT_MESSAGES_MAX } from "../limits.ts";
import type { Connection, Pool } from "../postgres/pool.ts";
import { BY_INDEX, transaction } from "../postgres/transaction.ts";
import { dryRun } from "./dry-run.ts";
import { replayQuarantinedItem, type Replayed } from "./replay.ts";

/** Which open items are meant; without any limit all of them. */
export interface QuarantineSelection {
  ids?: readonly number[] | undefined;
  reason?: string | undefined;
  source?: number | undefined;
}

export interface ReplayQuarantineOptions {
  pool: Pool;
  selection: QuarantineSelection;
  settleSeconds: number;
  /** Does it all in one transaction, and rolls that back. */
  isDryRun: boolean;
  onStep?: (step: { done: number; total: number }) => void;
  /** Stops after the item under way. */
  signal?: AbortSignal | undefined;
}

export interface ReplayedQuarantine {
  /** Items that left quarantine, and what they held. */
  filed: number;
  stored: number;
  duplicate: number;
  /** Items that still cannot be read; the first of their numbers. */
  unreadable: number;
  unreadableIds: number[];
  /** Numbers that were asked for and are not open. */
  notOpen: number[];
}

const IDS_SHOWN_MAX = 100;

/** Replays open items of quarantine, each in a transaction of its own, in the order of their numbers. */
export async function replayQuarantine(options: ReplayQuarantineOptions): Promise<ReplayedQuarantine> {
  const { pool, selection, isDryRun } = options;
  const notOpen = await findNotOpen(pool, selection.ids ?? []);
  const replayed = isDryRun
    ? await dryRun(pool, async (tx) => replayAll(options, async (work) => work(tx)))
    : await replayAll(options, async (work) => transaction(pool, work, { settings: BY_INDEX }));
  return { ...replayed, notOpen };
}

type Write = <T>(work: (tx: Connection) => Promise<T>) => Promise<T>;

async function replayAll(options: ReplayQuarantineOptions, write: Write): Promise<Omit<ReplayedQuarantine, "notOpen">> {
  const { selection, settleSeconds, onStep, signal } = options;
  const result = { filed: 0, stored: 0, duplicate: 0, unreadable: 0, unreadableIds: [] };
  const total = await write(async (tx) => countOpen(tx, selection));
  let done = 0;
  let after = 0;
  for (;;) {
    const ids = await write(async (tx) => nextOpen(tx, selection, after));
    for (const id of ids) {
      if (signal?.aborted === true) return result;
      addReplayed(result, id, await write(async (tx) => replayQuarantinedItem(tx, id, settleSeconds)));
      done += 1;
      onStep?.({ done, total });
    }
    const last = ids.at(-1);
    if (last === undefined) return result;
    after = last;
  }
}

function addReplayed(result: Omit<ReplayedQuarantine, "notOpen">, id: number, replayed: Replayed): void {
  if (replayed.outcome === "filed") {
    result.filed += 1;
    result.stored += replayed.stored;
    result.duplicate += replayed.duplicate;
  } else if (replayed.outcome === "unreadable") {
    result.unreadable += 1;
    if (result.unreadableIds.length < IDS_SHOWN_MAX) result.unreadableIds.push(id);
  }
}

const SELECTED = `state = 'open' AND ($1::bigint[] IS NULL OR id = ANY ($1)) AND ($2::text IS NULL OR reason = $2)
  AND ($3::smallint IS NULL OR source = $3)`;

function selectionValues({ ids, reason, source }: QuarantineSelection): unknown[] {
  return [ids ?? null, reason ?? null, source ?? null];
}

async function countOpen(tx: Connection, selection: QuarantineSelection): Promise<number> {
  const { rows } = await tx.query<{ items: number }>(
    `SELECT count(*) AS items FROM quarantine WHERE ${SELECTED}`,
    selectionValues(selection),
  );
  return rows[0]?.items ?? 0;
}

async function nextOpen(tx: Connection, selection: QuarantineSelection, after: number): Promise<number[]> {
  const { rows } = await tx.query<{ id: number }>(
    `SELECT id FROM quarantine WHERE ${SELECTED} AND id > $4 ORDER BY id LIMIT ${AUDIT_MESSAGES_MAX}`,
    [...selectionValues(selection), after],
  );
  return rows.map(({ id }) => id);
}

async function findNotOpen(pool: Pool, ids: readonly number[]): Promise<number[]> {
  if (ids.length === 0) return [];
  const { rows } = await pool.query<{ id: number }>(
    `SELECT id FROM unnest($1::bigint[]) AS id
     WHERE NOT EXISTS (SELECT FROM quarantine WHERE quarantine.id = id.id AND state = 'open')`,
    [ids],
  );
  return rows.map(({ id }) => id);
}
