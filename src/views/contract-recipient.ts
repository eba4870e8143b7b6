import Type, { type Static } from "typebox";
import { RECIPIENT_CHARS_MAX } from "../limits.ts";
import { AnythingByKey, Count, SimulatedSchema, Time, TimeOrNull } from "./contract.ts";

/** Everything about one person: what was sent, how it arrived, and whether SendGrid still sends. */

/** GET /api/recipients/:address. Case does not matter. */
export const RecipientParamsSchema = Type.Object({
  address: Type.String({ minLength: 1, maxLength: RECIPIENT_CHARS_MAX, description: "percent-encoded" }),
});
export const RecipientQuerySchema = Type.Object({
  source: Type.Optional(Type.String({ maxLength: 63 })),
  simulated: Type.Optional(SimulatedSchema),
});

/** Why SendGrid drops mails to an address, as far as this ledger's own events tell. */
export const SuppressionSchema = Type.Object({
  kind: Type.Enum(["bounced", "complaint", "unsubscribed", "group_unsubscribed", "invalid"], {
    description: "group_unsubscribed concerns one unsubscribe group and not every mail",
  }),
  since: Time,
  source: Type.String(),
  message: Type.String({ description: "as MessageSummary.id" }),
  event: Type.Object({ type: Type.String(), detail: AnythingByKey }),
  endedAt: Type.Union([Time, Type.Null()], {
    description: "a later mail was delivered, or the person came back: the address is no longer suppressed for this",
  }),
});
export type Suppression = Static<typeof SuppressionSchema>;

export const RecipientSchema = Type.Object({
  address: Type.String(),
  messages: Type.Integer({ minimum: 0, description: "those that are summed up here: the newest 1,000 at most" }),
  hasMore: Type.Boolean({ description: "there are older messages, which are not counted here" }),
  byDelivery: Type.Object({
    unknown: Count,
    processed: Count,
    deferred: Count,
    delivered: Count,
    dropped: Count,
    blocked: Count,
    bounced: Count,
  }),
  opened: Count,
  clicked: Count,
  firstEventAt: TimeOrNull,
  lastEventAt: TimeOrNull,
  lastDeliveredAt: TimeOrNull,
  lastOpenAt: Type.Union([Time, Type.Null()], { description: "by a person" }),
  suppressions: Type.Array(SuppressionSchema, { description: "newest first, those that ended last" }),
});
export type Recipient = Static<typeof RecipientSchema>;
