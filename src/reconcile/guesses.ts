import { DAY_MS } from "../days.ts";
import { RECONCILE_EARLIER_DAYS, RECONCILE_PAGE_ROWS } from "../limits.ts";
import { askableApis, isExplained, isWanted, type Context, type DayWork } from "./context.ts";
import type { Bounds } from "./days.ts";
import { readPatiently } from "./held.ts";
import { KINDS, type Kind } from "./kinds.ts";
import { askMessage } from "./messages.ts";

/** Which messages may lack an event of a kind, and in which order they are asked. m is messages, e enrichments. */
interface Likelihood {
  condition: string;
  order: string;
}

const OPENED = "m.opens + m.machine_opens + m.clicks > 0";
const REACHED = `(m.delivered_at IS NOT NULL OR ${OPENED})`;

const UNFAILED: Likelihood = { condition: "m.failed_at IS NULL", order: "m.delivered_at IS NOT NULL" };
const UNANSWERED: Likelihood = { condition: REACHED, order: `NOT (${OPENED})` };

const LIKELIHOODS: Readonly<Record<Kind, Likelihood>> = {
  processed: { condition: "m.processed_at IS NULL AND m.delivery <> 'dropped'", order: "m.id" },
  // A delivery that took long was tried more than once.
  deferred: {
    condition: "true",
    order: `extract(epoch FROM coalesce(m.delivered_at, m.failed_at) - coalesce(m.processed_at, m.first_event_at)) DESC NULLS FIRST`,
  },
  delivered: { condition: "m.delivered_at IS NULL", order: `NOT (${OPENED}), m.failed_at IS NOT NULL` },
  bounce: UNFAILED,
  blocked: UNFAILED,
  dropped: UNFAILED,
  // What enrichment was told of beyond the ledger; then a click without an open; then who opened is likely to do so again.
  open: {
    condition: REACHED,
    order: `coalesce(e.opens, 0) <= m.opens + m.machine_opens, NOT (m.clicks > 0 AND m.opens + m.machine_opens = 0), m.opens + m.machine_opens DESC`,
  },
  click: { condition: REACHED, order: `coalesce(e.clicks, 0) <= m.clicks, m.clicks DESC, m.opens DESC` },
  spamreport: UNANSWERED,
  unsubscribe: UNANSWERED,
  group_unsubscribe: UNANSWERED,
  group_resubscribe: UNANSWERED,
};

const HOUR_MS = 3_600_000;

/**
 * Asks for messages that nothing points at, in the order of likelihood for the kinds that SendGrid's totals say are
 * missing, until the totals match or the calls for guesses are used up.
 */
export async function guess(context: Context, work: DayWork): Promise<void> {
  // Of a day that goes on, SendGrid's totals and the ledger are never of the same moment.
  if (work.wanted === undefined || work.toMs > work.settledMs || askableApis(context, work).length === 0) return;
  if (isWanted(work, "bounce") || isWanted(work, "blocked")) {
    for (const messageId of work.unlikely) {
      if (isExplained(work) || !(await askMessage(context, work, messageId, "guess"))) return;
    }
  }
  for (const bounds of timesOf(work)) {
    for (const kind of KINDS) {
      if (isGuessed(work, kind) && !(await guessKind(context, work, { kind, bounds }))) return;
    }
  }
}

function isGuessed(work: DayWork, kind: Kind): boolean {
  return isWanted(work, kind) && !work.proven.has(kind);
}

/** The day's own messages, then earlier ones. */
function timesOf({ fromMs, toMs }: DayWork): Bounds[] {
  const earlyMs = fromMs - HOUR_MS;
  return [
    { fromMs: earlyMs, toMs: toMs + HOUR_MS },
    { fromMs: fromMs - RECONCILE_EARLIER_DAYS * DAY_MS, toMs: earlyMs },
  ];
}

/** Whether it may go on: there are calls left. */
async function guessKind(
  context: Context,
  work: DayWork,
  { kind, bounds }: { kind: Kind; bounds: Bounds },
): Promise<boolean> {
  for (;;) {
    const page = await likely(context, work, { kind, bounds });
    if (page.length === 0) return true;
    for (const messageId of page) {
      if (isExplained(work)) return false;
      if (!isGuessed(work, kind)) return true;
      work.messagesLeft = 0;
      await context.report(work, "messages");
      if (!(await askMessage(context, work, messageId, "guess"))) return false;
    }
  }
}

async function likely(
  { pool }: Context,
  work: DayWork,
  { kind, bounds }: { kind: Kind; bounds: Bounds },
): Promise<string[]> {
  const { condition, order } = LIKELIHOODS[kind];
  const rows = await readPatiently<{ messageId: string }>(
    pool,
    `SELECT m.message_id AS "messageId" FROM messages AS m LEFT JOIN enrichments AS e ON e.message = m.id
     WHERE m.first_event_at >= $1 AND m.first_event_at < $2 AND m.source = ANY ($3) AND m.message_id IS NOT NULL
       AND m.message_id <> ALL ($4) AND ${condition}
     ORDER BY ${order}, m.id LIMIT ${RECONCILE_PAGE_ROWS}`,
    [new Date(bounds.fromMs), new Date(bounds.toMs), work.account.sources, [...work.asked, ...work.tried]],
  );
  return rows.map(({ messageId }) => messageId);
}
