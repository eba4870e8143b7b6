import { ACCESS_LOG_REMEMBERED_MAX, ACCESS_LOG_REPEAT_MS } from "../limits.ts";
import type { Pool } from "../postgres/pool.ts";
import type { Viewer } from "./tokens.ts";

/** What of personal data somebody looked at, or ordered; and every change of who and what may come in. */
export type AccessAction =
  | "messages.search"
  | "messages.export"
  | "recipient.view"
  | "message.view"
  | "message.enrich"
  | "live.view"
  | "receipt.take"
  | "quarantine.view"
  | "quarantine.replay"
  | "alert.acknowledge"
  | "access_log.view"
  | "token.create"
  | "token.end"
  | "source.add"
  | "key.add"
  | "key.end"
  | "completeness.view"
  | "completeness.export"
  | "completeness.certificate"
  | "reconciliation.order"
  | "simulation.start"
  | "simulation.stop"
  | "simulation.purge"
  | "session.begin"
  | "session.end";

const TAKES_AWAY: ReadonlySet<AccessAction> = new Set([
  "receipt.take",
  "messages.export",
  "completeness.export",
  "completeness.certificate",
]);

/** Writes a row before the answer is sent, so that nothing is shown that is not written down. */
export type LogAccess = (viewer: Viewer, action: AccessAction, subject?: string) => Promise<void>;

/** A page that loads itself again makes one row a minute, not one each time. */
export function createAccessLog(pool: Pool, now: () => number = Date.now): LogAccess {
  const lastMs = new Map<string, number>();
  return async (viewer, action, subject) => {
    const key = JSON.stringify([viewer.token, action, subject]);
    const at = now();
    const last = lastMs.get(key);
    // Each export takes data away, however soon it follows the one before.
    if (!TAKES_AWAY.has(action) && last !== undefined && at - last < ACCESS_LOG_REPEAT_MS) return;
    await pool.query("INSERT INTO access_log (token, name, role, action, subject) VALUES ($1, $2, $3, $4, $5)", [
      viewer.token,
      viewer.name,
      viewer.role,
      action,
      subject ?? null,
    ]);
    // Deleted first, so that the map's order is that of the times and the oldest is the one that goes.
    lastMs.delete(key);
    lastMs.set(key, at);
    if (lastMs.size > ACCESS_LOG_REMEMBERED_MAX) {
      const [oldest] = lastMs.keys();
      if (oldest !== undefined) lastMs.delete(oldest);
    }
  };
}
