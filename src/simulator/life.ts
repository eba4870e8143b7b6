import type { MailKind } from "./mail.ts";
import type { Random } from "./random.ts";
import type { WireEvent } from "./truth.ts";
import {
  BLOCKS,
  BOUNCES,
  DEFERRED_RESPONSES,
  DELIVERED_RESPONSES,
  DROP_REASONS,
  IP_PREFIXES,
  MACHINE_AGENT,
  PERSON_AGENTS,
  SCANNER_AGENT,
  type Refusal,
} from "./vocabulary.ts";

/** One copy of a mail, to one recipient. */
export interface Copy {
  kind: MailKind;
  args: Readonly<Record<string, string>>;
  category: string | readonly string[];
  templateId: string;
  /** The X-Message-Id of the request: the first part of every copy's message id. */
  sendId: string;
  messageId: string;
  smtpId: string;
  /** The recipient's place in the request, from 0. */
  place: number;
  userId: number;
  recipient: string;
}

export interface LifeEvent {
  wire: WireEvent;
  atSeconds: number;
  /** A bounce that came back long after the mail was taken. */
  isAsync: boolean;
}

interface Habits {
  /** How many of the recipients open, and the median of how many seconds that takes them. */
  opens: number;
  openSeconds: number;
  /** How many of those click. */
  clicks: number;
  links: readonly [string, ...string[]];
}

/** A password reset is wanted at once and clicked; an invoice waits for somebody's morning. */
const HABITS: Record<MailKind, Habits> = {
  registration: {
    opens: 0.6,
    openSeconds: 240,
    clicks: 0.7,
    links: ["https://market.example.com/confirm", "https://market.example.com/welcome/first-order"],
  },
  password_reset: { opens: 0.8, openSeconds: 60, clicks: 0.85, links: ["https://market.example.com/password/reset"] },
  invoice: {
    opens: 0.5,
    openSeconds: 1_500,
    clicks: 0.35,
    links: [
      "https://market.example.com/invoices/download",
      "https://market.example.com/orders/track",
      "https://market.example.com/pay",
    ],
  },
};

const INVOICE_GROUP_ID = 123_456;
const DROPPED_SHARE = 0.02;
const DEFERRED_SHARE = 0.06;
const BOUNCED_SHARE = 0.02;
const BLOCKED_SHARE = 0.012;
const ASYNC_BOUNCE_SHARE = 0.004;
const MACHINE_OPEN_SHARE = 0.3;
const SCANNER_SHARE = 0.03;
const COMPLAINT_SHARE = 0.002;
const UNSUBSCRIBE_SHARE = 0.003;
const GROUP_UNSUBSCRIBE_SHARE = 0.004;
/** Of those who unsubscribed from a group. */
const RESUBSCRIBE_SHARE = 0.3;
/** How often those who open do so. */
const OPENS = [
  [70, 1],
  [22, 2],
  [8, 3],
] as const;
/** The waits of SendGrid's first delivery retries, roughly. */
const DEFERRAL_SECONDS = [60, 300, 900, 1_800];

/** A copy's life while it is being made up. */
interface Life {
  random: Random;
  copy: Copy;
  events: LifeEvent[];
}

interface Happening {
  atSeconds: number;
  type: string;
  /** What a delivery event's id is made of; engagement has none and gets a random id. */
  idKind?: string;
  isAsync?: boolean;
  fields: WireEvent;
}

/** What happens to a copy, from the moment it is sent, in the order of time. */
export function createLife(random: Random, copy: Copy, sentAtSeconds: number): LifeEvent[] {
  const life: Life = { random, copy, events: [] };
  const smtp = { "smtp-id": copy.smtpId };
  if (random.chance(DROPPED_SHARE)) {
    const fields = { ...smtp, reason: random.weighted(DROP_REASONS) };
    add(life, { atSeconds: sentAtSeconds, type: "dropped", idKind: "drop", fields });
    return life.events;
  }
  const fields = { ...smtp, pool: { id: 210, name: "transactional" }, send_at: 0 };
  add(life, { atSeconds: sentAtSeconds, type: "processed", idKind: "processed", fields });
  const deliveredAt = addDelivery(life, sentAtSeconds);
  if (deliveredAt === undefined) return life.events;
  if (random.chance(ASYNC_BOUNCE_SHARE)) addAsyncBounce(life, deliveredAt);
  else addEngagement(life, deliveredAt);
  return life.events.sort((one, other) => one.atSeconds - other.atSeconds);
}

