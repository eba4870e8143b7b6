import { readStatus, type SourceStatusRow } from "../ledger/read-status.ts";
import type { App } from "./app.ts";
import { requireRole } from "./auth.ts";
import { ErrorSchema, StatusSchema, type Status } from "./contract.ts";
import type { ViewDeps } from "./deps.ts";
import { callsLeft, enrichmentState } from "./enrichment-state.ts";
import { isoTime } from "./present.ts";
import { wantedTraffic } from "./traffic.ts";

/** Adds `GET /api/status`. */
export function addStatusRoute(app: App, deps: ViewDeps): void {
  app.get(
    "/api/status",
    {
      onRequest: requireRole(deps.pool, "support"),
      schema: {
        summary: "How Holdfast itself stands: what waits, what is off, when each source was last heard of.",
        tags: ["operation"],
        response: { 200: StatusSchema, default: ErrorSchema },
      },
    },
    async () => currentStatus(deps),
  );
}

/** What `GET /api/status` and the live stream's `status` say. */
export async function currentStatus({ read, config, version, instance }: ViewDeps): Promise<Status> {
  const { row, simulatedByDefault } = await read(async (tx) => ({
    row: await readStatus(tx),
    simulatedByDefault: (await wantedTraffic(tx, { simulated: "auto" })).simulatedByDefault,
  }));
  const { postgres, inbox, quarantineOpen, alertsOpen, providerApis } = row;
  return {
    version,
    instance,
    postgres,
    inbox: { receipts: inbox.receipts, oldestSeconds: Math.round(inbox.oldestSeconds) },
    quarantineOpen,
    alertsOpen,
    enrichment: {
      ...enrichmentState(config, providerApis),
      pending: row.enrichmentsPending,
      failed: row.enrichmentsFailed,
      callsPerMinute: config.HOLDFAST_API_CALLS_PER_MINUTE,
      callsLeft: callsLeft(config, providerApis, row.now),
    },
    simulatedByDefault,
    sources: row.sources.map(presentSource),
  };
}

function presentSource({ name, simulated, keys, lastReceiptAt }: SourceStatusRow): Status["sources"][number] {
  const path = name === "default" ? "/webhooks/sendgrid" : `/webhooks/sendgrid/${name}`;
  return { name, simulated, keys, path, lastReceiptAt: isoTime(lastReceiptAt) };
}
