import Type, { type Static } from "typebox";
import { AnythingByKey, Count, ErrorSchema, SimulatedSchema, TextOrNull, Time, TimeOrNull } from "./contract.ts";

/** What is happening now: the live stream, the course of the last time, and what is said while the database is away. */

/** How much is shown of the course of events, and in buckets of 10 s, 5 min and 2 h. */
export const RATE_SPANS = ["15min", "24h", "30d"] as const;
export type RateSpan = (typeof RATE_SPANS)[number];

/** GET /api/rates. */
export const RateQuerySchema = Type.Object({
  span: Type.Optional(Type.Enum([...RATE_SPANS], { default: "15min" })),
  source: Type.Optional(Type.String({ maxLength: 63 })),
  simulated: Type.Optional(SimulatedSchema),
});

/** Events newly stored in one bucket, by the time of filing; re-deliveries are not counted. */
export const RatePointSchema = Type.Object({
  at: Type.String({ format: "date-time", description: "the beginning of the bucket" }),
  processed: Count,
  deferred: Count,
  delivered: Count,
  failed: Type.Integer({ minimum: 0, description: "bounces, blocks and drops" }),
  engaged: Type.Integer({ minimum: 0, description: "opens and clicks, machines' too" }),
  objected: Type.Integer({ minimum: 0, description: "complaints and unsubscribes" }),
  other: Count,
  retries: Type.Integer({ minimum: 0, description: "writes that met a deadlock and were tried again" }),
});
export type RatePoint = Static<typeof RatePointSchema>;

export const RatesSchema = Type.Object({
  stepSeconds: Type.Integer({ minimum: 1 }),
  from: Time,
  to: Time,
  points: Type.Array(RatePointSchema, { description: "oldest first, without the buckets in which nothing happened" }),
});
export type Rates = Static<typeof RatesSchema>;

/**
 * GET /readyz while the database is away. `spool` is what this process took and refused meanwhile: SendGrid sends it
 * again until `givesUpAt`, 24 hours after the oldest event in it, and Holdfast files its own copy as soon as it can.
 */
export const NotReadySchema = Type.Object({
  ...ErrorSchema.properties,
  spool: Type.Object({
    posts: Count,
    bytes: Count,
    oldestEventAt: TimeOrNull,
    givesUpAt: TimeOrNull,
  }),
});
export type NotReady = Static<typeof NotReadySchema>;

/** One event as the live stream announces it. */
export const LiveEventSchema = Type.Object({
  message: Type.String({ description: "as MessageSummary.id" }),
  eventId: Type.String(),
  type: Type.String(),
  occurredAt: Time,
  recipient: TextOrNull,
  subject: TextOrNull,
  source: Type.String(),
  simulated: Type.Boolean(),
  twin: Type.Boolean(),
  /** Empty when it has more than 2 KiB. */
  detail: AnythingByKey,
});
export type LiveEvent = Static<typeof LiveEventSchema>;

export const LiveQuerySchema = Type.Object({
  from: Type.Optional(Type.String({ maxLength: 40 })),
  source: Type.Optional(Type.String({ maxLength: 63 })),
  simulated: Type.Optional(SimulatedSchema),
});

/**
 * GET /api/live, Server-Sent Events. Query: `from` (start of the balance, taken back to its full hour; default: the
 * last 24 hours), `source`, `simulated`.
 * - `event: balance`, data Balance: at once, then whenever it changes, at most once a second.
 * - `event: status`, data Status: at once, then whenever it changes, at most once a second.
 * - `event: rates`, data Rates: the latest buckets of 10 seconds, which replace those a page has from `GET /api/rates`.
 * - `event: events`, data LiveEvents, with an `id`: at once (the latest, with `reset` true), then as they are filed.
 *   A client that returns with Last-Event-ID gets what it missed (no message when that is nothing); when that is no
 *   longer known (another start of the process, too long away), `reset` is true and the list is the latest events, to
 *   be shown instead of the old ones.
 * - `event: end` with data `{}` when the service stops or the session has ended: then the connection closes. A browser
 *   connects again by itself and gets 401 when it was the session.
 */
export const LiveEventsSchema = Type.Object({
  reset: Type.Boolean(),
  events: Type.Array(LiveEventSchema, { description: "oldest first" }),
  skipped: Type.Integer({
    minimum: 0,
    description: "filed since the last message, in any source, but not sent: more came than a page can show",
  }),
});
export type LiveEvents = Static<typeof LiveEventsSchema>;
