import type { Queryable } from "../postgres/pool.ts";
import { auditDurability } from "./durability.ts";

/** One thing looked at, with what was found. `red` breaks a promise or soon will; `amber` wants a look. */
export interface Examined {
  what: string;
  state: "ok" | "amber" | "red";
  found: string;
}

/** Receipts and waits are dated by two clocks; a minute between them confuses nobody yet. */
const CLOCK_SKEW_MS_MAX = 60_000;

/** Looks at all that a promise rests on, as the database and the running processes' own reports show it. */
export async function examine(db: Queryable): Promise<Examined[]> {
  const { unsafe, weak, clockSkewMs } = await auditDurability(db);
  const skewSeconds = Math.round(Math.abs(clockSkewMs) / 1000);
  return [
    {
      what: "durability",
      state: unsafe.length > 0 ? "red" : "ok",
      found: unsafe.length > 0 ? unsafe.join(", ") : "a commit is on disk before it is answered",
    },
    {
      what: "safety of pages",
      state: weak.length > 0 ? "amber" : "ok",
      found: weak.length > 0 ? weak.join(", ") : "full pages and checksums are on",
    },
    {
      what: "clocks",
      state: Math.abs(clockSkewMs) > CLOCK_SKEW_MS_MAX ? "amber" : "ok",
      found: `${skewSeconds} s apart`,
    },
    ...(await examineCounts(db)),
    ...(await examineInstances(db)),
    ...(await examineAlerts(db)),
  ];
}

async function examineCounts(db: Queryable): Promise<Examined[]> {
  const counts = await db.query<{ pending: number; failing: number; lost: number }>(
    `SELECT (SELECT count(*) FROM inbox) AS pending, (SELECT count(*) FROM inbox WHERE attempts > 0) AS failing,
       (SELECT coalesce(sum(abs(accepted - stored - duplicate - quarantined)), 0) FROM tallies) AS lost`,
  );
  const { pending = 0, failing = 0, lost = 0 } = counts.rows[0] ?? {};
  return [
    { what: "balance", state: lost === 0 ? "ok" : "red", found: `${lost} events lost` },
    {
      what: "inbox",
      state: failing > 0 ? "red" : "ok",
      found: `${pending} receipts wait, ${failing} of them after a failure`,
    },
  ];
}

async function examineInstances(db: Queryable): Promise<Examined[]> {
  const instances = await db.query<{
    host: string;
    pid: number;
    diskLow: boolean;
    freeBytes: number | null;
    spoolPosts: number;
  }>(
    `SELECT host, pid, disk_low AS "diskLow", disk_free_bytes AS "freeBytes", spool_posts AS "spoolPosts"
     FROM instances ORDER BY started_at`,
  );
  if (instances.rows.length === 0) return [{ what: "processes", state: "amber", found: "none runs" }];
  return instances.rows.map(({ host, pid, diskLow, freeBytes, spoolPosts }) => ({
    what: `process ${pid} on ${host}`,
    state: diskLow || spoolPosts > 0 ? "red" : "ok",
    found: `${Math.round((freeBytes ?? 0) / 2 ** 20)} MiB free, ${spoolPosts} POSTs in its spool`,
  }));
}

async function examineAlerts(db: Queryable): Promise<Examined[]> {
  const alerts = await db.query<{ kind: string; source: string; count: number }>(
    "SELECT kind, source, count FROM alerts WHERE resolved_at IS NULL ORDER BY opened_at",
  );
  return alerts.rows.map(({ kind, source, count }) => ({
    what: "alert",
    state: "amber",
    found: `${kind}${source === "" ? "" : ` of ${source}`} (${count})`,
  }));
}
