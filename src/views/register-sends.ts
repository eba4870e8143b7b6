import { REGISTER_WAIT_SECONDS } from "../limits.ts";
import type { Pool } from "../postgres/pool.ts";

/** A mail that an application has handed to SendGrid. */
export interface Send {
  /** The X-Message-Id of SendGrid's answer. */
  messageId: string;
  /** How many, or their addresses. */
  recipients?: number | readonly string[] | undefined;
  at?: Date | undefined;
  args?: Record<string, string> | undefined;
}

export interface Registration {
  /** The webhook that brings the events. */
  source: string;
  /** Who says so. */
  name: string;
}

export type Registered = { outcome: "registered"; registered: number; known: number } | { outcome: "source_unknown" };

/**
 * Puts sends into the register. Reconciliation looks for their events, from an hour after the send on.
 *
 * Invariant: a send is registered once, by its id, however often and by however many it is told; what was said first
 * stands. Test: sends.pg.test.ts.
 */
export async function registerSends(
  pool: Pool,
  { source, name }: Registration,
  sends: readonly Send[],
): Promise<Registered> {
  // SendGrid has never heard of what a simulated source brings.
  const found = await pool.query<{ id: number }>("SELECT id FROM sources WHERE name = $1 AND NOT simulated", [source]);
  const id = found.rows[0]?.id;
  if (id === undefined) return { outcome: "source_unknown" };
  // In the order of their ids, so that two requests with the same sends wait for each other and never deadlock.
  const inserted = await pool.query(
    `INSERT INTO sends (sent_at, next_look_at, recipients, source, message_id, recipient, name, args)
     SELECT DISTINCT ON (s."messageId" COLLATE "C") t.at, t.at + make_interval(secs => ${REGISTER_WAIT_SECONDS}), s.recipients, $2,
       s."messageId", s.recipient, $3, coalesce(s.args, '{}')
     FROM ROWS FROM (jsonb_to_recordset($1::jsonb) AS ("messageId" text, recipients int, recipient text, at timestamptz, args jsonb))
         WITH ORDINALITY AS s ("messageId", recipients, recipient, at, args, place)
       CROSS JOIN LATERAL (SELECT least(s.at, now()) AS at) AS t
     ORDER BY s."messageId" COLLATE "C", s.place
     ON CONFLICT (message_id) DO NOTHING`,
    [JSON.stringify(sends.map(asRow)), id, name],
  );
  const registered = inserted.rowCount ?? 0;
  return { outcome: "registered", registered, known: sends.length - registered };
}

function asRow({ messageId, recipients = 1, at, args }: Send): Record<string, unknown> {
  const addresses = typeof recipients === "number" ? undefined : new Set(recipients.map((each) => each.toLowerCase()));
  const count = typeof recipients === "number" ? recipients : (addresses?.size ?? 1);
  const [only] = count === 1 && typeof recipients !== "number" ? recipients : [];
  return { messageId, recipients: Math.max(count, 1), recipient: only, at, args };
}
