import type { ReasonRow } from "../ledger/read-recipient.ts";
import type { Suppression } from "./contract-recipient.ts";

export type SuppressionKind = Suppression["kind"];

/** A reason why SendGrid stops sending, from its first sign on. */
export interface FoundSuppression {
  kind: SuppressionKind;
  /** The event that says it best: the one that caused it, else a drop that names it. */
  event: ReasonRow;
  /** The latest event that shows it: a drop, or the cause itself. */
  lastSignAt: Date;
  /** When the person came back, as far as an event says so. */
  endedAt: Date | undefined;
}

/** SendGrid names in a drop the list that an address is on. */
const KIND_OF_DROP: readonly (readonly [RegExp, SuppressionKind])[] = [
  [/^bounced address/i, "bounced"],
  [/^spam reporting address/i, "complaint"],
  [/^unsubscribed address/i, "unsubscribed"],
  [/^invalid( address)?$/i, "invalid"],
];

/**
 * Says from the events of an address (newest first) which of SendGrid's suppression lists it was put on. A block or an
 * expiry puts it on none.
 */
export function findSuppressions(reasons: readonly ReasonRow[]): FoundSuppression[] {
  const found = new Map<SuppressionKind, FoundSuppression>();
  let cameBackAt: Date | undefined;
  for (const event of reasons) {
    if (event.type === "group_resubscribe") cameBackAt ??= event.occurredAt;
    const kind = kindOf(event);
    if (kind === undefined) continue;
    const known = found.get(kind);
    if (known === undefined) {
      const endedAt = kind === "group_unsubscribed" ? cameBackAt : undefined;
      found.set(kind, { kind, event, lastSignAt: event.occurredAt, endedAt });
    } else if (known.event.type === "dropped") {
      // The list goes back in time: what caused the drops stands before them and says it better.
      known.event = event;
    }
  }
  return [...found.values()].sort((a, b) => b.event.occurredAt.getTime() - a.event.occurredAt.getTime());
}

function kindOf({ type, detail }: ReasonRow): SuppressionKind | undefined {
  switch (type) {
    case "bounce":
      return detail["type"] === "blocked" || detail["type"] === "expired" ? undefined : "bounced";
    case "spamreport":
      return "complaint";
    case "unsubscribe":
      return "unsubscribed";
    case "group_unsubscribe":
      return "group_unsubscribed";
    case "dropped": {
      const { reason } = detail;
      return typeof reason === "string"
        ? KIND_OF_DROP.find(([pattern]) => pattern.test(reason.trim()))?.[1]
        : undefined;
    }
    default:
      return undefined;
  }
}

/** A mail that arrives is no proof for a group: it may belong to another one. */
export function endsByDelivery(kind: SuppressionKind): boolean {
  return kind !== "group_unsubscribed";
}
