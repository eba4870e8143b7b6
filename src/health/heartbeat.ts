import { hostname } from "node:os";
import { DURABILITY_CHECK_MS, HEARTBEAT_MS, INSTANCE_GONE_SECONDS } from "../limits.ts";
import type { Log } from "../log.ts";
import { createLoop, type Loop } from "../loop.ts";
import type { Pool } from "../postgres/pool.ts";
import type { DiskWatch } from "./disk.ts";
import { auditDurability, type DurabilityAudit } from "./durability.ts";

export interface HeartbeatOptions {
  pool: Pool;
  log: Log;
  instance: string;
  version: string;
  roles: readonly string[];
  disk: DiskWatch;
  /** What waits in this process's spool. */
  spool: () => { posts: number; bytes: number; oldestEventAt: Date | undefined };
  /** A clock in milliseconds; tests pass their own. */
  now?: () => number;
}

export interface Heartbeat extends Loop {
  tick(): Promise<boolean>;
}

/**
 * Writes down every few seconds that this process runs and how it is; once a minute it asks again whether the database
 * is still set up to keep what it commits. Rows of processes that ended without a word are removed by the others.
 */
export function createHeartbeat(options: HeartbeatOptions): Heartbeat {
  const { pool, log, instance, version, roles, disk, spool, now = Date.now } = options;
  let audit: DurabilityAudit = { unsafe: [], weak: [], clockSkewMs: 0 };
  let auditAtMs = Number.NEGATIVE_INFINITY;

  async function tick(): Promise<boolean> {
    const wasLow = disk.isLow();
    await disk.look();
    if (disk.isLow() !== wasLow)
      log[wasLow ? "info" : "error"](
        { freeBytes: disk.freeBytes() },
        wasLow ? "the disk has room again" : "the disk is low: POSTs are refused",
      );
    if (now() - auditAtMs >= DURABILITY_CHECK_MS) {
      audit = await auditDurability(pool, now);
      auditAtMs = now();
      if (audit.unsafe.length > 0)
        log.error({ settings: audit.unsafe }, "PostgreSQL is set up to lose what it commits");
    }
    const { posts, bytes, oldestEventAt } = spool();
    await pool.query(
      `WITH gone AS (DELETE FROM instances WHERE seen_at < now() - make_interval(secs => $14) AND id <> $1)
       INSERT INTO instances (id, host, pid, version, roles, unsafe, weak, clock_skew_ms, disk_free_bytes, disk_low, spool_posts, spool_bytes, spool_oldest_event_at)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
       ON CONFLICT (id) DO UPDATE SET seen_at = now(), unsafe = excluded.unsafe, weak = excluded.weak, clock_skew_ms = excluded.clock_skew_ms,
         disk_free_bytes = excluded.disk_free_bytes, disk_low = excluded.disk_low, spool_posts = excluded.spool_posts,
         spool_bytes = excluded.spool_bytes, spool_oldest_event_at = excluded.spool_oldest_event_at`,
      [
        instance,
        hostname(),
        process.pid,
        version,
        roles,
        audit.unsafe,
        audit.weak,
        audit.clockSkewMs,
        disk.freeBytes() ?? null,
        disk.isLow(),
        posts,
        bytes,
        oldestEventAt ?? null,
        INSTANCE_GONE_SECONDS,
      ],
    );
    return false;
  }

  const loop = createLoop({ name: "heartbeat", log, tick, idleMs: HEARTBEAT_MS });
  return {
    tick,
    ...loop,
    async stop() {
      await loop.stop();
      await pool.query("DELETE FROM instances WHERE id = $1", [instance]);
    },
  };
}
