import {
  ENRICH_CANDIDATES_MAX,
  ENRICH_LEASE_SECONDS,
  ENRICH_QUIET_SECONDS,
  ENRICH_RETRIES_MAX,
  ENRICH_RETRY_SECONDS,
  ENRICH_SECOND_MESSAGES_MAX,
  ENRICH_WINDOW_MESSAGES_MAX,
} from "../limits.ts";
import type { Connection, Queryable } from "../postgres/pool.ts";
import type { ProviderApi } from "../sendgrid/api-types.ts";
import type { ChosenSeconds, SecondCount, Target } from "./windows.ts";

/** The present, for tests. Undefined: the database's clock. */
export type Now = Date | undefined;

/** Which try of a message this is: those of different tries are asked about apart, since what helps them differs. */
export type Turn = "first" | "again" | "last";

const ATTEMPTS: Readonly<Record<Turn, readonly [number, number]>> = {
  first: [0, 0],
  again: [1, ENRICH_RETRIES_MAX - 1],
  last: [ENRICH_RETRIES_MAX, 32_767],
};

/** The time by which an API lists a message. One without any time is looked for around its filing. */
const LISTED_AT: Readonly<Record<ProviderApi, string>> = {
  logs: "coalesce(m.first_event_at, c.next_attempt_at)",
  messages: "coalesce(m.last_event_at, c.next_attempt_at)",
};

/**
 * The messages that have been due longest, at a bounded cost whatever waits. Materialized: a planner without statistics
 * takes them for a handful, and must not look for them once for every row of another table. Test: queue.pg.test.ts.
 * Parameters: now, lowest and highest attempts.
 */
const CANDIDATES = `candidates AS MATERIALIZED (
    SELECT message, next_attempt_at FROM enrichments
    WHERE state = 'pending' AND next_attempt_at <= coalesce($1::timestamptz, now()) AND attempts BETWEEN $2 AND $3
    ORDER BY next_attempt_at LIMIT ${ENRICH_CANDIDATES_MAX}
  )`;

/** Still claimed by whoever holds this lease. Locked in key order, so that two instances cannot deadlock. */
const OURS = `ours AS (
    SELECT message FROM enrichments WHERE message = ANY ($1) AND state = 'pending' AND next_attempt_at = $2
    ORDER BY message FOR UPDATE
  )`;

/**
 * Whose turn it is: that of the message that has been due longest. Undefined while nothing is due, or while it is worth
 * waiting for others that are coming to share the call.
 */
export async function nextTurn(db: Queryable, gatherSeconds: number, now: Now): Promise<Turn | undefined> {
  const found = await db.query<{ attempts: number; is_time: boolean }>(
    `WITH present AS (SELECT coalesce($1::timestamptz, now()) AS at),
     oldest AS (
       SELECT attempts, next_attempt_at FROM enrichments, present
       WHERE state = 'pending' AND next_attempt_at <= present.at ORDER BY next_attempt_at LIMIT 1
     )
     SELECT oldest.attempts,
       oldest.next_attempt_at <= present.at - make_interval(secs => $2)
       OR (SELECT count(*) FROM (
         SELECT FROM enrichments WHERE state = 'pending' AND next_attempt_at <= present.at LIMIT ${ENRICH_WINDOW_MESSAGES_MAX}
       ) AS due) = ${ENRICH_WINDOW_MESSAGES_MAX}
       OR NOT EXISTS (
         SELECT FROM enrichments WHERE state = 'pending'
           AND next_attempt_at > present.at - make_interval(secs => ${ENRICH_QUIET_SECONDS})
           AND next_attempt_at <= present.at + make_interval(secs => $2)
       ) AS is_time
     FROM oldest, present`,
    [now ?? null, gatherSeconds],
  );
  const [oldest] = found.rows;
  if (oldest === undefined || !oldest.is_time) return undefined;
  if (oldest.attempts === 0) return "first";
  return oldest.attempts < ENRICH_RETRIES_MAX ? "again" : "last";
}

/** Takes simulated messages that are due off the queue: SendGrid has never heard of them. Returns how many. */
export async function dropSimulated(tx: Connection, turn: Turn, now: Now): Promise<number> {
  const found = await tx.query<{ message: number }>(
    `WITH ${CANDIDATES}
     SELECT c.message FROM candidates AS c JOIN messages AS m ON m.id = c.message JOIN sources AS s ON s.id = m.source
     WHERE s.simulated ORDER BY c.message`,
    [now ?? null, ...ATTEMPTS[turn]],
  );
  if (found.rows.length === 0) return 0;
  const messages = found.rows.map(({ message }) => message);
  const dropped = await tx.query("DELETE FROM enrichments WHERE message = ANY ($1)", [messages]);
  return dropped.rowCount ?? 0;
}

/** The due messages of a turn counted by the second in which the API lists them, oldest first, a little past one window. */
export async function countSeconds(
  db: Queryable,
  { api, turn }: { api: ProviderApi; turn: Turn },
  now: Now,
): Promise<SecondCount[]> {
  const found = await db.query<SecondCount>(
    `WITH ${CANDIDATES}, counted AS (
       SELECT floor(extract(epoch FROM ${LISTED_AT[api]}))::bigint AS second, count(*) AS count
       FROM candidates AS c JOIN messages AS m ON m.id = c.message WHERE m.message_id IS NOT NULL GROUP BY 1
     ), summed AS (
       SELECT second, count, sum(count) OVER (ORDER BY second) - count AS before FROM counted
     )
     SELECT second, count FROM summed WHERE before <= ${ENRICH_WINDOW_MESSAGES_MAX} ORDER BY second`,
    [now ?? null, ...ATTEMPTS[turn]],
  );
  return found.rows;
}

