import type { ParsedEvent } from "./event.ts";

/** What tells of an event whether it is the one that another record tells of. */
export type Seen = Pick<ParsedEvent, "eventId" | "type" | "occurredAtMs" | "recipient" | "detail">;

/** Whether the event's id is SendGrid's own, and not our fingerprint of its content. */
export function hasOwnId({ eventId }: Pick<ParsedEvent, "eventId">): boolean {
  return !eventId.startsWith("fp:");
}

/**
 * Whether two records of one message tell of the same event. Two ids of SendGrid's decide. Where one has none (the
 * Messages API and the CSV export have no ids), type, second and recipient must agree, and the url where both have one.
 */
export function isSameEvent(a: Seen, b: Seen): boolean {
  if (a.eventId === b.eventId) return true;
  if (hasOwnId(a) && hasOwnId(b)) return false;
  return a.type === b.type && secondOf(a) === secondOf(b) && addressOf(a) === addressOf(b) && mayShareUrl(a, b);
}

function secondOf({ occurredAtMs }: Seen): number {
  return Math.floor(occurredAtMs / 1000);
}

function addressOf({ recipient }: Seen): string | undefined {
  return recipient?.toLowerCase();
}

function mayShareUrl(a: Seen, b: Seen): boolean {
  const [one, other] = [a.detail["url"], b.detail["url"]];
  return typeof one !== "string" || typeof other !== "string" || one === other;
}
