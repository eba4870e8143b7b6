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
  const result = await tx.query<SourceRow & { realReceived: boolean }>(
    `SELECT id, name, simulated, ${REAL_RECEIVED} AS "realReceived" FROM sources ORDER BY name`,
  );
  const rows = result.rows.map(({ id, name, simulated }) => ({ id, name, simulated }));
  const simulatedByDefault = result.rows[0]?.realReceived === false && rows.some((row) => row.simulated);
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

/** Receipts that are not projected yet count too: the first real POST must end the demo even if projection is stuck. */
const REAL_RECEIVED = `(
  EXISTS (SELECT FROM tallies JOIN sources real ON real.id = tallies.source
          WHERE NOT real.simulated AND tallies.receipts > 0)
  OR EXISTS (SELECT FROM inbox JOIN receipts ON receipts.id = inbox.receipt AND receipts.received_at = inbox.received_at
             JOIN sources real ON real.id = receipts.source WHERE NOT real.simulated))`;
