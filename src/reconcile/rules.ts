import { RECONCILE_PAGE_ROWS } from "../limits.ts";
import { isMessageId } from "../message-id.ts";
import type { Pool, Queryable } from "../postgres/pool.ts";
import type { Bounds } from "./days.ts";
import { readPatiently } from "./held.ts";
import type { Kind } from "./kinds.ts";

/** What the life of a mail says about events that must have been, without asking anybody. */
export interface Rule {
  name: string;
  /** For people. */
  text: string;
  /** What may be missing: the first is the likeliest. */
  kinds: readonly [Kind, ...Kind[]];
  /** How long it is waited before it is a suspicion: SendGrid's events can be a day late, and a delivery is tried for 72 h. */
  waitSeconds: number;
  /** The event must have been. Else it may still come, or nothing need have been; then a list of many messages says more. */
  isCertain: boolean;
  /**
   * The suspects, as a statement with the columns message, message_id, source, recipient, since, evidence. Its parameters:
   * from and before which time a message began, sources, and the number of the last message seen.
   */
  sql: string;
}

const HOUR = 3_600;

/** Suspects that a condition on the message alone finds. */
function bySelf(condition: string, since: string, evidence: string): string {
  return `SELECT m.id AS message, m.message_id, m.source, m.recipient, ${since} AS since, ${evidence} AS evidence
    FROM messages AS m
    WHERE m.first_event_at >= $1 AND m.first_event_at < $2 AND m.source = ANY ($3) AND m.id > $4 AND m.message_id IS NOT NULL
      AND ${condition}`;
}

const OPENED_AT = "least(m.first_open_at, m.first_machine_open_at, m.first_click_at)";

/** The number in an id such as delivered-2-…, which is base64: so many deferrals came before. */
const ATTEMPT_OF_ID = `CASE WHEN e.event_id ~ '^(ZGVsaXZlcmVkL|Ym91bmNlL)[A-Za-z0-9_-]{12}'
    THEN substring(convert_from(decode(translate(left(e.event_id, 20), '-_', '+/'), 'base64'), 'LATIN1') FROM '^[a-z]+-([0-9]{1,3})-')::int END`;
const ATTEMPT_OF_DEFERRAL =
  "CASE WHEN e.type = 'deferred' AND e.detail->>'attempt' ~ '^[0-9]{1,3}$' THEN (e.detail->>'attempt')::int + 1 END";

export const RULES: readonly Rule[] = [
  {
    name: "delivered_without_processed",
    text: "A message was delivered that was never processed.",
    kinds: ["processed"],
    waitSeconds: 26 * HOUR,
    isCertain: true,
    sql: bySelf(
      "m.processed_at IS NULL AND (m.delivered_at IS NOT NULL OR m.deferred_at IS NOT NULL OR m.delivery IN ('bounced', 'blocked'))",
      "m.first_event_at",
      "jsonb_build_object('delivery', m.delivery)",
    ),
  },
  {
    name: "opened_without_delivered",
    text: "A message was opened or clicked that was never delivered.",
    kinds: ["delivered"],
    waitSeconds: 26 * HOUR,
    isCertain: true,
    sql: bySelf(
      `m.delivered_at IS NULL AND ${OPENED_AT} IS NOT NULL`,
      OPENED_AT,
      "jsonb_build_object('opens', m.opens + m.machine_opens, 'clicks', m.clicks)",
    ),
  },
  {
    name: "deferral_missing",
    text: "An attempt at delivery has a number that says of more deferrals before it than are there.",
    kinds: ["deferred"],
    waitSeconds: 26 * HOUR,
    isCertain: true,
    sql: `SELECT m.id AS message, m.message_id, m.source, m.recipient, d.since, jsonb_build_object('attempts', d.implied, 'deferred', d.held) AS evidence
      FROM (
        SELECT e.message, max(e.occurred_at) AS since, count(*) FILTER (WHERE e.type = 'deferred' AND NOT e.twin) AS held,
          max(greatest(${ATTEMPT_OF_ID}, ${ATTEMPT_OF_DEFERRAL})) AS implied
        FROM events AS e
        WHERE e.occurred_at >= $1 AND e.occurred_at < $2::timestamptz + interval '3 days' AND e.source = ANY ($3)
          AND e.message > $4 AND e.type IN ('deferred', 'delivered', 'bounce') GROUP BY e.message
      ) AS d JOIN messages AS m ON m.id = d.message
      WHERE d.implied > d.held AND m.message_id IS NOT NULL AND m.first_event_at >= $1 AND m.first_event_at < $2`,
  },
  {
    name: "copy_missing",
    text: "The copies of one send are numbered, and a number between them is missing.",
    kinds: ["processed", "dropped"],
    waitSeconds: 26 * HOUR,
    isCertain: true,
    // The number of the last copy seen stands for the send, so that pages can follow each other.
    sql: `SELECT s.last AS message, s.send || '.' || k AS message_id, s.source, NULL AS recipient, s.since,
        jsonb_build_object('copies', s.copies, 'number', k) AS evidence
      FROM (
        SELECT c.send, max(c.id) AS last, min(c.source) AS source, max(c.at) AS since, count(*) AS copies, array_agg(c.k) AS held
        FROM (
          SELECT m.id, m.source, m.first_event_at AS at, regexp_replace(m.message_id, '\\.[0-9]+$', '') AS send,
            substring(m.message_id FROM '\\.([0-9]+)$')::int AS k
          FROM messages AS m
          WHERE m.first_event_at >= $1 AND m.first_event_at < $2 AND m.source = ANY ($3) AND m.message_id ~ '^[^.]+\\..+\\.[0-9]{1,4}$'
        ) AS c GROUP BY c.send HAVING count(*) > 1 AND max(c.k) + 1 > count(DISTINCT c.k) AND max(c.id) > $4
      ) AS s CROSS JOIN LATERAL generate_series(0, (SELECT max(held) FROM unnest(s.held) AS held)) AS k
      WHERE k <> ALL (s.held)`,
  },
  {
    name: "deferred_without_end",
    text: "A message was deferred, and neither delivered nor given up in the 72 hours in which that is tried.",
    kinds: ["delivered", "blocked", "bounce"],
    waitSeconds: 74 * HOUR,
    isCertain: false,
    sql: bySelf(
      `m.deferred_at IS NOT NULL AND m.delivered_at IS NULL AND m.failed_at IS NULL AND ${OPENED_AT} IS NULL`,
      "m.deferred_at",
      "jsonb_build_object('delivery', m.delivery)",
    ),
  },
  {
    name: "processed_without_end",
    text: "A message was processed, and nothing came of it.",
    kinds: ["delivered", "bounce", "blocked"],
    waitSeconds: 75 * HOUR,
    isCertain: false,
    sql: bySelf(
      `m.processed_at IS NOT NULL AND m.deferred_at IS NULL AND m.delivered_at IS NULL AND m.failed_at IS NULL AND ${OPENED_AT} IS NULL`,
      "m.processed_at",
      "jsonb_build_object('delivery', m.delivery)",
    ),
  },
];

