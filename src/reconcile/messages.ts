import { isEventIdOf } from "../event-id.ts";
import { RECONCILE_MESSAGE_EVENTS_MAX } from "../limits.ts";
import { isMessageId } from "../message-id.ts";
import type { ProviderApi } from "../sendgrid/api-types.ts";
import type { RecordedEvent, RecordedMessage } from "../sendgrid/record-types.ts";
import { spendCall, type Context, type DayWork } from "./context.ts";
import { recordGaps, type FoundGap } from "./gaps.ts";
import { kindOf, type Kind } from "./kinds.ts";
import { matchEvents, type HeldEvent } from "./match.ts";
import { closeAsked } from "./rules.ts";

const SECOND_MS = 1000;

/** Email Logs tell the ids of events, so they are asked first. */
const IN_ORDER: readonly ProviderApi[] = ["logs", "messages"];

/**
 * Asks SendGrid for one message and writes down which of its events the ledger lacks. Each message is asked once in a run.
 *
 * @returns false when no call was left for it.
 */
export async function askMessage(
  context: Context,
  work: DayWork,
  messageId: string,
  kind: "known" | "guess" = "known",
): Promise<boolean> {
  if (work.asked.has(messageId) || work.tried.has(messageId)) return true;
  work.tried.add(messageId);
  for (const api of IN_ORDER) {
    if (!context.apis.includes(api) || context.records.isRefused(work.account.name, api)) continue;
    if (!spendCall(work, kind)) {
      work.tried.delete(messageId);
      return false;
    }
    const told = await context.records.message(work.account.name, api, messageId);
    if (told.kind === "not_found") work.asked.add(messageId);
    if (told.kind !== "ok") continue;
    work.checked.messages += 1;
    await fileRecord(context, work, { api, messageId, record: told.value });
    work.asked.add(messageId);
    break;
  }
  return true;
}

/** What SendGrid's records say of a message, and which of them. */
export interface Recorded {
  api: "logs" | "messages" | "csv";
  messageId: string;
  record: Pick<RecordedMessage, "recipient" | "events">;
}

/** Holds a message's record against the ledger. */
export async function fileRecord(context: Context, work: DayWork, recorded: Recorded): Promise<void> {
  const { api, messageId, record } = recorded;
  // A younger event may be on its way still.
  const events = record.events.filter(
    (event) => event.occurredAtMs < work.settledMs && kindOf(event.type, event.item["type"]) !== undefined,
  );
  const held = await readMessage(context, work, messageId, events);
  const { missing, counted } = matchEvents(events, held.events);
  for (const event of counted) noteCounted(work, event);
  const gaps = missing.flatMap((found): FoundGap[] => {
    const { event } = found;
    const kind = kindOf(event.type, event.item["type"]);
    if (kind === undefined) return [];
    const { account, mainSource } = work;
    const { timeZone, run } = context;
    const common = { messageId, kind, found, account: account.name, timeZone, origin: api, run };
    return [
      { ...common, message: held.message, source: held.source ?? mainSource, recipient: recipientOf(recorded, event) },
    ];
  });
  const fresh = await recordGaps(context.pool, gaps);
  for (const gap of fresh) noteFound(work, gap.kind, gap.found.event.occurredAtMs);
  await closeAsked(context.pool, messageId);
}

function recipientOf({ record }: Recorded, event: RecordedEvent): string | undefined {
  const { email } = event.item;
  return typeof email === "string" ? email : record.recipient;
}

function noteFound({ wanted, fromMs, toMs }: DayWork, kind: Kind, occurredAtMs: number): void {
  if (wanted === undefined || occurredAtMs < fromMs || occurredAtMs >= toMs) return;
  wanted.set(kind, (wanted.get(kind) ?? 0) - 1);
}

/** A twin that SendGrid counts explains as much of the difference as a found event. */
function noteCounted(work: DayWork, event: RecordedEvent): void {
  const kind = kindOf(event.type, event.item["type"]);
  if (kind === undefined || event.occurredAtMs < work.fromMs || event.occurredAtMs >= work.toMs) return;
  work.counted.set(kind, (work.counted.get(kind) ?? 0) + 1);
  noteFound(work, kind, event.occurredAtMs);
}

interface HeldMessage {
  message: number | null;
  source: number | null;
  events: HeldEvent[];
}

/**
 * The ledger's events that may be the recorded ones: those of the message, and those of the account that name no message
 * but have a recorded event's id, or its type, second and recipient: delayed bounces come without a message's id.
 */
async function readMessage(
  { pool }: Context,
  { account }: DayWork,
  messageId: string,
  events: readonly RecordedEvent[],
): Promise<HeldMessage> {
  const known = await pool.query<{ id: number; source: number }>(
    `SELECT id, source FROM messages WHERE ${isMessageId("message_id", "$1")}`,
    [messageId],
  );
  const [row] = known.rows;
  const times = events.map(({ occurredAtMs }) => occurredAtMs);
  const between = [new Date(Math.min(...times, Infinity)), new Date(Math.max(...times, -Infinity) + SECOND_MS)];
  if (events.length === 0) return { message: row?.id ?? null, source: row?.source ?? null, events: [] };
  const recipients = new Set(events.flatMap(({ item }) => (typeof item["email"] === "string" ? item["email"] : [])));
  const held = await pool.query<HeldEvent>(
    `SELECT event_id AS "eventId", type, floor(extract(epoch FROM occurred_at))::bigint AS second, twin, detail->>'url' AS url
     FROM events WHERE message = $1 AND (occurred_at >= $2 AND occurred_at < $3 OR event_id = ANY ($4))
     UNION ALL
     SELECT event_id, type, floor(extract(epoch FROM occurred_at))::bigint, twin, detail->>'url'
     FROM events WHERE message = ANY (ARRAY(SELECT id FROM messages WHERE message_id IS NULL AND source = ANY ($5)))
       AND ${isEventIdOf("event_id", "$4")}
     UNION ALL
     SELECT event_id, type, floor(extract(epoch FROM occurred_at))::bigint, twin, detail->>'url'
     FROM events WHERE nameless AND lower(recipient) = ANY ($6) AND occurred_at >= $2 AND occurred_at < $3
       AND source = ANY ($5) AND event_id <> ALL ($4)
     LIMIT ${RECONCILE_MESSAGE_EVENTS_MAX}`,
    [
      row?.id ?? null,
      ...between,
      events.flatMap(({ eventId }) => eventId ?? []),
      account.sources,
      [...recipients].map((recipient) => recipient.toLowerCase()),
    ],
  );
  return { message: row?.id ?? null, source: row?.source ?? null, events: held.rows };
}
