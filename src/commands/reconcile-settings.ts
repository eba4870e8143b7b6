import type { Config } from "../config.ts";
import { accountsOf, type Account } from "../reconcile/accounts.ts";
import { ALLOWED_APIS, type ProviderApi } from "../sendgrid/api-types.ts";

/** What reconciliation takes from the settings. */
export interface ReconcileSettings {
  accounts: Account[];
  timeZone: string;
  apis: readonly ProviderApi[];
  callsPerMinute: number;
  includeSimulated: boolean;
}

export function reconcileSettings(config: Config): ReconcileSettings {
  return {
    accounts: accountsOf(config.HOLDFAST_SUBUSERS),
    timeZone: config.HOLDFAST_ACCOUNT_TIME_ZONE,
    apis: ALLOWED_APIS[config.HOLDFAST_ENRICHMENT_API],
    callsPerMinute: config.HOLDFAST_API_CALLS_PER_MINUTE,
    includeSimulated: config.HOLDFAST_ENRICH_SIMULATED,
  };
}
