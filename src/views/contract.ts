/**
 * The public interface: the shape of everything REST and SSE take and answer, as schemas and as types.
 * OpenAPI is made from these schemas; `web/` imports the types and nothing else of the server. What is about one page
 * only stands in a file of its own beside this one (`contract-….ts`).
 *
 * Rules that hold for every route:
 * - Without a session cookie or `Authorization: Bearer TOKEN` the answer is 401. A request that changes something and
 *   brings the cookie must come from the page's own origin (the browser's Sec-Fetch-Site says so), else 403.
 * - Simulated traffic is never mixed into real figures. `simulated` says which is meant: `false` real sources only,
 *   `true` simulated ones only, `all` both. Left out, it is `false`; but as long as no real source has ever received
 *   anything it is `true`, so that a fresh installation shows its demo. Status.simulatedByDefault tells which of the
 *   two holds now. `source` names one source and then `simulated` counts for nothing.
 * - Times in queries are ISO 8601 with a zone (`2026-03-01T09:00:00Z`), or a date, which means its midnight in UTC.
 *   `from` is included, `to` is not.
 * - A parameter that is unknown, given twice, too long or wrong is answered with 400 bad_request, which names it.
 */
import Type, { type Static } from "typebox";
import { CLIENT_ERRORS, type ClientErrorCode } from "../errors.ts";
import { PAGE_ROWS_DEFAULT, PAGE_ROWS_MAX, QUERY_CHARS_MAX, TOKEN_CHARS_MAX } from "../limits.ts";

const CLIENT_ERROR_CODES = Object.keys(CLIENT_ERRORS) as ClientErrorCode[];

/** Shapes that the other files of the contract use too. */
export const Count = Type.Integer({ minimum: 0 });
export const Time = Type.String({ format: "date-time", description: "ISO 8601, UTC" });
export const TimeOrNull = Type.Union([Time, Type.Null()]);
export const TextOrNull = Type.Union([Type.String(), Type.Null()]);

/** Type.Record would make a pattern that misses keys with a line break in them, and those would be left out of an answer. */
const TextsByKey = Type.Unsafe<Record<string, string>>({
  type: "object",
  additionalProperties: { type: "string" },
});
export const AnythingByKey = Type.Unsafe<Record<string, unknown>>({
  type: "object",
  additionalProperties: true,
  description: "what is particular to the event, as SendGrid sent it",
});

/** The body of every answer that is not a 2xx. */
export const ErrorSchema = Type.Object({
  error: Type.Object({
    code: Type.Enum(CLIENT_ERROR_CODES, { description: "one of the codes in docs/errors.md" }),
    message: Type.String({ description: "a sentence for a person" }),
  }),
});
export type ErrorBody = Static<typeof ErrorSchema>;

export const SimulatedSchema = Type.Enum(["false", "true", "all"], {
  description: "Which traffic: real, simulated or both. Left out: real, or simulated while there is no other.",
});
export type Simulated = Static<typeof SimulatedSchema>;

export const DeliverySchema = Type.Enum(
  ["unknown", "processed", "deferred", "delivered", "dropped", "blocked", "bounced"],
  {
    description: "The highest state reached, in this order. unknown: no delivery event yet.",
  },
);
export type Delivery = Static<typeof DeliverySchema>;

export const RoleSchema = Type.Enum(["support", "compliance", "admin"]);
export type TokenRole = Static<typeof RoleSchema>;

export const EnrichmentSchema = Type.Object({
  state: Type.Enum(["pending", "enriched", "failed", "none"], {
    description: "none: nothing to ask (a nameless message)",
  }),
  askedAt: TimeOrNull,
  api: Type.Union([Type.Enum(["logs", "messages"]), Type.Null()]),
  status: Type.Union([Type.String(), Type.Null()], { description: "SendGrid's own word for the state" }),
  opens: Type.Union([Count, Type.Null()]),
  clicks: Type.Union([Count, Type.Null()]),
  template: TextOrNull,
  error: TextOrNull,
});
export type Enrichment = Static<typeof EnrichmentSchema>;

