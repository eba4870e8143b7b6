import { readStatus, type InstanceRow, type SourceStatusRow } from "../ledger/read-status.ts";
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
    instances: row.instances.map(presentInstance),
    simulatedByDefault,
    sources: row.sources.map(presentSource),
  };
}

function presentSource({ name, simulated, keys, lastReceiptAt }: SourceStatusRow): Status["sources"][number] {
  return { name, simulated, keys, path: sourcePath(name), lastReceiptAt: isoTime(lastReceiptAt) };
}

/** What changes with every look is rounded, so that the live stream does not send a status for it. */
const DISK_STEP_BYTES = 100_000_000;
const SKEW_STEP_MS = 100;

function presentInstance(row: InstanceRow): Status["instances"][number] {
  const { id, host, version, roles, unsafe, weak, diskLow, diskFreeBytes } = row;
  return {
    id,
    host,
    version,
    roles,
    startedAt: isoTime(row.startedAt),
    unsafe,
    weak,
    clockSkewMs: Math.round(row.clockSkewMs / SKEW_STEP_MS) * SKEW_STEP_MS,
    diskFreeBytes: diskFreeBytes === null ? null : Math.floor(diskFreeBytes / DISK_STEP_BYTES) * DISK_STEP_BYTES,
    diskLow,
    spool: { posts: row.spoolPosts, bytes: row.spoolBytes, oldestEventAt: isoTime(row.spoolOldestEventAt) },
  };
}

/** Where a source's POSTs go. */
export function sourcePath(name: string): string {
  return name === "default" ? "/webhooks/sendgrid" : `/webhooks/sendgrid/${name}`;
}
