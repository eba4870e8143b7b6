import {
  ALERT_GAP_SECONDS,
  ALERT_INBOX_AGE_SECONDS,
  ALERT_RECONCILIATION_DAYS,
  ALERT_REFUSED_SECONDS,
  ALERT_REPAIRED_DAYS,
} from "../limits.ts";
import type { Queryable } from "../postgres/pool.ts";
import { silenceQuestion } from "./silence.ts";

export type AlertKind =
  | "inbox_old"
  | "receipt_failing"
  | "quarantine_open"
  | "balance_broken"
  | "enrichment_failing"
  | "enrichment_forbidden"
  | "signature_failing"
  | "source_unknown"
  | "spool_in_use"
  | "disk_low"
  | "durability_unsafe"
  | "silence"
  | "events_missing"
  | "sends_unseen"
  | "events_repaired"
  | "reconciliation_failing"
  | "receiver_failing";

/** Something that is wrong now. `source` is empty when it concerns no single one; a receiver of alerts stands there by its name. */
export interface Finding {
  kind: AlertKind;
  source: string;
  count: number;
  since: Date;
}

interface Rule {
  kind: AlertKind;
  text: string;
  values: unknown[];
}

/** Each rule is one question to the ledger, answered with a row (source, count, since) for whatever is wrong. */
const RULES: readonly Rule[] = [
  {
    kind: "inbox_old",
    text: `SELECT '' AS source, count(*) AS count, min(received_at) AS since FROM inbox
      WHERE attempts = 0 AND received_at < now() - make_interval(secs => $1) HAVING count(*) > 0`,
    values: [ALERT_INBOX_AGE_SECONDS],
  },
  {
    kind: "receipt_failing",
    text: "SELECT '' AS source, count(*) AS count, min(received_at) AS since FROM inbox WHERE attempts > 0 HAVING count(*) > 0",
    values: [],
  },
  {
    kind: "quarantine_open",
    text: `SELECT s.name AS source, count(*) AS count, min(q.quarantined_at) AS since
      FROM quarantine AS q JOIN sources AS s ON s.id = q.source WHERE q.state = 'open' GROUP BY s.name`,
    values: [],
  },
  {
    kind: "balance_broken",
    text: `SELECT s.name AS source, sum(t.accepted - t.stored - t.duplicate - t.quarantined) AS count, min(t.hour) AS since
      FROM tallies AS t JOIN sources AS s ON s.id = t.source
      WHERE t.accepted <> t.stored + t.duplicate + t.quarantined GROUP BY s.name`,
    values: [],
  },
  {
    kind: "enrichment_failing",
    text: "SELECT '' AS source, count(*) AS count, min(asked_at) AS since FROM enrichments WHERE state = 'failed' HAVING count(*) > 0",
    values: [],
  },
  {
    kind: "enrichment_forbidden",
    // An account without Email Logs is asked through Messages, or the other way round: only without either it is off.
    text: `SELECT '' AS source, count(*) AS count, min(changed_at) AS since FROM provider_apis
      WHERE name IN ('logs', 'messages')
        AND NOT EXISTS (SELECT FROM provider_apis WHERE name IN ('logs', 'messages') AND state = 'available')
      HAVING count(*) > 0`,
    values: [],
  },
  {
    kind: "signature_failing",
    text: `SELECT source, sum(count) AS count, min(first_at) AS since FROM refusals
      WHERE code IN ('signature_invalid', 'signature_missing', 'no_key') AND source <> '' AND hour >= date_trunc('hour', now()) - interval '24 hours'
      GROUP BY source HAVING max(last_at) > now() - make_interval(secs => $1)`,
    values: [ALERT_REFUSED_SECONDS],
  },
  {
    kind: "source_unknown",
    text: `SELECT '' AS source, sum(count) AS count, min(first_at) AS since FROM refusals
      WHERE code = 'source_unknown' AND hour >= date_trunc('hour', now()) - interval '24 hours'
      HAVING max(last_at) > now() - make_interval(secs => $1)`,
    values: [ALERT_REFUSED_SECONDS],
  },
  {
    kind: "spool_in_use",
    text: `SELECT '' AS source, sum(spool_posts) AS count, min(spool_oldest_event_at) AS since FROM instances
      WHERE spool_posts > 0 HAVING count(*) > 0`,
    values: [],
  },
  {
    kind: "disk_low",
    text: "SELECT '' AS source, count(*) AS count, now() AS since FROM instances WHERE disk_low HAVING count(*) > 0",
    values: [],
  },
  {
    kind: "durability_unsafe",
    text: "SELECT '' AS source, count(*) AS count, min(started_at) AS since FROM instances WHERE unsafe <> '{}' HAVING count(*) > 0",
    values: [],
  },
  { kind: "silence", ...silenceQuestion },
  {
    kind: "events_missing",
    text: `SELECT coalesce(s.name, '') AS source, count(*) AS count, min(g.found_at) AS since
      FROM gaps AS g LEFT JOIN sources AS s ON s.id = g.source
      WHERE g.state IN ('open', 'ordered') AND g.confidence = 'confirmed' AND g.found_at < now() - make_interval(secs => $1)
        AND s.simulated IS NOT TRUE
      GROUP BY coalesce(s.name, '')`,
    values: [ALERT_GAP_SECONDS],
  },
  {
    kind: "sends_unseen",
    // Nobody but the application knows of these, so no comparison with SendGrid finds them.
    text: `SELECT coalesce(s.name, '') AS source, count(*) AS count, min(g.found_at) AS since
      FROM gaps AS g LEFT JOIN sources AS s ON s.id = g.source
      WHERE g.state = 'open' AND g.rule = 'register' AND s.simulated IS NOT TRUE GROUP BY coalesce(s.name, '')`,
    values: [],
  },
  {
    kind: "events_repaired",
    text: `SELECT coalesce(s.name, '') AS source, count(*) AS count, min(r.repaired_at) AS since
      FROM repairs AS r JOIN gaps AS g ON g.id = r.gap LEFT JOIN sources AS s ON s.id = g.source
      WHERE r.outcome = 'filed' AND r.replaced_at IS NULL AND r.repaired_at > now() - make_interval(days => $1)
        AND s.simulated IS NOT TRUE
      GROUP BY coalesce(s.name, '')`,
    values: [ALERT_REPAIRED_DAYS],
  },
  {
    kind: "reconciliation_failing",
    // Each night begins a run of this name (reconcile/schedule.ts). Where none was ever made there is nobody to miss it.
    text: `SELECT '' AS source, 1 AS count, since FROM (
        (SELECT finished_at AS since, state = 'failed' AS wrong FROM reconciliation_runs WHERE state <> 'running' ORDER BY id DESC LIMIT 1)
        UNION ALL SELECT max(started_at), max(started_at) < now() - make_interval(days => $1) FROM reconciliation_runs
          WHERE name = 'nightly check'
      ) AS found WHERE wrong ORDER BY since LIMIT 1`,
    values: [ALERT_RECONCILIATION_DAYS],
  },
];

/** All rules as one question, each with its own parameters: asked one by one they were 3 of the 20 statements that an idle service asked a second. */
function questionOf(rules: readonly Rule[]): { text: string; values: unknown[] } {
  const values: unknown[] = [];
  const parts = rules.map(({ kind, text, values: own }) => {
    const before = values.length;
    values.push(...own);
    const numbered = text.replaceAll(/\$(\d+)/g, (_all, number: string) => `$${before + Number(number)}`);
    return `SELECT '${kind}' AS kind, source, count::bigint, since FROM (${numbered}) AS ${kind}`;
  });
  return { text: parts.join("\nUNION ALL "), values };
}

const QUESTION = questionOf(RULES);

/** All that the ledger shows to be wrong now. Receivers that fail are found where the deliveries are known (delivery.ts). */
export async function findWrongs(db: Queryable): Promise<Finding[]> {
  const found = await db.query<Omit<Finding, "since"> & { since: Date | null }>(QUESTION.text, QUESTION.values);
  return found.rows.map(({ kind, source, count, since }) => ({
    kind,
    source,
    count: Math.abs(count),
    since: since ?? new Date(),
  }));
}