/** A message as it stands in a list. */
export const MessageSummarySchema = Type.Object({
  id: Type.String({ description: "sg_message_id, or nameless:SOURCE" }),
  source: Type.String(),
  simulated: Type.Boolean(),
  recipient: TextOrNull,
  subject: TextOrNull,
  delivery: DeliverySchema,
  opens: Count,
  machineOpens: Count,
  clicks: Count,
  complaint: Type.Boolean(),
  unsubscribed: Type.Boolean(),
  categories: Type.Array(Type.String()),
  args: TextsByKey,
  firstEventAt: TimeOrNull,
  lastEventAt: TimeOrNull,
});
export type MessageSummary = Static<typeof MessageSummarySchema>;

/** What a message may be asked for by: its delivery, or something that stands beside it. */
export const MESSAGE_STATES = [
  "unknown",
  "processed",
  "deferred",
  "delivered",
  "dropped",
  "blocked",
  "bounced",
  "opened",
  "clicked",
  "complaint",
  "unsubscribed",
] as const;
export type MessageState = (typeof MESSAGE_STATES)[number];

/** Kinds of events that a message may have had, whatever came after them. */
export const MESSAGE_KINDS = [
  "processed",
  "deferred",
  "delivered",
  "bounce",
  "blocked",
  "dropped",
  "open",
  "machine_open",
  "click",
  "spamreport",
  "unsubscribe",
  "group_resubscribe",
] as const;
export type MessageKind = (typeof MESSAGE_KINDS)[number];

/**
 * GET /api/messages, newest first; beside these, any number of `arg.KEY=VALUE`. All conditions must hold.
 * `q` finds, in one field: the beginning of an address; `@domain`; a message id or its beginning (so also an
 * X-Message-Id); the value of any custom arg (an order number), or `KEY:VALUE` for one of them; words of the subject.
 */
export const MessageQuerySchema = Type.Object({
  q: Type.Optional(Type.String({ maxLength: QUERY_CHARS_MAX })),
  recipient: Type.Optional(
    Type.String({ maxLength: QUERY_CHARS_MAX, description: "a whole address; case does not matter" }),
  ),
  state: Type.Optional(
    Type.String({
      maxLength: QUERY_CHARS_MAX,
      description: `one of ${MESSAGE_STATES.join(", ")}, or several separated by commas`,
    }),
  ),
  kind: Type.Optional(
    Type.Enum([...MESSAGE_KINDS], {
      description: "had such an event at any time; blocked is a bounce that says nothing against the address",
    }),
  ),
  category: Type.Optional(Type.String({ maxLength: QUERY_CHARS_MAX })),
  from: Type.Optional(Type.String({ maxLength: 40, description: "first event at or after" })),
  to: Type.Optional(Type.String({ maxLength: 40, description: "first event before" })),
  source: Type.Optional(Type.String({ maxLength: 63 })),
  simulated: Type.Optional(SimulatedSchema),
  cursor: Type.Optional(Type.String({ maxLength: 64, description: "nextCursor of the page before" })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: PAGE_ROWS_MAX, default: PAGE_ROWS_DEFAULT })),
});
export type MessageQuery = Static<typeof MessageQuerySchema>;

export const MessageListSchema = Type.Object({
  messages: Type.Array(MessageSummarySchema),
  nextCursor: Type.Union([Type.String(), Type.Null()]),
});
export type MessageList = Static<typeof MessageListSchema>;

/** GET /api/messages.csv: the same question, without pages. The answer has at most EXPORT_ROWS_MAX messages. */
export const ExportQuerySchema = Type.Omit(MessageQuerySchema, ["cursor", "limit"]);
export type ExportQuery = Static<typeof ExportQuerySchema>;

export const TimelineEventSchema = Type.Object({
  eventId: Type.String({
    description: "sg_event_id, or a fingerprint beginning with fp: or a hash beginning with sha256:",
  }),
  type: Type.String(),
  occurredAt: Time,
  recipient: TextOrNull,
  source: Type.String(),
  origin: Type.Enum(["webhook", "logs", "messages", "csv"], {
    description: "webhook, or which of SendGrid's records told of it, so that it was repaired",
  }),
  repairedAt: Type.Union([Time, Type.Null()], {
    description: "when it was repaired; of an event of a webhook: when the one was repaired whose place it took",
  }),
  twin: Type.Boolean({ description: "looks like a re-delivery under another id; counted once" }),
  probable: Type.Boolean({ description: "named no message; linked to this one by recipient and time" }),
  receipt: Type.Union([Type.String(), Type.Null()]),
  detail: AnythingByKey,
  detailLeftOut: Type.Boolean({ description: "the detail has more than 64 KiB: it is kept, but not shown here" }),
});
export type TimelineEvent = Static<typeof TimelineEventSchema>;

