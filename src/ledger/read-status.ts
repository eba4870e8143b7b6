import { INSTANCE_GONE_SECONDS, LAST_RECEIPTS_SCANNED_MAX } from "../limits.ts";
import type { Connection } from "../postgres/pool.ts";

export interface InboxRow {
  receipts: number;
  oldestSeconds: number;
}

/** How many receipts wait for projection, and how long the oldest has waited. */
export async function readInbox(tx: Pick<Connection, "query">): Promise<InboxRow> {
  const result = await tx.query<InboxRow>(
    `SELECT count(*) AS receipts, greatest(0, coalesce(extract(epoch FROM now() - min(received_at)), 0))::float8 AS "oldestSeconds"
     FROM inbox`,
  );
  const [row] = result.rows;
  if (row === undefined) throw new Error("the inbox statement returned no row");
  return row;
}

export interface ProviderApiRow {
  name: string;
  state: "available" | "forbidden";
  reason: string | null;
  /** The times of the last calls. */
  calledAt: Date[];
  blockedUntil: Date | null;
}

export interface SourceStatusRow {
  name: string;
  simulated: boolean;
  keys: number;
  lastReceiptAt: Date | null;
}

/** A running process, as it last said of itself. */
export interface InstanceRow {
  id: string;
  host: string;
  version: string;
  roles: string[];
  startedAt: Date;
  unsafe: string[];
  weak: string[];
  clockSkewMs: number;
  diskFreeBytes: number | null;
  diskLow: boolean;
  spoolPosts: number;
  spoolBytes: number;
  spoolOldestEventAt: Date | null;
}

export interface StatusRow {
  postgres: string;
  now: Date;
  inbox: InboxRow;
  quarantineOpen: number;
  alertsOpen: number;
  enrichmentsPending: number;
  enrichmentsFailed: number;
  providerApis: ProviderApiRow[];
  sources: SourceStatusRow[];
  instances: InstanceRow[];
}

type Counts = Omit<StatusRow, "inbox" | "providerApis" | "sources" | "instances">;

export async function readStatus(tx: Connection): Promise<StatusRow> {
  const result = await tx.query<Counts>(COUNTS);
  const [counts] = result.rows;
  if (counts === undefined) throw new Error("the status statement returned no row");
  const providerApis = await tx.query<ProviderApiRow>(
    `SELECT name, state, reason, called_at AS "calledAt", blocked_until AS "blockedUntil"
     FROM provider_apis ORDER BY name`,
  );
  const sources = await tx.query<SourceStatusRow>(SOURCES, [LAST_RECEIPTS_SCANNED_MAX]);
  const instances = await tx.query<InstanceRow>(INSTANCES, [INSTANCE_GONE_SECONDS]);
  return {
    ...counts,
    inbox: await readInbox(tx),
    providerApis: providerApis.rows,
    sources: sources.rows,
    instances: instances.rows,
  };
}

const COUNTS = `
  SELECT current_setting('server_version') AS postgres, now() AS now,
    (SELECT count(*) FROM quarantine WHERE state = 'open') AS "quarantineOpen",
    (SELECT count(*) FROM alerts WHERE resolved_at IS NULL) AS "alertsOpen",
    (SELECT count(*) FROM enrichments WHERE state = 'pending') AS "enrichmentsPending",
    (SELECT count(*) FROM enrichments WHERE state = 'failed') AS "enrichmentsFailed"`;

const INSTANCES = `
  SELECT id, host, version, roles, started_at AS "startedAt", unsafe, weak, clock_skew_ms AS "clockSkewMs",
    disk_free_bytes AS "diskFreeBytes", disk_low AS "diskLow", spool_posts AS "spoolPosts", spool_bytes AS "spoolBytes",
    spool_oldest_event_at AS "spoolOldestEventAt"
  FROM instances WHERE seen_at >= now() - make_interval(secs => $1) ORDER BY host, started_at, id`;

/** The last receipt: among the newest ones if it is there, else the last hour in which one was projected. */
const SOURCES = `
  WITH newest AS (
    SELECT source, max(received_at) AS at
    FROM (SELECT source, received_at FROM receipts ORDER BY id DESC LIMIT $1) AS scanned GROUP BY source
  )
  SELECT s.name, s.simulated,
    (SELECT count(*) FROM source_keys k WHERE k.source = s.id AND (k.valid_until IS NULL OR k.valid_until > now()))::integer AS keys,
    coalesce(newest.at,
      (SELECT t.hour FROM tallies t WHERE t.source = s.id AND t.receipts > 0 ORDER BY t.hour DESC LIMIT 1)) AS "lastReceiptAt"
  FROM sources s LEFT JOIN newest ON newest.source = s.id
  ORDER BY s.simulated, s.name`;