export interface Suspect {
  message: number;
  messageId: string;
  source: number;
  recipient: string | null;
  since: Date;
  evidence: Record<string, unknown>;
}

/** The suspects of a rule among the messages that began in a time, page by page. */
export async function* suspects(
  pool: Pool,
  rule: Rule,
  { bounds, sources, before }: { bounds: Bounds; sources: readonly number[]; before: Date },
): AsyncGenerator<Suspect[]> {
  let last = 0;
  for (;;) {
    const page = await readPatiently<Suspect>(
      pool,
      `SELECT message, message_id AS "messageId", source, recipient, since, evidence FROM (${rule.sql}) AS found
       WHERE since < $5 ORDER BY message LIMIT ${RECONCILE_PAGE_ROWS}`,
      [new Date(bounds.fromMs), new Date(bounds.toMs), sources, last, before],
    );
    const lastSeen = page.at(-1)?.message;
    if (lastSeen === undefined) return;
    yield page;
    if (page.length < RECONCILE_PAGE_ROWS) return;
    last = lastSeen;
  }
}

export interface Suspicion {
  rule: Rule;
  account: string;
  day: string;
  run: number;
}

/** Writes down suspects as gaps, each once. One whose message SendGrid was asked about is none any more. */
export async function recordSuspects(db: Queryable, suspicion: Suspicion, page: readonly Suspect[]): Promise<void> {
  const { rule, account, day, run } = suspicion;
  await db.query(
    `INSERT INTO gaps (occurred_at, message, source, day, account, identity, kind, rule, confidence, message_id, recipient, evidence)
     SELECT s.since, m.id, s.source, $2, $3, 'rule:' || $4 || ':' || s."messageId", $5, $4, 'suspected', s."messageId", s.recipient,
       s.evidence || jsonb_build_object('run', $6::bigint, 'kinds', $7::jsonb)
     FROM jsonb_to_recordset($1::jsonb) AS s ("messageId" text, source smallint, recipient text, since timestamptz, evidence jsonb)
       LEFT JOIN messages AS m ON ${isMessageId("m.message_id", 's."messageId"')}
     WHERE NOT EXISTS (SELECT FROM gaps AS g WHERE g.message_id = s."messageId" AND g.confidence = 'confirmed' AND g.state IN ('open', 'ordered'))
     ON CONFLICT (identity) DO UPDATE SET state = 'open', closed_at = NULL, evidence = excluded.evidence
       WHERE NOT gaps.evidence ? 'asked'`,
    [JSON.stringify(page), day, account, rule.name, rule.kinds[0], run, JSON.stringify(rule.kinds)],
  );
}

/** Closes the suspicions of a day that this run did not find again. Those of the register are closed by register.ts. */
export async function closeOutdated(
  db: Queryable,
  { account, day, run }: { account: string; day: string; run: number },
): Promise<void> {
  await db.query(
    `UPDATE gaps SET state = 'closed', closed_at = now() WHERE account = $1 AND day = $2 AND confidence = 'suspected'
       AND state = 'open' AND rule <> 'register' AND (evidence->>'run')::bigint IS DISTINCT FROM $3`,
    [account, day, run],
  );
}

/** SendGrid has told all about a message: what was suspected of it is found by now, or was nothing. */
export async function closeAsked(db: Queryable, messageId: string): Promise<void> {
  await db.query(
    `UPDATE gaps SET state = 'closed', closed_at = now(), evidence = evidence || '{"asked": true}'
     WHERE message_id = $1 AND confidence = 'suspected' AND state = 'open'`,
    [messageId],
  );
}
