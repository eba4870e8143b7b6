import { REGISTER_AGAIN_SECONDS, REGISTER_SENDS_MAX, REGISTER_WAIT_SECONDS } from "../limits.ts";
import { messageIdBeginsWith } from "../message-id.ts";
import type { Pool } from "../postgres/pool.ts";
import { countAccounts, type Account, type CountedAccount } from "./accounts.ts";
import type { Bounds } from "./days.ts";

/** The rule under which its gaps stand. It is none of `RULES`, which look at messages: here there may be none at all. */
const REGISTER = "register";

export interface RegisterLook {
  account: CountedAccount;
  timeZone: string;
  now: Date;
  /** Ends it between two statements; what is left is due the next time. */
  signal: AbortSignal | undefined;
}

/**
 * Looks for the events of registered sends that are due. A send of which fewer messages than recipients have an event an
 * hour after it is a suspected gap, and no longer once they have; it is looked for again and again, ever more seldom.
 *
 * Invariant: no gap opens while a receipt that came within that hour still waits in the inbox. Several processes may look at
 * once: each send is one's. Test: register.pg.test.ts.
 */
async function lookAtSends(pool: Pool, look: RegisterLook): Promise<void> {
  for (;;) {
    const found = await pool.query<{ looked: number }>(LOOK, [
      look.now,
      look.account.sources,
      look.account.name,
      look.timeZone,
    ]);
    if ((found.rows[0]?.looked ?? 0) < REGISTER_SENDS_MAX || look.signal?.aborted === true) return;
  }
}

/** Looks at all sends of a day, due or not: its result is about to be made. */
export async function lookAtDay(pool: Pool, look: RegisterLook, { fromMs, toMs }: Bounds): Promise<void> {
  await pool.query(
    `UPDATE sends SET next_look_at = $1 WHERE seen_at IS NULL AND next_look_at > $1 AND source = ANY ($2)
       AND sent_at >= $3 AND sent_at < $4 AND sent_at <= $1::timestamptz - make_interval(secs => ${REGISTER_WAIT_SECONDS})`,
    [look.now, look.account.sources, new Date(fromMs), new Date(toMs)],
  );
  await lookAtSends(pool, look);
}

export interface WatchOptions {
  pool: Pool;
  accounts: readonly Account[];
  timeZone: string;
  includeSimulated: boolean;
  now?: () => Date;
}

/** Looks at what is due in all accounts. It asks nobody, so it needs no key and no night. */
export async function watchSends(options: WatchOptions, signal: AbortSignal): Promise<void> {
  const { pool, accounts, timeZone, includeSimulated, now } = options;
  const at = now?.() ?? new Date();
  const due = await pool.query("SELECT FROM sends WHERE seen_at IS NULL AND next_look_at <= $1 LIMIT 1", [at]);
  if (due.rows.length === 0) return;
  for (const account of await countAccounts(pool, accounts, includeSimulated)) {
    await lookAtSends(pool, { account, timeZone, now: at, signal });
  }
}

/** All ids of a send's messages begin with its own and a dot. */
const OF_SEND = messageIdBeginsWith("m.message_id", "(due.message_id || '.')");

const LOOK = `WITH due AS (
    SELECT message_id, sent_at, source, recipients, recipient, name, args FROM sends
    WHERE seen_at IS NULL AND next_look_at <= $1 AND source = ANY ($2)
    ORDER BY next_look_at LIMIT ${REGISTER_SENDS_MAX} FOR UPDATE SKIP LOCKED
  ), looked AS (
    SELECT due.*, found.messages, found.messages >= due.recipients AS is_seen, found.first,
      coalesce((SELECT min(received_at) FROM inbox WHERE attempts = 0) <= due.sent_at + make_interval(secs => ${REGISTER_WAIT_SECONDS}), false)
        AS may_wait
    FROM due CROSS JOIN LATERAL (
      SELECT count(*) AS messages, min(id) AS first FROM (SELECT m.id FROM messages AS m WHERE ${OF_SEND} LIMIT due.recipients) AS few
    ) AS found
  ), marked AS (
    UPDATE sends SET seen_at = CASE WHEN looked.is_seen THEN $1::timestamptz END,
      next_look_at = $1::timestamptz + greatest(make_interval(secs => ${REGISTER_AGAIN_SECONDS}), ($1::timestamptz - sends.sent_at) / 100)
    FROM looked WHERE sends.message_id = looked.message_id
  ), opened AS (
    INSERT INTO gaps (occurred_at, found_at, source, day, account, identity, kind, rule, confidence, message_id, recipient, evidence)
    SELECT sent_at, $1, source, (sent_at AT TIME ZONE $4)::date, $3, '${REGISTER}:' || message_id, 'processed', '${REGISTER}', 'suspected',
      message_id, recipient,
      jsonb_build_object('recipients', recipients, 'messages', messages, 'registeredBy', name) || CASE WHEN args = '{}' THEN '{}' ELSE jsonb_build_object('args', args) END
    FROM looked WHERE NOT is_seen AND NOT may_wait
    ON CONFLICT (identity) DO UPDATE SET evidence = excluded.evidence WHERE gaps.evidence <> excluded.evidence
  ), closed AS (
    UPDATE gaps SET closed_at = $1, message = due.first,
      state = CASE WHEN EXISTS (
          SELECT FROM messages AS m JOIN events AS e ON e.message = m.id WHERE ${OF_SEND} AND e.origin = 'webhook'
        ) THEN 'arrived' ELSE 'closed' END
    FROM looked AS due WHERE gaps.identity = '${REGISTER}:' || due.message_id AND due.is_seen AND gaps.state = 'open'
  )
  SELECT count(*) AS looked FROM looked`;
