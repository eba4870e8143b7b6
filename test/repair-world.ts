import { drainRepairs, type Repaired } from "../src/ledger/repair.ts";
import type { Pool } from "../src/postgres/pool.ts";
import { ledgerWorld, type LedgerWorld } from "./ledger-world.ts";

/** An item of a webhook, or of an order. */
export type Item = Record<string, unknown>;

/** A ledger for the tests of repairs. */
export interface RepairWorld extends LedgerWorld {
  /** The number of the source `default`, which all is of. */
  source: number;
  /** Orders a repair, as reconcile does. @returns the gap's number, a new one unless given. */
  order(item: unknown, origin?: string, gap?: number): Promise<number>;
  /** Carries out all orders. */
  repair(): Promise<Repaired>;
  /** Writes and projects a receipt. @returns its number. */
  deliver(items: readonly Item[]): Promise<number>;
  /** Each event in words: id (or fp), type, origin, twin. */
  events(): Promise<string[]>;
  /** The sums of all tallies. */
  tallies(): Promise<Item | undefined>;
}

/** The item as a record without ids tells it. */
export function told({ sg_event_id: _id, ...item }: Item, more: Item = {}): Item {
  return { ...item, ...more };
}

export async function repairWorld(pool: Pool): Promise<RepairWorld> {
  const world = await ledgerWorld(pool);
  const source = await world.value<number>("SELECT id FROM sources WHERE name = 'default'");
  let gaps = 0;
  return {
    ...world,
    source,
    async order(item, origin = "messages", gap) {
      gaps += 1;
      await pool.query("INSERT INTO repair_orders (gap, origin, source, item) VALUES ($1, $2, $3, $4)", [
        gap ?? gaps,
        origin,
        source,
        JSON.stringify(item),
      ]);
      return gap ?? gaps;
    },
    async repair() {
      const repaired = await drainRepairs(pool, { settleSeconds: 90 });
      const left = await world.value<number>("SELECT count(*) FROM repair_orders");
      if (left > 0) throw new Error(`${left} orders are left`);
      return repaired;
    },
    async deliver(items) {
      const receipt = await world.write(items);
      await world.project();
      return receipt;
    },
    async events() {
      const rows = await world.rows<{ event: string }>(
        `SELECT concat_ws(' ', CASE WHEN event_id LIKE 'fp:%' THEN 'fp' ELSE event_id END, type, origin,
           CASE WHEN twin THEN 'twin' END) AS event
         FROM events ORDER BY event_id LIKE 'fp:%', event_id, origin, twin`,
      );
      return rows.map(({ event }) => event);
    },
    async tallies() {
      const [sums] = await world.rows<Item>(
        `SELECT sum(stored) AS stored, sum(duplicate) AS duplicate, sum(twin) AS twin,
           sum(accepted - stored - duplicate - quarantined) AS lost FROM tallies`,
      );
      return sums;
    },
  };
}
