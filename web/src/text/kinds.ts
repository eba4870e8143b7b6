import type { Delivery } from "../../../src/views/contract.ts";

/** Colour and shape of a state. Each colour has its own shapes, so that nothing depends on colour alone. */
export type Tone = "ok" | "way" | "late" | "bad" | "complaint" | "unknown";
export type Shape = "full" | "ring" | "half" | "quarter" | "triangle" | "square" | "minus";

export interface Mark {
  tone: Tone;
  shape: Shape;
}

/** The kinds of events the page has words for (i18n `kind.…`). */
export const KINDS = [
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
  "group_unsubscribe",
  "group_resubscribe",
  "account_status_change",
  "other",
] as const;
export type Kind = (typeof KINDS)[number];

const MARKS: Readonly<Record<Kind, Mark>> = {
  processed: { tone: "way", shape: "half" },
  deferred: { tone: "late", shape: "quarter" },
  delivered: { tone: "ok", shape: "full" },
  bounce: { tone: "bad", shape: "triangle" },
  blocked: { tone: "bad", shape: "triangle" },
  dropped: { tone: "bad", shape: "triangle" },
  open: { tone: "ok", shape: "ring" },
  machine_open: { tone: "unknown", shape: "ring" },
  click: { tone: "ok", shape: "ring" },
  spamreport: { tone: "complaint", shape: "square" },
  unsubscribe: { tone: "complaint", shape: "minus" },
  group_unsubscribe: { tone: "complaint", shape: "minus" },
  group_resubscribe: { tone: "unknown", shape: "ring" },
  account_status_change: { tone: "late", shape: "square" },
  other: { tone: "unknown", shape: "ring" },
};

/** Which kind an event is: SendGrid's `bounce` is two things, and so is its `open`. */
export function kindOf(type: string, detail: Readonly<Record<string, unknown>>): Kind {
  if (type === "bounce") return detail["type"] === "blocked" || detail["type"] === "expired" ? "blocked" : "bounce";
  if (type === "open") return isMachineOpen(detail) ? "machine_open" : "open";
  return KINDS.find((kind) => kind === type) ?? "other";
}

// The flag is documented as a boolean; types drift, so its text form counts too.
function isMachineOpen(detail: Readonly<Record<string, unknown>>): boolean {
  const flag = detail["sg_machine_open"];
  return flag === true || flag === "true" || flag === 1;
}

export function markOfKind(kind: Kind): Mark {
  return MARKS[kind];
}

const DELIVERY_MARKS: Readonly<Record<Delivery, Mark>> = {
  unknown: { tone: "unknown", shape: "ring" },
  processed: MARKS.processed,
  deferred: MARKS.deferred,
  delivered: MARKS.delivered,
  dropped: MARKS.dropped,
  blocked: MARKS.blocked,
  bounced: MARKS.bounce,
};

export function markOfDelivery(delivery: Delivery): Mark {
  return DELIVERY_MARKS[delivery];
}