/**
 * Claims the due messages of these seconds until `lease`: nobody else asks about them before. No lock is held while the
 * API is asked; a process that dies gives its messages back by letting the lease pass.
 */
export async function claim(
  tx: Connection,
  plan: { api: ProviderApi; turn: Turn; chosen: ChosenSeconds; lease: Date },
  now: Now,
): Promise<Target[]> {
  const { api, turn, chosen, lease } = plan;
  const found = await tx.query<{ message: number; messageId: string; at: Date; categories: string[] }>(
    `WITH ${CANDIDATES}
     SELECT c.message, m.message_id AS "messageId", ${LISTED_AT[api]} AS at, m.categories
     FROM candidates AS c JOIN messages AS m ON m.id = c.message
     WHERE m.message_id IS NOT NULL AND floor(extract(epoch FROM ${LISTED_AT[api]})) BETWEEN $4::bigint AND $5::bigint - 1
     ORDER BY c.next_attempt_at LIMIT ${ENRICH_SECOND_MESSAGES_MAX}`,
    [now ?? null, ...ATTEMPTS[turn], chosen.fromSecond, chosen.toSecond],
  );
  // By their keys, not by the search above once more: a planner without statistics would repeat that for every row.
  const claimed = await tx.query<{ message: number }>(
    `WITH free AS (
       SELECT message FROM enrichments
       WHERE message = ANY ($2) AND state = 'pending' AND next_attempt_at <= coalesce($1::timestamptz, now())
       ORDER BY message FOR UPDATE SKIP LOCKED
     )
     UPDATE enrichments AS e SET next_attempt_at = $3 FROM free WHERE e.message = free.message RETURNING e.message`,
    [now ?? null, found.rows.map(({ message }) => message), lease],
  );
  const ours = new Set(claimed.rows.map(({ message }) => message));
  return found.rows.flatMap(({ message, messageId, categories, at }) =>
    ours.has(message) ? [{ message, messageId, categories, atMs: at.getTime() }] : [],
  );
}

/** A lease from now on, to the millisecond, so that it compares equal after its way through JavaScript. */
export async function newLease(db: Queryable, now: Now): Promise<Date> {
  const found = await db.query<{ lease: Date }>(
    "SELECT date_trunc('milliseconds', coalesce($1::timestamptz, now()) + make_interval(secs => $2)) AS lease",
    [now ?? null, ENRICH_LEASE_SECONDS],
  );
  const [row] = found.rows;
  if (row === undefined) throw new Error("PostgreSQL did not tell the time");
  return row.lease;
}

/**
 * Extends the lease on messages claimed until `lease`. Those that somebody else has answered or claimed meanwhile are no
 * longer ours and not among the returned.
 */
export async function extend(
  db: Queryable,
  messages: readonly number[],
  lease: Date,
  until: Date,
): Promise<Set<number>> {
  const extended = await db.query<{ message: number }>(
    `WITH ${OURS} UPDATE enrichments AS e SET next_attempt_at = $3 FROM ours WHERE e.message = ours.message RETURNING e.message`,
    [messages, lease, until],
  );
  return new Set(extended.rows.map(({ message }) => message));
}

/** Gives claimed messages back, due after that long, without counting a try. */
export async function release(
  db: Queryable,
  { messages, lease }: { messages: readonly number[]; lease: Date },
  delaySeconds: number,
  now: Now,
): Promise<void> {
  await db.query(
    `WITH ${OURS}
     UPDATE enrichments AS e SET next_attempt_at = coalesce($3::timestamptz, now()) + make_interval(secs => $4)
     FROM ours WHERE e.message = ours.message`,
    [messages, lease, now ?? null, delaySeconds],
  );
}

/**
 * Counts a try that did not find these messages. They are tried again, at most ENRICH_RETRIES_MAX times, and then failed;
 * with `final` they are failed now, because asking again cannot help.
 *
 * @returns how many are failed.
 */
export async function writeMissing(
  db: Queryable,
  missing: { messages: readonly number[]; lease: Date; error: string; final: boolean },
  now: Now,
): Promise<number> {
  const { messages, lease, error, final } = missing;
  const written = await db.query<{ failed: number }>(
    `WITH ${OURS}, written AS (
       UPDATE enrichments AS e SET asked_at = coalesce($3::timestamptz, now()), error = $4, attempts = e.attempts + 1,
         next_attempt_at = coalesce($3::timestamptz, now()) + make_interval(secs => ${ENRICH_RETRY_SECONDS}),
         state = CASE WHEN $5 OR e.attempts >= ${ENRICH_RETRIES_MAX} THEN 'failed' ELSE e.state END
       FROM ours WHERE e.message = ours.message RETURNING e.state
     )
     SELECT count(*) FILTER (WHERE state = 'failed') AS failed FROM written`,
    [messages, lease, now ?? null, error, final],
  );
  return written.rows[0]?.failed ?? 0;
}