function add(life: Life, happening: Happening): void {
  const { random, copy, events } = life;
  const { atSeconds, type, idKind, isAsync = false, fields } = happening;
  const wire = { ...common(copy, type, atSeconds, isAsync), sg_event_id: eventId(random, copy, idKind), ...fields };
  events.push({ wire, atSeconds, isAsync });
}

/** @returns when the recipient's server took the mail, or undefined when it refused it. */
function addDelivery(life: Life, sentAtSeconds: number): number | undefined {
  const { random, copy } = life;
  const fields = { "smtp-id": copy.smtpId, ip: `198.51.100.${random.between(20, 29)}` };
  const { attempt, atSeconds } = addDeferrals(life, sentAtSeconds + random.between(1, 6), fields);
  const refusal = chooseRefusal(random);
  if (refusal !== undefined) {
    const told = { ...fields, ...refusalFields(life, refusal, atSeconds), tls: 1 };
    // Where no mail server was reached there is neither a status nor an address that reached it.
    const { ip: _left, ...unreached } = told;
    const isReached = refusal.status !== undefined;
    const bounce = isReached ? told : { ...unreached, tls: 0 };
    add(life, { atSeconds, type: "bounce", idKind: `bounce-${attempt}`, fields: bounce });
    return undefined;
  }
  const response = fill(life, random.pick(DELIVERED_RESPONSES), atSeconds);
  add(life, { atSeconds, type: "delivered", idKind: `delivered-${attempt}`, fields: { ...fields, response, tls: 1 } });
  return atSeconds;
}

/** @returns the attempt that is made at last, counted from 0, and its time. */
function addDeferrals(life: Life, firstAt: number, fields: WireEvent): { attempt: number; atSeconds: number } {
  const { random, copy } = life;
  let atSeconds = firstAt;
  if (!random.chance(DEFERRED_SHARE)) return { attempt: 0, atSeconds };
  const deferrals = random.between(1, DEFERRAL_SECONDS.length);
  for (let attempt = 0; attempt < deferrals; attempt += 1) {
    const response = fill(life, random.pick(DEFERRED_RESPONSES), atSeconds);
    const sender = { domain: domainOf(copy), from: "bounces@em.market.example.com" };
    const told = { ...fields, ...sender, response, attempt: String(attempt), tls: 1 };
    add(life, { atSeconds, type: "deferred", idKind: `deferred-${attempt}`, fields: told });
    atSeconds += (DEFERRAL_SECONDS[attempt] ?? 0) + random.between(0, 30);
  }
  return { attempt: deferrals, atSeconds };
}

function chooseRefusal(random: Random): Refusal | undefined {
  if (random.chance(BOUNCED_SHARE)) return random.weighted(BOUNCES);
  return random.chance(BLOCKED_SHARE) ? random.weighted(BLOCKS) : undefined;
}

function refusalFields(life: Life, refusal: Refusal, atSeconds: number): WireEvent {
  const { type, classification, status } = refusal;
  const reason = fill(life, refusal.reason, atSeconds);
  return { type, reason, bounce_classification: classification, ...(status === undefined ? {} : { status }) };
}

/** A bounce that comes back after the mail was taken: without an address, and without the mail's own args. */
function addAsyncBounce(life: Life, deliveredAt: number): void {
  const atSeconds = deliveredAt + life.random.delay(900);
  const fields = refusalFields(life, life.random.weighted(BOUNCES), atSeconds);
  add(life, { atSeconds, type: "bounce", idKind: "bounce-0", isAsync: true, fields });
}

