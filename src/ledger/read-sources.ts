import type { Queryable } from "../postgres/pool.ts";

export interface SourceRow {
  id: number;
  name: string;
  simulated: boolean;
}

/** Which traffic a reader asks for. `auto`: real, or simulated as long as no real source has received anything. */
export interface TrafficFilter {
  source?: string | undefined;
  simulated: boolean | "all" | "auto";
}

export type Traffic =
  | {
      outcome: "found";
      sources: ReadonlyMap<number, SourceRow>;
      wanted: readonly number[];
      simulatedByDefault: boolean;
    }
  | { outcome: "source_unknown" };

/** All sources by number. */
export async function readSources(tx: Queryable): Promise<Map<number, SourceRow>> {
  const { rows } = await tx.query<SourceRow>({ name: "sources", text: "SELECT id, name, simulated FROM sources" });
  return new Map(rows.map((row) => [row.id, row]));
}

/**
 * Says which sources a filter means, so that simulated events are never counted among real ones.
 * `sources` holds all of them by number; `wanted` the numbers asked for.
 */
export async function readTraffic(tx: Queryable, filter: TrafficFilter): Promise<Traffic> {
  const result = await tx.query<SourceRow & { realFiled: boolean }>({
    name: "traffic",
    text: `SELECT id, name, simulated, ${REAL_FILED} AS "realFiled" FROM sources ORDER BY name`,
  });
  const rows = result.rows.map(({ id, name, simulated }) => ({ id, name, simulated }));
  const isDemo = result.rows[0]?.realFiled === false && rows.some((row) => row.simulated);
  const simulatedByDefault = isDemo && !(await isRealWaiting(tx));
  const sources = new Map(rows.map((row) => [row.id, row]));
  if (filter.source !== undefined) {
    const named = rows.find((row) => row.name === filter.source);
    if (named === undefined) return { outcome: "source_unknown" };
    return { outcome: "found", sources, wanted: [named.id], simulatedByDefault };
  }
  const simulated = filter.simulated === "auto" ? simulatedByDefault : filter.simulated;
  const wanted = rows.filter((row) => simulated === "all" || row.simulated === simulated).map((row) => row.id);
  return { outcome: "found", sources, wanted, simulatedByDefault };
}

const REAL_FILED = `EXISTS (SELECT FROM tallies JOIN sources real ON real.id = tallies.source
  WHERE NOT real.simulated AND tallies.receipts > 0)`;

/**
 * Receipts that are not projected yet count too: the first real POST must end the demo even if projection is stuck. Asked
 * for only while nothing real is filed, since to plan it takes 0.4 ms of every request.
 */
async function isRealWaiting(tx: Queryable): Promise<boolean> {
  const { rows } = await tx.query<{ waits: boolean }>(
    `SELECT EXISTS (
       SELECT FROM inbox JOIN receipts ON receipts.id = inbox.receipt AND receipts.received_at = inbox.received_at
       JOIN sources real ON real.id = receipts.source WHERE NOT real.simulated) AS waits`,
  );
  return rows[0]?.waits === true;
}
