import { PURGE_NUMBERS_MAX } from "../limits.ts";
import type { Log } from "../log.ts";
import { createLoop, type Loop } from "../loop.ts";
import type { Connection, Pool } from "../postgres/pool.ts";
import { transaction } from "../postgres/transaction.ts";

export interface Purger extends Loop {
  /** Does one step of an ordered purge. @returns whether there may be more. */
  tick(): Promise<boolean>;
}

interface Order {
  phase: "receipts" | "messages" | "rest";
  after: number;
  found: boolean;
}

/**
 * Deletes what simulated sources left, when an admin orders it: the only deletion in the ledger.
 *
 * Invariant: nothing that belongs to a real source is touched. Every statement names the simulated sources, and a message
 * that also holds an event of a real source stays whole. Test: purge.pg.test.ts.
 *
 * It goes step by step, each in a transaction of its own: receipts first, so that nothing is projected any more, then
 * messages with their events, then the rest, the tallies last. Passes follow each other until one meets nothing, since a
 * projector may have filed a receipt while it was looked for. How far it is stands in the order, so a restart goes on.
 */
export function createPurger(options: { pool: Pool; log: Log }): Purger {
  const { pool, log } = options;

  async function tick(): Promise<boolean> {
    const done = await transaction(pool, step);
    if (done === "finished") log.info("the simulated data is purged");
    return done === "more";
  }

  return { tick, ...createLoop({ name: "purge", log, tick, idleMs: Infinity }) };
}

async function step(tx: Connection): Promise<"idle" | "more" | "finished"> {
  const orders = await tx.query<Order>("SELECT phase, after, found FROM purge_orders FOR UPDATE SKIP LOCKED");
  const [order] = orders.rows;
  if (order === undefined) return "idle";
  const { rows } = await tx.query<{ id: number }>("SELECT id FROM sources WHERE simulated ORDER BY id");
  const sources = rows.map(({ id }) => id);
  if (order.phase === "rest") {
    const deleted = await deleteRest(tx, sources);
    if (order.found || deleted > 0) return goOn(tx, { phase: "receipts", after: 0, found: false });
    await tx.query("DELETE FROM tallies WHERE source = ANY ($1)", [sources]);
    await tx.query("DELETE FROM rates WHERE source = ANY ($1)", [sources]);
    await tx.query("DELETE FROM purge_orders");
    return "finished";
  }
  // As the projector's inbox: what waits would be filed behind the purge.
  const ordered = await tx.query("DELETE FROM repair_orders WHERE source = ANY ($1)", [sources]);
  const { deleted, after } = await (order.phase === "receipts" ? deleteReceipts : deleteMessages)(
    tx,
    sources,
    order.after,
  );
  const found = order.found || deleted > 0 || ordered.rowCount !== 0;
  if (after !== undefined) return goOn(tx, { phase: order.phase, after, found });
  return goOn(tx, { phase: order.phase === "receipts" ? "messages" : "rest", after: 0, found });
}

async function goOn(tx: Connection, { phase, after, found }: Order): Promise<"more"> {
  await tx.query("UPDATE purge_orders SET phase = $1, after = $2, found = $3", [phase, after, found]);
  return "more";
}

/** `after`: where to go on; undefined at the end. */
interface Step {
  deleted: number;
  after: number | undefined;
}

/** The next range of numbers that holds anything. There is no index by source, since intake and projector would pay for it. */
async function nextRange(
  tx: Connection,
  table: "receipts" | "messages",
  after: number,
): Promise<[number, number] | undefined> {
  const { rows } = await tx.query<{ first: number | null }>(`SELECT min(id) AS first FROM ${table} WHERE id > $1`, [
    after,
  ]);
  const first = rows[0]?.first ?? undefined;
  return first === undefined ? undefined : [first, first + PURGE_NUMBERS_MAX - 1];
}

async function deleteReceipts(tx: Connection, sources: readonly number[], after: number): Promise<Step> {
  const range = await nextRange(tx, "receipts", after);
  if (range === undefined) return { deleted: 0, after: undefined };
  // The projector's own order: the inbox before anything else. It waits for a projector that has one of these in hand.
  await tx.query(
    `DELETE FROM inbox WHERE receipt IN
       (SELECT i.receipt FROM inbox i JOIN receipts r ON r.id = i.receipt AND r.received_at = i.received_at
        WHERE r.source = ANY ($1) AND i.receipt BETWEEN $2 AND $3 ORDER BY i.receipt FOR UPDATE OF i)`,
    [sources, ...range],
  );
  const deleted = await tx.query("DELETE FROM receipts WHERE source = ANY ($1) AND id BETWEEN $2 AND $3", [
    sources,
    ...range,
  ]);
  return { deleted: deleted.rowCount ?? 0, after: range[1] };
}

/** Messages with all that hangs on them. */
async function deleteMessages(tx: Connection, sources: readonly number[], after: number): Promise<Step> {
  const range = await nextRange(tx, "messages", after);
  if (range === undefined) return { deleted: 0, after: undefined };
  const found = await tx.query<{ id: number }>(
    "SELECT id FROM messages WHERE source = ANY ($1) AND id BETWEEN $2 AND $3 ORDER BY id FOR UPDATE",
    [sources, ...range],
  );
  const candidates = found.rows.map(({ id }) => id);
  const real = await tx.query<{ message: number }>(
    "SELECT DISTINCT message FROM events WHERE message = ANY ($1) AND NOT source = ANY ($2)",
    [candidates, sources],
  );
  const kept = new Set(real.rows.map(({ message }) => message));
  const messages = candidates.filter((id) => !kept.has(id));
  for (const table of ["enrichment_orders", "enrichments", "repairs", "events"])
    await tx.query(`DELETE FROM ${table} WHERE message = ANY ($1)`, [messages]);
  await tx.query("DELETE FROM messages WHERE id = ANY ($1)", [messages]);
  return { deleted: messages.length, after: range[1] };
}

async function deleteRest(tx: Connection, sources: readonly number[]): Promise<number> {
  await tx.query("DELETE FROM replay_orders WHERE quarantine IN (SELECT id FROM quarantine WHERE source = ANY ($1))", [
    sources,
  ]);
  // Those that could not be read belong to no message, only to their gap.
  await tx.query("DELETE FROM repairs WHERE message IS NULL AND gap IN (SELECT id FROM gaps WHERE source = ANY ($1))", [
    sources,
  ]);
  const quarantined = await tx.query("DELETE FROM quarantine WHERE source = ANY ($1)", [sources]);
  return quarantined.rowCount ?? 0;
}
