import type { ProviderApiRow } from "../ledger/read-status.ts";
import type { Queryable } from "../postgres/pool.ts";
import type { Status } from "./contract.ts";
import type { ViewConfig } from "./deps.ts";

export interface EnrichmentState {
  state: Status["enrichment"]["state"];
  reason: string | null;
}

type ApiState = Pick<ProviderApiRow, "name" | "state" | "reason">;

/** The APIs that a setting allows, in the order in which they are preferred. */
const APIS = { auto: ["logs", "messages"], logs: ["logs"], messages: ["messages"], off: [] } as const;

/**
 * Whether messages are being enriched, from the settings and from what SendGrid answered: it is forbidden when none of
 * the allowed APIs may be used. Taken from the database, since another process may be the one that asks.
 */
export function enrichmentState(config: ViewConfig, apis: readonly ApiState[]): EnrichmentState {
  if (config.HOLDFAST_ENRICHMENT_API === "off") return { state: "off", reason: null };
  if (config.SENDGRID_API_KEY === undefined) return { state: "no_api_key", reason: null };
  const allowed = APIS[config.HOLDFAST_ENRICHMENT_API].map((name) => apis.find((api) => api.name === name));
  const forbidden = allowed.filter((api) => api?.state === "forbidden");
  if (forbidden.length < allowed.length) return { state: "on", reason: null };
  return { state: "forbidden", reason: forbidden.at(-1)?.reason ?? null };
}

export async function readEnrichmentState(tx: Queryable, config: ViewConfig): Promise<EnrichmentState> {
  const apis = await tx.query<ApiState>("SELECT name, state, reason FROM provider_apis");
  return enrichmentState(config, apis.rows);
}

const MINUTE_MS = 60_000;

/** Calls of this minute that are left for the API in use: what it is limited to, without those made in the last minute. */
export function callsLeft(config: ViewConfig, apis: readonly ProviderApiRow[], now: Date): number {
  const perMinute = config.HOLDFAST_API_CALLS_PER_MINUTE;
  const usable = APIS[config.HOLDFAST_ENRICHMENT_API].filter(
    (name) => apis.find((api) => api.name === name)?.state !== "forbidden",
  );
  const api = apis.find(({ name }) => name === usable[0]);
  if (api === undefined) return usable.length === 0 ? 0 : perMinute;
  if (api.blockedUntil !== null && api.blockedUntil > now) return 0;
  const made = api.calledAt.filter((at) => now.getTime() - at.getTime() < MINUTE_MS).length;
  return Math.max(0, perMinute - made);
}
