import { REFUSALS_FLUSH_MS } from "../limits.ts";
import type { Log } from "../log.ts";
import { createLoop, type Loop } from "../loop.ts";
import type { Pool } from "../postgres/pool.ts";
import { transaction } from "../postgres/transaction.ts";

/** Counts refused POSTs and writes the counts down now and then: never in a request, so a flood costs one row an hour. */
export interface Refusals extends Loop {
  /** `source` is a configured name, or empty. */
  count(source: string, code: string): void;
  /** Writes down what was counted since the last time. */
  tick(): Promise<boolean>;
}

interface Refusal {
  hour: Date;
  source: string;
  code: string;
  count: number;
  first_at: Date;
  last_at: Date;
}

export function createRefusals(options: { pool: Pool; log: Log; now?: () => Date }): Refusals {
  const { pool, log, now = () => new Date() } = options;
  let counted = new Map<string, Refusal>();

  async function tick(): Promise<boolean> {
    if (counted.size === 0) return false;
    const rows = [...counted.values()];
    counted = new Map();
    try {
      await transaction(pool, (tx) =>
        tx.query(
          `INSERT INTO refusals (hour, source, code, count, first_at, last_at)
           SELECT hour, source, code, count, first_at, last_at
           FROM jsonb_to_recordset($1::jsonb)
             AS row (hour timestamptz, source text, code text, count bigint, first_at timestamptz, last_at timestamptz)
           ORDER BY hour, source COLLATE "C", code COLLATE "C"
           ON CONFLICT (hour, source, code) DO UPDATE SET count = refusals.count + excluded.count,
             first_at = least(refusals.first_at, excluded.first_at), last_at = greatest(refusals.last_at, excluded.last_at)`,
          [JSON.stringify(rows)],
        ),
      );
    } catch (error) {
      // They are counted again with the next: an outage must not hide what was refused during it.
      for (const row of rows) add(row);
      throw error;
    }
    return false;
  }

  function add(row: Refusal): void {
    const key = `${row.hour.toISOString()} ${row.source} ${row.code}`;
    const known = counted.get(key);
    if (known === undefined) {
      counted.set(key, row);
      return;
    }
    known.count += row.count;
    if (row.first_at < known.first_at) known.first_at = row.first_at;
    if (row.last_at > known.last_at) known.last_at = row.last_at;
  }

  return {
    count(source, code) {
      const at = now();
      const hour = new Date(at);
      hour.setUTCMinutes(0, 0, 0);
      add({ hour, source, code, count: 1, first_at: at, last_at: at });
    },
    tick,
    ...createLoop({ name: "refusals", log, tick, idleMs: REFUSALS_FLUSH_MS }),
  };
}
