import { ARG_KEYS_MAX, REPAIR_ORDERS_MAX } from "../limits.ts";
import type { Log } from "../log.ts";
import { createLoop, type Loop } from "../loop.ts";
import type { Connection, Pool } from "../postgres/pool.ts";
import { BY_INDEX, transaction } from "../postgres/transaction.ts";
import { batchEvent, groupByMessage, type OrderOf } from "./plan.ts";
import { argKeysOf, fileGroups, notifyFiled, type Filed } from "./project.ts";
import { readRepairItem } from "./repair-item.ts";
import { countReflagged } from "./replace.ts";
import { insertArgKeys } from "./statements.ts";
import { addTallies, type Tallies } from "./tally.ts";

export interface RepairerOptions {
  pool: Pool;
  log: Log;
  /** How long a new message waits before the API is asked about it. */
  settleSeconds: number;
}

export interface Repairer extends Loop {
  /** Carries out a batch of orders. @returns whether there may be more. */
  tick(): Promise<boolean>;
}

/** What became of orders. */
export interface Repaired {
  filed: number;
  /** Their events were there already. */
  held: number;
  /** Their items cannot be events of a message. */
  unreadable: number;
}

/**
 * Files events that no webhook brought and that SendGrid's records tell of, as reconciliation orders it.
 *
 * Invariant: a gap is filed once at most, and all about it is one transaction: its event, its message, the row of repairs,
 * the end of the order. What is held changes nothing. The balance is about receipts, so repairs are in no tally and in no
 * rate. Which events are the same is said at `planGroup`. Test: repair.pg.test.ts.
 */
export function createRepairer({ pool, log, settleSeconds }: RepairerOptions): Repairer {
  async function tick(): Promise<boolean> {
    const { orders, ...repaired } = await repairBatch(pool, settleSeconds, { waits: false });
    if (orders === 0) return false;
    log.info(repaired, "repairs done");
    return true;
  }

  return { tick, ...createLoop({ name: "repair", log, tick, idleMs: Infinity }) };
}

/**
 * Carries out orders until there is none, also those that another process has in hand: it waits for it.
 *
 * @returns what became of those that were carried out here.
 */
export async function drainRepairs(
  pool: Pool,
  { settleSeconds, onStep }: { settleSeconds: number; onStep?: (done: Repaired) => void },
): Promise<Repaired> {
  const total: Repaired = { filed: 0, held: 0, unreadable: 0 };
  let waits = false;
  for (;;) {
    const { orders, filed, held, unreadable } = await repairBatch(pool, settleSeconds, { waits });
    total.filed += filed;
    total.held += held;
    total.unreadable += unreadable;
    if (orders > 0) onStep?.({ ...total });
    if (orders === 0 && waits) return total;
    waits = orders === 0;
  }
}

interface Order extends OrderOf {
  source: number;
  item: string;
}

async function repairBatch(
  pool: Pool,
  settleSeconds: number,
  claim: { waits: boolean },
): Promise<Repaired & { orders: number }> {
  return transaction(
    pool,
    async (tx) => {
      const orders = await claimOrders(tx, claim);
      if (orders.length === 0) return { orders: 0, filed: 0, held: 0, unreadable: 0 };
      const repaired = await carryOut(tx, await withoutFiled(tx, orders), settleSeconds);
      await tx.query("DELETE FROM repair_orders WHERE gap = ANY ($1)", [orders.map(({ gap }) => gap)]);
      return { orders: orders.length, ...repaired };
    },
    { settings: BY_INDEX },
  );
}

async function claimOrders(tx: Connection, { waits }: { waits: boolean }): Promise<Order[]> {
  const claimed = await tx.query<Order>(
    `SELECT gap, origin, source, item::text AS item FROM repair_orders ORDER BY gap
     LIMIT ${REPAIR_ORDERS_MAX} FOR UPDATE${waits ? "" : " SKIP LOCKED"}`,
  );
  return claimed.rows;
}

/** An order that was given again after its gap was filed is only put away. */
async function withoutFiled(tx: Connection, orders: readonly Order[]): Promise<Order[]> {
  const filed = await tx.query<{ gap: number }>("SELECT gap FROM repairs WHERE gap = ANY ($1) AND outcome = 'filed'", [
    orders.map(({ gap }) => gap),
  ]);
  const gaps = new Set(filed.rows.map(({ gap }) => gap));
  return orders.filter(({ gap }) => !gaps.has(gap));
}

async function carryOut(tx: Connection, orders: readonly Order[], settleSeconds: number): Promise<Repaired> {
  const events = orders.flatMap(({ gap, origin, source, item }) => {
    const event = readRepairItem(item);
    return event === undefined ? [] : [batchEvent({ event, source, receipt: null, order: { gap, origin } })];
  });
  const filed = await fileGroups(tx, groupByMessage(events), settleSeconds);
  const argKeys = argKeysOf(events);
  if (argKeys.length > 0) await insertArgKeys(tx, argKeys, ARG_KEYS_MAX);
  const outcomes = outcomesOf(orders, filed);
  await insertRepairs(tx, outcomes);
  if (filed.reflagged.length > 0) {
    const tallies: Tallies = new Map();
    countReflagged(tallies, filed.reflagged);
    await addTallies(tx, tallies);
  }
  if (filed.stored > 0) await notifyFiled(tx, filed.stored, filed.newEvents);
  const count = (outcome: Outcome["outcome"]): number => outcomes.filter((row) => row.outcome === outcome).length;
  return { filed: count("filed"), held: count("held"), unreadable: count("unreadable") };
}

interface Outcome {
  order: Order;
  outcome: "filed" | "held" | "unreadable";
  message: number | null;
  /** Of the event that was filed, or that is held. */
  eventId: string | null;
}

function outcomesOf(orders: readonly Order[], { newEvents, held }: Filed): Outcome[] {
  const filed = new Map(
    newEvents.map(({ order, message, event }) => [order?.gap, { message, eventId: event.eventId }]),
  );
  const known = new Map(held.map(({ gap, message, eventId }) => [gap, { message, eventId }]));
  return orders.map((order): Outcome => {
    const { gap } = order;
    const own = filed.get(gap);
    if (own !== undefined) return { order, outcome: "filed", ...own };
    const other = known.get(gap);
    if (other !== undefined) return { order, outcome: "held", ...other };
    return { order, outcome: "unreadable", message: null, eventId: null };
  });
}

/** What was held or unreadable before, and is ordered again, is judged again. */
async function insertRepairs(tx: Connection, outcomes: readonly Outcome[]): Promise<void> {
  const rows = outcomes.map(({ order, outcome, message, eventId }) => {
    const { gap, origin, item } = order;
    return { gap, message, event_id: eventId, origin, outcome, item };
  });
  await tx.query(
    `INSERT INTO repairs (gap, message, event_id, origin, outcome, item)
     SELECT gap, message, event_id, origin, outcome, item::jsonb
     FROM jsonb_to_recordset($1::jsonb) AS row (gap bigint, message bigint, event_id text, origin origin, outcome text, item text)
     ORDER BY gap
     ON CONFLICT (gap) DO UPDATE SET message = excluded.message, event_id = excluded.event_id, origin = excluded.origin,
       outcome = excluded.outcome, item = excluded.item, repaired_at = excluded.repaired_at`,
    [JSON.stringify(rows)],
  );
}
