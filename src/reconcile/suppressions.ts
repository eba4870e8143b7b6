import { createHash } from "node:crypto";
import {
  PROBABLE_LINK_DAYS,
  RECONCILE_PAGE_ROWS,
  RECONCILE_SUPPRESSION_PAGES_MAX,
  RECONCILE_SUPPRESSION_SECONDS,
  SUPPRESSION_ROWS_MAX,
} from "../limits.ts";
import type { SuppressionEntry, SuppressionList } from "../sendgrid/record-types.ts";
import { askableApis, isWanted, type Context, type DayWork } from "./context.ts";
import { KIND_SQL, type Kind } from "./kinds.ts";
import { askMessage } from "./messages.ts";

/** The lists, and the kind of event that puts an address on each. */
const LISTS: readonly { list: SuppressionList; kind: Kind }[] = [
  { list: "bounces", kind: "bounce" },
  { list: "blocks", kind: "blocked" },
  { list: "spam_reports", kind: "spamreport" },
  { list: "invalid_emails", kind: "dropped" },
  { list: "unsubscribes", kind: "unsubscribe" },
];

/** Messages of an address that may be the one, the latest first. */
const CANDIDATES_MAX = 3;

/**
 * Holds the suppression lists of the kinds looked for against the ledger: each address that was put on one this day must
 * have its event. Where it has none, the address's messages are asked for; what that does not explain is left in
 * `work.entries`. An entry is evidence, not a count: a list has an address once, and people delete entries.
 */
export async function checkSuppressions(context: Context, work: DayWork): Promise<void> {
  for (const { list, kind } of LISTS) {
    if (!isWanted(work, kind)) continue;
    const entries = await readWithoutEvent(context, work, { list, kind });
    for (const entry of entries) {
      if (!isWanted(work, kind)) break;
      await explain(context, work, { entry, kind });
    }
  }
}

async function readWithoutEvent(
  context: Context,
  work: DayWork,
  { list, kind }: { list: SuppressionList; kind: Kind },
): Promise<SuppressionEntry[]> {
  const found: SuppressionEntry[] = [];
  const toMs = Math.min(work.toMs, work.settledMs) - 1;
  if (toMs < work.fromMs) return found;
  for (let page = 0; page < RECONCILE_SUPPRESSION_PAGES_MAX; page += 1) {
    const question = { list, fromMs: work.fromMs, toMs, offset: page * SUPPRESSION_ROWS_MAX };
    const told = await context.records.suppressions(work.account.name, question);
    if (told.kind !== "ok") return found;
    work.checked.suppressions = true;
    found.push(...(await withoutEvent(context, work, { kind, entries: told.value.entries })));
    await context.report(work, "suppressions");
    if (!told.value.full || found.length >= RECONCILE_PAGE_ROWS) return found;
  }
  work.isCut = true;
  return found;
}

/** Entries whose address has no event of that kind near that time, with or without a message. */
async function withoutEvent(
  { pool }: Context,
  { account }: DayWork,
  { kind, entries }: { kind: Kind; entries: readonly SuppressionEntry[] },
): Promise<SuppressionEntry[]> {
  const found = await pool.query<{ place: number }>(
    `SELECT s.place - 1 AS place FROM unnest($1::text[], $2::timestamptz[]) WITH ORDINALITY AS s (email, at, place)
     WHERE NOT EXISTS (
         SELECT FROM messages AS m JOIN events ON events.message = m.id
         WHERE lower(m.recipient) = s.email AND m.first_event_at >= s.at - make_interval(days => ${PROBABLE_LINK_DAYS})
           AND m.first_event_at < s.at + make_interval(secs => ${RECONCILE_SUPPRESSION_SECONDS})
           AND ${KIND_SQL} = $3 AND abs(extract(epoch FROM occurred_at - s.at)) <= ${RECONCILE_SUPPRESSION_SECONDS})
       AND NOT EXISTS (
         SELECT FROM events WHERE nameless AND lower(recipient) = s.email AND source = ANY ($4) AND ${KIND_SQL} = $3
           AND occurred_at >= s.at - make_interval(secs => ${RECONCILE_SUPPRESSION_SECONDS})
           AND occurred_at <= s.at + make_interval(secs => ${RECONCILE_SUPPRESSION_SECONDS}))
     ORDER BY s.place`,
    [entries.map(({ email }) => email.toLowerCase()), entries.map(({ createdAt }) => createdAt), kind, account.sources],
  );
  return found.rows.flatMap(({ place }) => entries[place] ?? []);
}

async function explain(
  context: Context,
  work: DayWork,
  { entry, kind }: { entry: SuppressionEntry; kind: Kind },
): Promise<void> {
  if (askableApis(context, work).length > 0) {
    const candidates = await context.pool.query<{ messageId: string }>(
      `SELECT message_id AS "messageId" FROM messages
       WHERE lower(recipient) = $1 AND message_id IS NOT NULL AND source = ANY ($2)
         AND first_event_at >= $3::timestamptz - make_interval(days => ${PROBABLE_LINK_DAYS})
         AND first_event_at < $3::timestamptz + interval '1 hour'
       ORDER BY first_event_at DESC LIMIT ${CANDIDATES_MAX}`,
      [entry.email.toLowerCase(), work.account.sources, entry.createdAt],
    );
    for (const { messageId } of candidates.rows) {
      const before = work.wanted?.get(kind);
      if (!(await askMessage(context, work, messageId))) return;
      if (before !== undefined && work.wanted?.get(kind) !== before) return;
    }
  }
  if (work.entries.length < RECONCILE_PAGE_ROWS) work.entries.push({ entry, kind });
}

/** Writes down the entries that nothing has explained as suspected gaps, each once. */
export async function recordEntries(context: Context, work: DayWork): Promise<void> {
  for (const { entry, kind } of work.entries) {
    const { list, email, createdAt, reason, status } = entry;
    const address = createHash("sha256").update(email.toLowerCase()).digest("base64url");
    await context.pool.query(
      `INSERT INTO gaps (occurred_at, source, day, account, identity, kind, rule, confidence, recipient, evidence)
       SELECT $1, $2, $3, $4, $5, $6, 'suppression', 'suspected', $7, $8
       WHERE NOT EXISTS (
         SELECT FROM gaps WHERE day = $3 AND account = $4 AND kind = $6 AND confidence = 'confirmed'
           AND lower(recipient) = lower($7) AND state IN ('open', 'ordered', 'repaired'))
       ON CONFLICT (identity) DO UPDATE SET state = 'open', closed_at = NULL, evidence = excluded.evidence`,
      [
        createdAt,
        work.mainSource,
        work.day,
        work.account.name,
        `suppression:${list}:${address}:${Math.floor(createdAt.getTime() / 1000)}`,
        kind,
        email,
        { list, reason, status, run: context.run },
      ],
    );
  }
}
