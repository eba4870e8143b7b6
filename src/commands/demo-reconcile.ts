import { dayIn } from "../days.ts";
import { createLog } from "../log.ts";
import type { Pool } from "../postgres/pool.ts";
import { accountsOf } from "../reconcile/accounts.ts";
import { waitForRepairs } from "../reconcile/repair-orders.ts";
import { reconcileDays, type ReconcileResult } from "../reconcile/run.ts";
import { createRecordsClient } from "../sendgrid/records-client.ts";
import type { ApiDouble } from "../simulator/api-double.ts";
import type { DemoService } from "./demo-service.ts";
import type { Progress } from "./progress.ts";

export interface DemoReconciliation {
  pool: Pool;
  apiUrl: string;
  apiKey: string;
  callsPerMinute: number;
  /** The traffic's beginning and end, in Unix seconds. */
  startSeconds: number;
  endSeconds: number;
  repair: boolean;
  progress: Progress;
  signal: AbortSignal;
}

/** The zone of the double's account and of the service, whose setting the demo leaves as it is. */
const TIME_ZONE = "UTC";

/** Compares the days of the traffic with the double's records; the demo's service carries out the repairs. */
export async function reconcileDemo(options: DemoReconciliation): Promise<ReconcileResult> {
  const { pool, apiUrl, apiKey, callsPerMinute, startSeconds, endSeconds, repair, progress, signal } = options;
  const client = createRecordsClient({ apiUrl, apiKey });
  try {
    return await reconcileDays(
      {
        pool,
        log: createLog("error"),
        client,
        accounts: accountsOf(),
        timeZone: TIME_ZONE,
        apis: ["logs", "messages"],
        callsPerMinute,
        includeSimulated: true,
        settleRepairs: () => waitForRepairs(pool, signal),
      },
      {
        fromDay: dayIn(TIME_ZONE, new Date(startSeconds * 1000)),
        toDay: dayIn(TIME_ZONE, new Date(endSeconds * 1000)),
        repair,
        name: "demo",
        signal,
        onStep: ({ phase, calls, planned }) => progress.show("reconciling", calls, calls + planned, `calls, ${phase}`),
      },
    );
  } finally {
    progress.clear();
    await client.close();
  }
}

/** What a person types to repair it, with the settings that the demo's service has. */
export function repairCommand(service: DemoService, double: ApiDouble, callsPerMinute: number): string {
  return [
    `HOLDFAST_DATA_DIR=${service.dataDir}`,
    `SENDGRID_API_URL=${double.url}`,
    `SENDGRID_API_KEY=${double.apiKey}`,
    `HOLDFAST_API_CALLS_PER_MINUTE=${callsPerMinute}`,
    "HOLDFAST_ENRICH_SIMULATED=true",
    "npx holdfast reconcile --repair",
  ].join(" ");
}
