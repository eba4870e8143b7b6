/**
 * The public interface of completeness: what SendGrid's records say beside what the ledger holds, day by day. The rules
 * at the top of contract.ts hold here too, but for days: `from` and `to` are days of the account's time zone, and both
 * are included. An account is one of SendGrid's: empty for the account of the API key, else the name of a subuser.
 */
import Type, { type Static } from "typebox";
import { PAGE_ROWS_DEFAULT, PAGE_ROWS_MAX, QUERY_CHARS_MAX } from "../limits.ts";
import { AnythingByKey, Count, TextOrNull, Time, TimeOrNull } from "./contract.ts";

const Day = Type.String({ description: "YYYY-MM-DD, a day of the account's time zone" });
const DayParameter = Type.String({ maxLength: 40, description: "YYYY-MM-DD, included" });
const Account = Type.String({ description: "empty for the account of the API key, else a subuser" });
const AccountParameter = Type.String({ maxLength: QUERY_CHARS_MAX, description: "only this account" });

export const DayStateSchema = Type.Enum(["equal", "repaired", "suspected", "missing", "unknown"], {
  description:
    "equal: nothing missing. repaired: something was, and all of it was filed from SendGrid's records. suspected: only rules say that something is missing. missing: something is. unknown: SendGrid could not be asked.",
});
export type DayState = Static<typeof DayStateSchema>;

const DAY_RESULT = {
  day: Day,
  account: Account,
  state: DayStateSchema,
  final: Type.Boolean({ description: "checked so late that SendGrid's figures no longer move" }),
  missing: Type.Integer({ minimum: 0, description: "found to be missing, whatever became of it" }),
  repaired: Type.Integer({ minimum: 0, description: "of those, filed from SendGrid's records" }),
  open: Type.Integer({ minimum: 0, description: "of those, still missing" }),
  simulated: Type.Boolean({ description: "simulated sources were counted too, so this is a demonstration" }),
  checkedAt: Time,
};

export const CompletenessDaySchema = Type.Object(DAY_RESULT);
export type CompletenessDay = Static<typeof CompletenessDaySchema>;

/** GET /api/completeness. Without a year: the present one. Days that were never checked are left out. */
export const CompletenessQuerySchema = Type.Object({
  // A number would also take 0x7EA and 2.026e3.
  year: Type.Optional(Type.String({ pattern: "^2\\d{3}$", description: "2000 to 2999" })),
});

export const CompletenessSchema = Type.Object({
  year: Type.Integer(),
  years: Type.Array(Type.Integer(), { description: "the years with a result, newest first" }),
  timeZone: Type.String({ description: "of the accounts' days, as IANA names it" }),
  today: Day,
  accounts: Type.Array(Account),
  accountsLeftOut: Count,
  days: Type.Array(CompletenessDaySchema),
});
export type Completeness = Static<typeof CompletenessSchema>;

export const KindFiguresSchema = Type.Object({
  kind: Type.String({ description: "a type of event" }),
  sendgrid: Type.Union([Count, Type.Null()], { description: "SendGrid's own count; null where it has none" }),
  held: Type.Integer({ minimum: 0, description: "what the ledger holds, repaired ones among them" }),
  missing: Count,
  repaired: Count,
  open: Count,
  surplus: Type.Integer({ minimum: 0, description: "held beyond SendGrid's count" }),
  checkedBy: Type.String({ description: "the record it was held against" }),
  confidence: Type.String(),
});
export type KindFigures = Static<typeof KindFiguresSchema>;

export const GapStateSchema = Type.Enum(["open", "ordered", "repaired", "arrived", "closed"], {
  description:
    "ordered: its repair is. repaired: filed from SendGrid's records. arrived: its webhook came after all. closed: it was none.",
});
export type GapState = Static<typeof GapStateSchema>;

const Origin = Type.Enum(["logs", "messages", "csv"]);

/** GET /api/completeness/:day. The gaps come in pages, in the order they were found; all else comes with each of them. */
export const CompletenessDayQuerySchema = Type.Object({
  account: Type.Optional(AccountParameter),
  state: Type.Optional(GapStateSchema),
  kind: Type.Optional(Type.String({ maxLength: 63, description: "exactly this type of event" })),
  cursor: Type.Optional(Type.String({ maxLength: 64, description: "nextCursor of the page before" })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: PAGE_ROWS_MAX, default: PAGE_ROWS_DEFAULT })),
});

export const GapSchema = Type.Object({
  id: Type.String(),
  account: Account,
  kind: Type.String(),
  occurredAt: TimeOrNull,
  recipient: TextOrNull,
  messageId: Type.Union([Type.String(), Type.Null()], { description: "sg_message_id, of a message the ledger holds" }),
  isHeld: Type.Boolean({ description: "the ledger holds its message, so that /api/messages/:id answers" }),
  eventId: TextOrNull,
  rule: Type.String({ description: "logs, messages, csv, suppression, register, or a life-cycle rule" }),
  confidence: Type.Enum(["suspected", "confirmed"]),
  state: GapStateSchema,
  foundAt: Time,
  closedAt: TimeOrNull,
  evidence: AnythingByKey,
  evidenceLeftOut: Type.Boolean({ description: "the evidence has more than 64 KiB: it is kept, but not shown here" }),
  repair: Type.Union([
    Type.Object({
      origin: Origin,
      outcome: Type.Enum(["filed", "held", "unreadable"], { description: "held: the ledger had it by then" }),
      repairedAt: Time,
      replacedAt: Type.Union([Time, Type.Null()], { description: "when its webhook came after all" }),
      replacedByReceipt: TextOrNull,
    }),
    Type.Null(),
  ]),
});
export type Gap = Static<typeof GapSchema>;

