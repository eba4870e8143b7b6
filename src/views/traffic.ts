import { ClientError } from "../errors.ts";
import { readTraffic, type Traffic, type TrafficFilter } from "../ledger/read-sources.ts";
import type { Queryable } from "../postgres/pool.ts";

export type FoundTraffic = Extract<Traffic, { outcome: "found" }>;

/** The sources that a request means. @throws ClientError `bad_request` when it names one that does not exist. */
export async function wantedTraffic(tx: Queryable, filter: TrafficFilter): Promise<FoundTraffic> {
  const traffic = await readTraffic(tx, filter);
  if (traffic.outcome === "source_unknown")
    throw new ClientError("bad_request", "source names no source of this Holdfast");
  return traffic;
}
