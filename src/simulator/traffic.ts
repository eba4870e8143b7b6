import { createHash } from "node:crypto";
import { createLife, type Copy } from "./life.ts";
import { mailOf, type MailKind } from "./mail.ts";
import { harden } from "./poison.ts";
import { createRandom, type Random } from "./random.ts";
import type { WireEvent } from "./truth.ts";
import { COMPANIES, FIRST_NAMES, LAST_NAMES } from "./vocabulary.ts";
import { encodeItem } from "./wire.ts";

/**
 * What decides the traffic's content. Equal options give equal bytes; any difference gives other mails with other ids.
 * Where only the start differs, everything else is alike: as many events of each kind, at the same distance from it.
 */
export interface TrafficOptions {
  seed: string;
  /** Unix seconds: no event is earlier. */
  startSeconds: number;
  /** No event is later than the start and this. */
  periodSeconds: number;
  /** How many events, not counting twins. */
  events: number;
  /** Re-delivers some events under another sg_event_id. */
  twins: boolean;
  /** Leaves out the ids that SendGrid is known to leave out. */
  missingIds: boolean;
  /** Puts characters and values into some events that are hard to store, and must be stored. */
  poison: boolean;
}

export interface SimulatedEvent {
  /** Its number within the traffic, from 0, twins included: the manifest's name for it. */
  index: number;
  /** What is posted. */
  wire: WireEvent;
  /** What SendGrid itself knows, ids and all; undefined for a twin, which is no new fact. */
  truth: WireEvent | undefined;
  atSeconds: number;
}

/** All events of one mail copy, or fewer for the last. */
export interface SimulatedMessage {
  messageId: string;
  sentAtSeconds: number;
  events: SimulatedEvent[];
}

/** The mean over many messages; only used to spread the sends over the period. */
const EVENTS_PER_SEND = 3.6;
/** Follow-ups need room after the last send. */
const SENDING_SHARE = 0.92;
const TWIN_SHARE = 0.01;
const MESSAGES_PER_CUSTOMER = 4;
const USER_ID = 4_711_023;

/** The traffic, send by send in the order of time. Each call starts again from the beginning with the same messages. */
export function* simulateMessages(options: TrafficOptions): Generator<SimulatedMessage> {
  const { startSeconds, ...rest } = options;
  const identity = createHash("sha256").update(encodeItem(rest)).digest("hex");
  const sendsEstimate = Math.max(1, Math.ceil(options.events / EVENTS_PER_SEND));
  let index = 0;
  let left = options.events;
  for (let send = 0; left > 0; send += 1) {
    const random = createRandom(`${identity} send ${send}`, String(startSeconds));
    // An estimate that was too low wraps: the last sends then belong to the period's beginning and simply come late.
    const place = ((send + random.next()) / sendsEstimate) % 1;
    const sentAtSeconds = startSeconds + Math.floor(place * options.periodSeconds * SENDING_SHARE);
    for (const copy of copiesOf(random, identity, send, sendsEstimate)) {
      const life = createLife(random, copy, sentAtSeconds).filter(
        (event) => event.atSeconds <= startSeconds + options.periodSeconds,
      );
      const events: SimulatedEvent[] = [];
      for (const { wire: truth, atSeconds, isAsync } of life.slice(0, left)) {
        const full = options.poison ? harden(random, truth) : truth;
        const wire = options.missingIds ? withoutIds(random, full, isAsync) : full;
        events.push({ index, wire, truth: full, atSeconds });
        index += 1;
        left -= 1;
        if (!options.twins || !random.chance(TWIN_SHARE) || typeof wire["sg_event_id"] !== "string") continue;
        events.push({ index, wire: { ...wire, sg_event_id: random.id() }, truth: undefined, atSeconds });
        index += 1;
      }
      if (events.length > 0) yield { messageId: copy.messageId, sentAtSeconds, events };
      if (left === 0) return;
    }
  }
}

/** The copies of one send: an API request with one recipient, or some for an invoice. */
function copiesOf(random: Random, identity: string, send: number, sendsEstimate: number): Copy[] {
  const kind = random.weighted<MailKind>([
    [25, "registration"],
    [30, "password_reset"],
    [45, "invoice"],
  ]);
  const customer = random.between(0, Math.ceil(sendsEstimate / MESSAGES_PER_CUSTOMER));
  const recipients = kind === "invoice" && random.chance(0.08) ? random.between(2, 3) : 1;
  const args: Record<string, string> = { customer_id: `C-${100_000 + customer}`, mail_kind: kind };
  if (kind === "invoice") args["order_id"] = `SO-${1_000_000 + send}`;
  // A registration's category is one string and the others' a list, since SendGrid echoes whatever the sender wrote.
  const category = kind === "registration" ? kind : [kind, "transactional"];
  const sendId = random.id();
  const server = `recvd-${random.bytes(5).toString("hex")}-${letters(random, 5)}-${random.between(1, 9)}-${hex(random, 8)}-${hex(random, 2)}`;
  const { templateId } = mailOf(args, [kind]);
  return Array.from({ length: recipients }, (_copy, place) => ({
    kind,
    args,
    category,
    templateId,
    sendId,
    messageId: `${sendId}.${server}.${place}`,
    smtpId: `<${sendId}@geopod-ismtpd-${1 + (send % 40)}>`,
    place,
    userId: USER_ID,
    recipient: recipientOf(identity, customer, place),
  }));
}

/** The same customer always has the same people, so that a search by address finds more than one mail. */
function recipientOf(identity: string, customer: number, place: number): string {
  const random = createRandom(`${identity} customer ${customer}`);
  const company = random.pick(COMPANIES);
  const people = [0, 1, 2].map(() => `${random.pick(FIRST_NAMES)}.${random.pick(LAST_NAMES)}`);
  return `${people[place] ?? "orders"}${customer}@${company}`;
}

/**
 * Known holes: a bounce long after the delivery names no message (the key absent, null or ""), and older unsubscribe
 * events have no sg_event_id.
 */
function withoutIds(random: Random, event: WireEvent, isAsync: boolean): WireEvent {
  if (isAsync) {
    const { sg_message_id: _left, ...rest } = event;
    return random.pick<WireEvent>([rest, { ...rest, sg_message_id: null }, { ...rest, sg_message_id: "" }]);
  }
  if (!["unsubscribe", "group_unsubscribe", "group_resubscribe"].includes(String(event["event"]))) return event;
  const { sg_event_id: _left, ...rest } = event;
  return rest;
}

function letters(random: Random, count: number): string {
  return Array.from({ length: count }, () => "bcdfghjklmnpqrstvwxz2456789"[random.between(0, 26)]).join("");
}

function hex(random: Random, bytes: number): string {
  return random
    .bytes(bytes / 2)
    .toString("hex")
    .toUpperCase();
}
