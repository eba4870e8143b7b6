import { ALERT_CHECK_MS } from "../limits.ts";
import type { Log } from "../log.ts";
import { createLoop, type Loop } from "../loop.ts";
import { tryLockTransaction } from "../postgres/advisory-lock.ts";
import type { Connection, Pool } from "../postgres/pool.ts";
import { transaction } from "../postgres/transaction.ts";
import type { AlertDelivery } from "./delivery.ts";
import type { AlertNews } from "./receivers.ts";
import { findWrongs, type Finding } from "./rules.ts";
import { sentenceOf } from "./sentences.ts";

export interface AlertWatch extends Loop {
  /** Looks once. @returns false: there is nothing more to do until the next look. */
  tick(): Promise<boolean>;
}

interface AlertRow extends Finding {
  id: number;
}

/**
 * Opens an alert when a rule finds something wrong, once, and resolves it by itself when the rule no longer does
 * (promise P6). Opening and resolving each write a log line. Test: alerts.pg.test.ts.
 */
export function createAlertWatch(options: {
  pool: Pool;
  log: Log;
  delivery: Pick<AlertDelivery, "order" | "findFailing">;
}): AlertWatch {
  const { pool, log, delivery } = options;

  async function tick(): Promise<boolean> {
    const { opened, resolved } = await transaction(pool, async (tx) => {
      const changes = await look(tx, delivery);
      await delivery.order(tx, newsOf(changes));
      return changes;
    });
    for (const { id, kind, source } of opened) log.warn({ alert: id, kind, source }, "alert opened");
    for (const { id, kind, source } of resolved) log.info({ alert: id, kind, source }, "alert resolved");
    return false;
  }

  return { tick, ...createLoop({ name: "alerts", log, tick, idleMs: ALERT_CHECK_MS }) };
}

interface Changes {
  opened: AlertRow[];
  resolved: AlertRow[];
}

function newsOf({ opened, resolved }: Changes): AlertNews[] {
  const now = new Date();
  const tell =
    (state: AlertNews["state"]) =>
    (row: AlertRow): AlertNews => {
      const { id, kind, source, count, since } = row;
      return { alert: id, state, kind, source, count, since: since.toISOString(), sentence: sentenceOf(row, now) };
    };
  return [...opened.map(tell("opened")), ...resolved.map(tell("resolved"))];
}

async function look(tx: Connection, delivery: Pick<AlertDelivery, "findFailing">): Promise<Changes> {
  if (!(await tryLockTransaction(tx, "alerts"))) return { opened: [], resolved: [] };
  const findings = [...(await findWrongs(tx)), ...(await delivery.findFailing(tx))];
  const opened = await tx.query<AlertRow & { isNew: boolean }>(
    `INSERT INTO alerts (kind, source, count, since)
     SELECT kind, source, count, since FROM jsonb_to_recordset($1::jsonb) AS row (kind text, source text, count bigint, since timestamptz)
     ON CONFLICT (kind, source) WHERE resolved_at IS NULL DO UPDATE SET count = excluded.count, seen_at = now()
     RETURNING id, kind, source, count, since, opened_at = now() AS "isNew"`,
    [JSON.stringify(findings)],
  );
  const resolved = await tx.query<AlertRow>(
    "UPDATE alerts SET resolved_at = now() WHERE resolved_at IS NULL AND NOT id = ANY ($1) RETURNING id, kind, source, count, since",
    [opened.rows.map(({ id }) => id)],
  );
  if (resolved.rows.length > 0)
    await tx.query("DELETE FROM alert_acknowledgements WHERE alert = ANY ($1)", [resolved.rows.map(({ id }) => id)]);
  return { opened: opened.rows.filter(({ isNew }) => isNew), resolved: resolved.rows };
}
