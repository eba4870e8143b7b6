import { ARG_KEYS_MAX } from "../limits.ts";
import type { Log } from "../log.ts";
import { createLoop, type Loop } from "../loop.ts";
import type { Connection, Pool } from "../postgres/pool.ts";
import { BY_INDEX, transaction } from "../postgres/transaction.ts";
import type { QuarantineReason } from "./event.ts";
import { parseItem, parseReceipt, WHOLE_BODY, type ParsedReceipt } from "./parse.ts";
import { batchEvent, groupByMessage } from "./plan.ts";
import { argKeysOf, fileGroups, notifyFiled } from "./project.ts";
import { countReflagged } from "./replace.ts";
import { insertArgKeys, insertQuarantined, markReplayed } from "./statements.ts";
import { addTallies, tallyOf, type Tallies } from "./tally.ts";

export interface ReplayerOptions {
  pool: Pool;
  log: Log;
  settleSeconds: number;
}

export interface Replayer extends Loop {
  /** Replays one ordered item. @returns whether there may be more. */
  tick(): Promise<boolean>;
}

/** What became of a quarantined item that was to be replayed. */
export type Replayed =
  | { outcome: "filed"; stored: number; duplicate: number }
  | { outcome: "unreadable" }
  /** There is no such item, or somebody replayed it before. */
  | { outcome: "not_open" };

interface OpenItem {
  id: number;
  receipt: number;
  receivedAt: Date;
  source: number;
  ordinal: number;
  reason: QuarantineReason;
  bytes: Buffer;
}

/**
 * Reads quarantined items again when a person orders it, which helps after an update that understands them. An item that
 * still cannot be read stays open; the order is done with either way.
 */
export function createReplayer(options: ReplayerOptions): Replayer {
  const { pool, log, settleSeconds } = options;

  async function tick(): Promise<boolean> {
    const done = await transaction(pool, (tx) => replayNext(tx, settleSeconds), { settings: BY_INDEX });
    if (done === undefined) return false;
    log.info(done, "replay of a quarantined item done");
    return true;
  }

  return { tick, ...createLoop({ name: "replay", log, tick, idleMs: Infinity }) };
}

async function replayNext(
  tx: Connection,
  settleSeconds: number,
): Promise<(Replayed & { quarantine: number }) | undefined> {
  const order = await tx.query<{ quarantine: number }>(
    `DELETE FROM replay_orders WHERE quarantine =
       (SELECT quarantine FROM replay_orders ORDER BY ordered_at, quarantine LIMIT 1 FOR UPDATE SKIP LOCKED)
     RETURNING quarantine`,
  );
  const ordered = order.rows[0];
  if (ordered === undefined) return undefined;
  return { quarantine: ordered.quarantine, ...(await replayQuarantinedItem(tx, ordered.quarantine, settleSeconds)) };
}

/** Reads a quarantined item again and files what it holds, in the caller's transaction. */
export async function replayQuarantinedItem(tx: Connection, id: number, settleSeconds: number): Promise<Replayed> {
  const found = await tx.query<OpenItem>(
    `SELECT id, receipt, received_at AS "receivedAt", source, ordinal, reason, bytes FROM quarantine
     WHERE id = $1 AND state = 'open' FOR UPDATE`,
    [id],
  );
  const item = found.rows[0];
  if (item === undefined) return { outcome: "not_open" };
  const parsed = item.ordinal === WHOLE_BODY ? parseReceipt(item.bytes) : parseItem(item.bytes, item.ordinal);
  if (parsed.events.length === 0) return { outcome: "unreadable" };
  return { outcome: "filed", ...(await file(tx, item, parsed, settleSeconds)) };
}

/** Such an item was given up before its characters were looked at; any other was counted as sanitised when it came. */
const NOT_YET_SANITISED: ReadonlySet<QuarantineReason> = new Set(["item_not_json", "too_deep"]);

/** The item leaves quarantine and its events enter: the balance moves from the one side to the other and stays exact. */
async function file(
  tx: Connection,
  item: OpenItem,
  parsed: ParsedReceipt,
  settleSeconds: number,
): Promise<{ stored: number; duplicate: number }> {
  const { receipt, receivedAt, source } = item;
  const events = parsed.events.map((event) => batchEvent({ event, source, receipt }));
  const { stored, newEvents, duplicates, reflagged } = await fileGroups(tx, groupByMessage(events), settleSeconds);
  const requarantined = await insertQuarantined(
    tx,
    parsed.quarantined.map((entry) => ({ receipt, receivedAt, source, item: entry })),
  );
  await markReplayed(tx, [item.id]);
  await insertArgKeys(tx, argKeysOf(events), ARG_KEYS_MAX);
  const tallies: Tallies = new Map();
  countReflagged(tallies, reflagged);
  const tally = tallyOf(tallies, receivedAt, source);
  // A body that counted as one item is now counted by the items it turned out to hold.
  tally.accepted += parsed.accepted - 1;
  tally.stored += stored;
  tally.twin += newEvents.filter(({ twin }) => twin).length;
  tally.duplicate += duplicates.length;
  tally.quarantined += requarantined - 1;
  if (item.ordinal === WHOLE_BODY || NOT_YET_SANITISED.has(item.reason)) tally.sanitised += parsed.sanitised;
  await addTallies(tx, tallies);
  await notifyFiled(tx, stored, newEvents);
  return { stored, duplicate: duplicates.length };
}