function addEngagement(life: Life, deliveredAt: number): void {
  const { random, copy } = life;
  const habits = HABITS[copy.kind];
  if (random.chance(SCANNER_SHARE)) {
    const fields = { ...clickFields(random, habits), useragent: SCANNER_AGENT, ip: personIp(random) };
    add(life, { atSeconds: deliveredAt + 2, type: "click", fields });
  }
  if (random.chance(MACHINE_OPEN_SHARE)) {
    const fields = { useragent: MACHINE_AGENT, ip: personIp(random), sg_content_type: "html", sg_machine_open: true };
    add(life, { atSeconds: deliveredAt + random.between(2, 90), type: "open", fields });
  }
  if (!random.chance(habits.opens)) return;
  const person = { useragent: random.pick(PERSON_AGENTS), ip: personIp(random) };
  let atSeconds = deliveredAt + random.delay(habits.openSeconds);
  const opens = random.weighted(OPENS);
  for (let open = 0; open < opens; open += 1) {
    add(life, { atSeconds, type: "open", fields: { ...person, sg_content_type: "html" } });
    if (open === 0) addReaction(life, atSeconds, person);
    atSeconds += random.delay(1_200);
  }
}

/** What a person does with a mail that stands open. */
function addReaction(life: Life, openedAt: number, person: WireEvent): void {
  const { random, copy } = life;
  const habits = HABITS[copy.kind];
  if (random.chance(habits.clicks)) {
    const fields = { ...clickFields(random, habits), ...person };
    add(life, { atSeconds: openedAt + random.delay(15), type: "click", fields });
  }
  if (random.chance(COMPLAINT_SHARE)) {
    add(life, { atSeconds: openedAt + random.delay(30), type: "spamreport", fields: {} });
  }
  if (random.chance(UNSUBSCRIBE_SHARE)) {
    const atSeconds = openedAt + random.delay(40);
    const date = new Date(atSeconds * 1000).toISOString().slice(0, 10);
    add(life, { atSeconds, type: "unsubscribe", fields: { ...person, date } });
  }
  if (copy.kind !== "invoice" || !random.chance(GROUP_UNSUBSCRIBE_SHARE)) return;
  const atSeconds = openedAt + random.delay(40);
  const fields = { ...person, url: "https://market.example.com/preferences" };
  add(life, { atSeconds, type: "group_unsubscribe", fields });
  if (!random.chance(RESUBSCRIBE_SHARE)) return;
  add(life, { atSeconds: atSeconds + random.delay(60), type: "group_resubscribe", fields });
}

function common(copy: Copy, type: string, atSeconds: number, isAsync: boolean): WireEvent {
  const wire: WireEvent = { email: copy.recipient, event: type, timestamp: atSeconds, sg_message_id: copy.messageId };
  // A bounce that comes back later carries neither custom args nor categories.
  if (isAsync) return wire;
  const group = copy.kind === "invoice" ? { asm_group_id: INVOICE_GROUP_ID } : {};
  const template = { sg_template_id: copy.templateId, sg_template_name: copy.kind };
  return { ...copy.args, ...wire, category: copy.category, ...group, ...template };
}

/** Delivery events have ids made from what they are about; those of engagement are random. */
function eventId(random: Random, copy: Copy, kind: string | undefined): string {
  if (kind === undefined) return random.id();
  return Buffer.from(`${kind}-${copy.userId}-${copy.sendId}-${copy.place}`).toString("base64url");
}

function clickFields(random: Random, habits: Habits): WireEvent {
  const index = random.between(0, habits.links.length - 1);
  return {
    url: `${habits.links[index] ?? habits.links[0]}?ref=${random.bytes(6).toString("hex")}`,
    url_offset: { index, type: "html" },
  };
}

function fill(life: Life, text: string, atSeconds: number): string {
  const { random, copy } = life;
  return text
    .replaceAll("%t", String(atSeconds))
    .replaceAll("%h", random.bytes(9).toString("hex"))
    .replaceAll("%d", domainOf(copy));
}

function domainOf(copy: Copy): string {
  return copy.recipient.slice(copy.recipient.indexOf("@") + 1);
}

function personIp(random: Random): string {
  return random.weighted([
    [90, `${random.pick(IP_PREFIXES)}${random.between(1, 254)}`],
    [9, `2001:db8::${random.between(1, 0xffff).toString(16)}`],
    [1, "unknown"],
  ]);
}
