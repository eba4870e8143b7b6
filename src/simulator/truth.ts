import { mailOf } from "./mail.ts";

/**
 * What the double of SendGrid knows by itself: every event it was told of, each once, and what follows from them.
 * It never looks at the ledger, so that the two can disagree.
 */

/** An event in the webhook's form: what a POST holds as one item. */
export type WireEvent = Record<string, unknown>;

export interface TruthEvent {
  type: string;
  /** Unix seconds. */
  at: number;
  wire: WireEvent;
  /** Milliseconds by the double's clock when it heard of it. */
  heardAtMs: number;
}

export interface TruthMessage {
  id: string;
  to: string;
  from: string;
  subject: string;
  templateId: string;
  categories: readonly string[];
  args: Readonly<Record<string, string>>;
  asmGroupId: number | undefined;
  events: TruthEvent[];
  /** Unix seconds: the moment SendGrid took the request, shortly before the first event. It does not move. */
  createdAt: number;
  /** Unix seconds of the latest event. It moves whenever something happens. */
  lastEventAt: number;
  /** Milliseconds by the double's clock when it first heard of the message: the APIs show it some time later. */
  heardAtMs: number;
}

export interface Truth {
  record(event: WireEvent, nowMs: number): void;
  message(id: string): TruthMessage | undefined;
  /** Newest first. Both ends are milliseconds and included. */
  between(by: "createdAt" | "lastEventAt", fromMs: number, toMs: number): Iterable<TruthMessage>;
  /** Every event, also those that name no message. */
  events(): Iterable<{ event: TruthEvent; messageId: string | undefined }>;
  size(): number;
}

/** A message's id is made when the request is taken; `processed` follows a moment later. */
const CREATED_BEFORE_FIRST_EVENT_SECONDS = 1;

/** The keys of the webhook's own vocabulary; any other is a custom arg. */
const SYSTEM_KEYS = new Set(
  (
    "email timestamp event sg_event_id sg_message_id smtp-id category asm_group_id pool send_at reason status message response attempt ip tls cert_err " +
    "domain from type bounce_classification useragent sg_content_type sg_machine_open url url_offset date reseller_id marketing_campaign_id " +
    "marketing_campaign_name marketing_campaign_version marketing_campaign_split_id sg_user_id post_type singlesend_id singlesend_name mc_stats " +
    "phase_id template_id template_version_id template_hash sg_template_id sg_template_name newsletter"
  ).split(" "),
);

export function createTruth(): Truth {
  const messages = new Map<string, TruthMessage>();
  const nameless: TruthEvent[] = [];
  const namelessSeen = new Set<string>();
  const indexes = { createdAt: timeIndex("createdAt", messages), lastEventAt: timeIndex("lastEventAt", messages) };

  function record(wire: WireEvent, nowMs: number): void {
    const event = { type: String(wire["event"]), at: Number(wire["timestamp"]), wire, heardAtMs: nowMs };
    const id = wire["sg_message_id"];
    if (typeof id !== "string" || id === "") {
      const identity = typeof wire["sg_event_id"] === "string" ? wire["sg_event_id"] : JSON.stringify(wire);
      if (!namelessSeen.has(identity)) nameless.push(event);
      namelessSeen.add(identity);
      return;
    }
    const known = messages.get(id);
    const message = known ?? newMessage(id, event, nowMs);
    if (known === undefined) messages.set(id, message);
    else if (isKnown(known, event)) return;
    if (known !== undefined && known.categories.length === 0) describe(known, wire);
    message.events.push(event);
    message.createdAt = Math.min(message.createdAt, event.at - CREATED_BEFORE_FIRST_EVENT_SECONDS);
    message.lastEventAt = Math.max(message.lastEventAt, event.at);
    for (const index of Object.values(indexes)) index.touch();
  }

  return {
    record,
    message: (id) => messages.get(id),
    between: (by, fromMs, toMs) => indexes[by].between(fromMs, toMs),
    *events() {
      for (const message of messages.values()) {
        for (const event of message.events) yield { event, messageId: message.id };
      }
      for (const event of nameless) yield { event, messageId: undefined };
    },
    size: () => messages.size,
  };
}

function newMessage(id: string, event: TruthEvent, nowMs: number): TruthMessage {
  const { wire, at } = event;
  const to = typeof wire["email"] === "string" ? wire["email"] : "";
  const nothing = {
    from: "",
    subject: "",
    templateId: "",
    categories: [],
    args: {},
    asmGroupId: undefined,
    events: [],
  };
  const message: TruthMessage = { id, to, ...nothing, createdAt: at, lastEventAt: at, heardAtMs: nowMs };
  describe(message, wire);
  return message;
}

/** What an event says of its mail. A delayed bounce says nothing; when it is heard of first, a later event does. */
function describe(message: TruthMessage, wire: WireEvent): void {
  const args: Record<string, string> = {};
  for (const [key, value] of Object.entries(wire)) {
    if (!SYSTEM_KEYS.has(key)) args[key] = typeof value === "string" ? value : JSON.stringify(value);
  }
  const category = wire["category"];
  const list: unknown[] = Array.isArray(category) ? category : [category];
  const categories = list.filter((entry) => typeof entry === "string");
  const asmGroupId = typeof wire["asm_group_id"] === "number" ? wire["asm_group_id"] : undefined;
  Object.assign(message, { args, categories, asmGroupId, ...mailOf(args, categories) });
}

/** A second copy of an event, as SendGrid's own retries make them, adds nothing. */
function isKnown(message: TruthMessage, event: TruthEvent): boolean {
  const eventId = event.wire["sg_event_id"];
  if (typeof eventId === "string") return message.events.some((known) => known.wire["sg_event_id"] === eventId);
  const text = JSON.stringify(event.wire);
  return message.events.some((known) => known.wire["sg_event_id"] === undefined && JSON.stringify(known.wire) === text);
}

/** Messages in the order of one of their times. Sorted when it is read, since many events come between two reads. */
function timeIndex(
  by: "createdAt" | "lastEventAt",
  messages: ReadonlyMap<string, TruthMessage>,
): { touch(): void; between(fromMs: number, toMs: number): Iterable<TruthMessage> } {
  let sorted: TruthMessage[] = [];
  let isStale = false;

  function* between(fromMs: number, toMs: number): Iterable<TruthMessage> {
    if (isStale) {
      sorted = [...messages.values()].sort((a, b) => a[by] - b[by] || (a.id < b.id ? -1 : 1));
      isStale = false;
    }
    let low = 0;
    let high = sorted.length;
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      if ((sorted[middle]?.[by] ?? Infinity) * 1000 <= toMs) low = middle + 1;
      else high = middle;
    }
    for (let at = low - 1; at >= 0; at -= 1) {
      const message = sorted[at];
      if (message === undefined || message[by] * 1000 < fromMs) return;
      yield message;
    }
  }

  return {
    touch: () => {
      isStale = true;
    },
    between,
  };
}