export const MessageReceiptSchema = Type.Object({
  id: Type.String(),
  receivedAt: Time,
  source: Type.String(),
  bytes: Count,
  sha256: Type.String(),
  signed: Type.Boolean(),
});
export type MessageReceipt = Static<typeof MessageReceiptSchema>;

/** A message whole: its state, its timeline, and the receipts behind it. */
export const MessageDetailSchema = Type.Object({
  message: MessageSummarySchema,
  sender: TextOrNull,
  times: Type.Object({
    processed: TimeOrNull,
    deferred: TimeOrNull,
    delivered: TimeOrNull,
    failed: TimeOrNull,
    firstOpen: TimeOrNull,
    lastOpen: TimeOrNull,
    firstMachineOpen: TimeOrNull,
    lastMachineOpen: TimeOrNull,
    firstClick: TimeOrNull,
    lastClick: TimeOrNull,
    firstComplaint: TimeOrNull,
    lastComplaint: TimeOrNull,
    firstUnsubscribe: TimeOrNull,
    lastUnsubscribe: TimeOrNull,
  }),
  enrichment: EnrichmentSchema,
  events: Type.Array(TimelineEventSchema),
  eventsLeftOut: Count,
  receipts: Type.Array(MessageReceiptSchema),
});
export type MessageDetail = Static<typeof MessageDetailSchema>;

/** POST /api/messages/:id/enrich. The answer to "ask SendGrid about this message now". */
export const EnrichOrderSchema = Type.Object({
  ordered: Type.Boolean({ description: "false when enrichment is not on, or there is nothing to ask about" }),
  enrichment: Type.Enum(["on", "no_api_key", "off", "forbidden"]),
});
export type EnrichOrder = Static<typeof EnrichOrderSchema>;

/** GET /api/balance. Counted by hours of arrival: `from` is taken back to its full hour, `to` forward. Left out: all time. */
export const BalanceQuerySchema = Type.Object({
  from: Type.Optional(Type.String({ maxLength: 40 })),
  to: Type.Optional(Type.String({ maxLength: 40 })),
  source: Type.Optional(Type.String({ maxLength: 63 })),
  simulated: Type.Optional(SimulatedSchema),
});

export const BalanceSchema = Type.Object({
  receipts: Type.Object({ accepted: Count, pending: Count }),
  events: Type.Object({
    accepted: Count,
    stored: Count,
    duplicate: Count,
    twin: Count,
    quarantined: Count,
    lost: Type.Integer({ description: "accepted - stored - duplicate - quarantined; must be 0" }),
  }),
  retries: Type.Object({ attempted: Count, rescued: Count, exhausted: Count }),
});
export type Balance = Static<typeof BalanceSchema>;

/** GET /api/quarantine, newest first. Shows all sources, simulated ones too, unless told otherwise: it is a list of work. */
export const QuarantineQuerySchema = Type.Object({
  state: Type.Optional(Type.Enum(["open", "replayed", "all"], { default: "open" })),
  source: Type.Optional(Type.String({ maxLength: 63 })),
  simulated: Type.Optional(SimulatedSchema),
  cursor: Type.Optional(Type.String({ maxLength: 64 })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: PAGE_ROWS_MAX, default: PAGE_ROWS_DEFAULT })),
});

export const QuarantineItemSchema = Type.Object({
  id: Type.String(),
  receipt: Type.String(),
  source: Type.String(),
  receivedAt: Time,
  ordinal: Type.Integer({ description: "the item's place in its POST from 0; -1 for the whole body" }),
  reason: Type.String({ description: "a code: not_json, not_array, not_object, …" }),
  state: Type.Enum(["open", "replayed"]),
  bytes: Count,
  excerpt: Type.String({ description: "the first 2,000 characters, decoded as UTF-8" }),
});
export type QuarantineItem = Static<typeof QuarantineItemSchema>;

