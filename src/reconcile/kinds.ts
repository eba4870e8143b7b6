/** What a day is counted by: the webhook's types, with the blocks apart from the bounces. */
export const KINDS = [
  "processed",
  "deferred",
  "delivered",
  "bounce",
  "blocked",
  "dropped",
  "open",
  "click",
  "spamreport",
  "unsubscribe",
  "group_unsubscribe",
  "group_resubscribe",
] as const;
export type Kind = (typeof KINDS)[number];

/** The webhook's types of these kinds. */
export const TYPES: readonly string[] = KINDS.filter((kind) => kind !== "blocked");

/** The kind of a row of events. The same rule is `kindOf`. */
export const KIND_SQL =
  "CASE WHEN type = 'bounce' AND detail->>'type' IN ('blocked', 'expired') THEN 'blocked' ELSE type END";

/** The kind of an event; undefined for those that are not counted, which SendGrid may add at any time. */
export function kindOf(type: string, bounceType: unknown): Kind | undefined {
  if (type === "bounce" && (bounceType === "blocked" || bounceType === "expired")) return "blocked";
  return KINDS.find((kind) => kind === type);
}