export const DayResultSchema = Type.Object({
  ...DAY_RESULT,
  timeZone: Type.String(),
  kinds: Type.Array(KindFiguresSchema),
  repairedFrom: Type.Array(Type.Object({ origin: Origin, count: Count }), {
    description: "the records that repaired events were filed from",
  }),
});
export type DayResult = Static<typeof DayResultSchema>;

/** Why a day's result changed. */
export const CHANGE_REASONS = [
  "total_moved",
  "late",
  "left",
  "repaired",
  "replaced",
  "found_missing",
  "not_missing",
  "surplus_moved",
  "final",
  "answered",
  "unanswered",
  "suspicion",
  "suspicion_ended",
  "state_moved",
  "time_zone_moved",
  "sentence",
] as const;

const Moved = Type.Union([Type.String(), Type.Number(), Type.Null()], {
  description: "of a *_moved: a total (null where it was unknown), a state, a time zone",
});

export const ChangeReasonSchema = Type.Object({
  code: Type.Enum([...CHANGE_REASONS], {
    description:
      "total_moved: SendGrid's own count did. late: events arrived since. left: events are no longer held. repaired: filed from SendGrid's records. replaced: the webhook's event took a repaired one's place. found_missing, not_missing: gaps were found, or were none. final: SendGrid's figures no longer move. answered, unanswered: SendGrid could be asked this time, or could not. suspicion, suspicion_ended: a rule says that something may be missing, or no longer. sentence: English words of a version that had no codes.",
  }),
  kind: Type.Optional(Type.String({ description: "the type of event that is counted" })),
  count: Type.Optional(Count),
  before: Type.Optional(Moved),
  after: Type.Optional(Moved),
  text: Type.Optional(Type.String({ description: "of a sentence" })),
});
export type ChangeReason = Static<typeof ChangeReasonSchema>;

export const ReconciliationChangeSchema = Type.Object({
  id: Type.String(),
  account: Account,
  changedAt: Time,
  before: AnythingByKey,
  after: AnythingByKey,
  reasons: Type.Array(ChangeReasonSchema),
});
export type ReconciliationChange = Static<typeof ReconciliationChangeSchema>;

export const CompletenessOfDaySchema = Type.Object({
  day: Day,
  timeZone: Type.String(),
  today: Day,
  isChecked: Type.Boolean({ description: "false: not checked yet, for any account that was asked for" }),
  accounts: Type.Array(DayResultSchema),
  accountsLeftOut: Count,
  changes: Type.Array(ReconciliationChangeSchema, { description: "newest first" }),
  changesLeftOut: Count,
  gaps: Type.Array(GapSchema),
  nextCursor: TextOrNull,
});
export type CompletenessOfDay = Static<typeof CompletenessOfDaySchema>;

/** GET /api/completeness.csv and /api/completeness.json: the figures of at most COMPLETENESS_DAYS_MAX days. */
export const FiguresQuerySchema = Type.Object({
  from: DayParameter,
  to: DayParameter,
  account: Type.Optional(AccountParameter),
});
export type FiguresQuery = Static<typeof FiguresQuerySchema>;

/** GET /api/completeness/certificate.pdf. */
export const CertificateQuerySchema = Type.Object({
  ...FiguresQuerySchema.properties,
  language: Type.Optional(Type.Enum(["en", "de"], { default: "en" })),
});

/** POST /api/reconciliations. At most RECONCILE_RANGE_DAYS_MAX days, none of them to come. */
export const ReconciliationOrderSchema = Type.Object(
  {
    from: DayParameter,
    to: DayParameter,
    repair: Type.Boolean({ description: "file what is found to be missing" }),
  },
  { additionalProperties: false },
);
export type ReconciliationOrder = Static<typeof ReconciliationOrderSchema>;

const RUN = {
  id: Type.String(),
  from: Day,
  to: Day,
  repair: Type.Boolean(),
  name: Type.String({ description: "who ordered it" }),
};

export const ReconciliationRunSchema = Type.Object({
  ...RUN,
  state: Type.Enum(["running", "finished", "failed"]),
  startedAt: Time,
  finishedAt: TimeOrNull,
  calls: Type.Integer({ minimum: 0, description: "calls of SendGrid's API so far" }),
  progress: Type.Union([Type.Object({ done: Count, total: Count }), Type.Null()], {
    description: "how many of its days, of all accounts, are done",
  }),
  error: TextOrNull,
});
export type ReconciliationRun = Static<typeof ReconciliationRunSchema>;

/** GET /api/reconciliations, newest first; before them the orders that nobody has begun. */
export const ReconciliationQuerySchema = Type.Object({
  cursor: Type.Optional(Type.String({ maxLength: 64 })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: PAGE_ROWS_MAX, default: PAGE_ROWS_DEFAULT })),
});

export const ReconciliationListSchema = Type.Object({
  orders: Type.Array(Type.Object({ ...RUN, orderedAt: Time })),
  runs: Type.Array(ReconciliationRunSchema),
  nextCursor: TextOrNull,
});
export type ReconciliationList = Static<typeof ReconciliationListSchema>;