export const QuarantineListSchema = Type.Object({
  items: Type.Array(QuarantineItemSchema),
  nextCursor: Type.Union([Type.String(), Type.Null()]),
});
export type QuarantineList = Static<typeof QuarantineListSchema>;

/** POST /api/quarantine/:id/replay and POST /api/alerts/:id/acknowledge: written down, to be carried out soon. */
export const OrderedSchema = Type.Object({
  ordered: Type.Boolean({ description: "false: this order was given before" }),
});
export type Ordered = Static<typeof OrderedSchema>;

/** GET /api/alerts, newest first, the open ones before the resolved ones. At most ALERT_ROWS_MAX of them. */
export const AlertQuerySchema = Type.Object({
  state: Type.Optional(Type.Enum(["open", "resolved", "all"], { default: "open" })),
});

export const AlertSchema = Type.Object({
  id: Type.String(),
  kind: Type.Enum([
    "inbox_old",
    "receipt_failing",
    "quarantine_open",
    "balance_broken",
    "enrichment_failing",
    "enrichment_forbidden",
    "signature_failing",
    "source_unknown",
    "spool_in_use",
    "disk_low",
    "durability_unsafe",
    "silence",
    "events_missing",
    "sends_unseen",
    "events_repaired",
    "reconciliation_failing",
    "receiver_failing",
  ]),
  source: Type.String({
    description: "empty when the alert concerns no single source; of receiver_failing the receiver",
  }),
  count: Count,
  since: Time,
  resolvedAt: TimeOrNull,
  acknowledgedBy: TextOrNull,
});
export type Alert = Static<typeof AlertSchema>;
export const AlertListSchema = Type.Object({ alerts: Type.Array(AlertSchema) });
export type AlertList = Static<typeof AlertListSchema>;

export const StatusSchema = Type.Object({
  version: Type.String(),
  instance: Type.String({ description: "changes with every start of the process" }),
  postgres: Type.String({ description: "server version" }),
  inbox: Type.Object({ receipts: Count, oldestSeconds: Type.Number() }),
  quarantineOpen: Count,
  alertsOpen: Count,
  enrichment: Type.Object({
    state: Type.Enum(["on", "no_api_key", "off", "forbidden"]),
    reason: TextOrNull,
    pending: Count,
    failed: Count,
    callsPerMinute: Count,
    callsLeft: Count,
  }),
  instances: Type.Array(
    Type.Object({
      id: Type.String(),
      host: Type.String(),
      version: Type.String(),
      roles: Type.Array(Type.String()),
      startedAt: Time,
      unsafe: Type.Array(Type.String(), { description: "PostgreSQL settings that can lose what was committed" }),
      weak: Type.Array(Type.String(), { description: "PostgreSQL settings that weaken what stands around it" }),
      clockSkewMs: Type.Integer({ description: "the database's clock minus this process's, in steps of 100" }),
      diskFreeBytes: Type.Union([Count, Type.Null()], { description: "rounded down to 100 MB" }),
      diskLow: Type.Boolean(),
      spool: Type.Object({ posts: Count, bytes: Count, oldestEventAt: TimeOrNull }),
    }),
    { description: "the running processes, as each last said of itself" },
  ),
  simulatedByDefault: Type.Boolean({ description: "no real source has ever received anything; see `simulated`" }),
  sources: Type.Array(
    Type.Object({
      name: Type.String(),
      simulated: Type.Boolean(),
      keys: Count,
      path: Type.String(),
      lastReceiptAt: Type.Union([Time, Type.Null()], {
        description: "exact while among the newest 1,000 receipts, else the beginning of its hour",
      }),
    }),
  ),
});
export type Status = Static<typeof StatusSchema>;

/** Who is signed in. */
export const SessionSchema = Type.Object({ name: Type.String(), role: RoleSchema });
export type Session = Static<typeof SessionSchema>;

/**
 * POST /api/session: an API token, or the one-time token of a login link, in exchange for a session cookie.
 * A login link is `PUBLIC_URL/login#TOKEN`: what follows the # is not sent to any server and so is in no log.
 * GET /api/session tells who is signed in; DELETE /api/session signs out (204).
 */
export const SessionRequestSchema = Type.Object({ token: Type.String({ minLength: 1, maxLength: TOKEN_CHARS_MAX }) });
export type SessionRequest = Static<typeof SessionRequestSchema>;
