/**
 * What a refusal means, in a word the languages have sentences for (i18n `explain.WORD.what` and `.todo`).
 * Servers say it in four ways of falling trust: an enhanced status code (RFC 3463 and its registry), SendGrid's own
 * drop reason or bounce classification, a basic SMTP code, and prose. The first that says something definite wins.
 */

export const EXPLANATIONS = [
  "no_mailbox",
  "no_domain",
  "no_mail_domain",
  "bad_address",
  "moved",
  "sender_refused",
  "mailbox_disabled",
  "mailbox_full",
  "too_large",
  "list_problem",
  "mailbox_unavailable",
  "server_full",
  "server_trouble",
  "unreachable",
  "gave_up",
  "loop",
  "protocol",
  "content",
  "policy",
  "authentication",
  "reverse_dns",
  "too_many",
  "reputation",
  "relay",
  "greylisted",
  "busy",
  "technical",
  "unclear",
  "drop_bounced",
  "drop_unsubscribed",
  "drop_spam_report",
  "drop_invalid",
  "drop_spam_content",
  "drop_header",
  "drop_quota",
  "drop_other",
] as const;
export type Explanation = (typeof EXPLANATIONS)[number];

/** What a bounce, a deferral or a drop says about itself. Everything is free text from outside. */
export interface Refusal {
  event: "bounce" | "deferred" | "dropped";
  status: string | undefined;
  reason: string | undefined;
  response: string | undefined;
  classification: string | undefined;
}

// Subject and detail of an enhanced status code; the class (4 or 5) only says whether to try again.
const ENHANCED: Readonly<Record<string, Explanation>> = {
  "1.0": "no_mailbox",
  "1.1": "no_mailbox",
  "1.2": "no_domain",
  "1.3": "bad_address",
  "1.4": "bad_address",
  "1.6": "moved",
  "1.7": "sender_refused",
  "1.8": "sender_refused",
  "1.10": "no_mail_domain",
  "2.0": "mailbox_unavailable",
  "2.1": "mailbox_disabled",
  "2.2": "mailbox_full",
  "2.3": "too_large",
  "2.4": "list_problem",
  "3.0": "server_trouble",
  "3.1": "server_full",
  "3.2": "server_trouble",
  "3.3": "server_trouble",
  "3.4": "too_large",
  "3.5": "server_trouble",
  "4.0": "unreachable",
  "4.1": "unreachable",
  "4.2": "unreachable",
  "4.3": "unreachable",
  "4.4": "unreachable",
  "4.5": "busy",
  "4.6": "loop",
  "4.7": "gave_up",
  "5.0": "protocol",
  "5.1": "protocol",
  "5.2": "protocol",
  "5.3": "too_many",
  "5.4": "protocol",
  "6.0": "content",
  "6.1": "content",
  "6.3": "content",
  "6.6": "content",
  "7.2": "list_problem",
  "7.20": "authentication",
  "7.21": "authentication",
  "7.22": "authentication",
  "7.23": "authentication",
  "7.24": "authentication",
  "7.25": "reverse_dns",
  "7.26": "authentication",
  "7.27": "no_mail_domain",
  "7.28": "too_many",
  "7.29": "authentication",
};

const DROPS: readonly (readonly [RegExp, Explanation])[] = [
  [/^bounced address/i, "drop_bounced"],
  [/^unsubscribed address/i, "drop_unsubscribed"],
  [/^spam reporting address/i, "drop_spam_report"],
  [/^invalid smtpapi header/i, "drop_header"],
  [/^invalid( address)?$/i, "drop_invalid"],
  [/^spam content/i, "drop_spam_content"],
  [/package quota/i, "drop_quota"],
];

const CLASSIFICATIONS: readonly (readonly [RegExp, Explanation])[] = [
  [/^content$/i, "content"],
  [/^frequency/i, "too_many"],
  [/^invalid( address)?$/i, "no_mailbox"],
  [/^mailbox unavailable$/i, "mailbox_unavailable"],
  [/^reputation$/i, "reputation"],
  [/^technical/i, "technical"],
];

// Phrases that say more than the code beside them, or the opposite of it: Exchange Online uses 5.1.10 and 5.4.1 for a
// mailbox that does not exist, and Gmail 4.2.1 for one that gets too much at once.
const DECISIVE_PHRASES: readonly (readonly [RegExp, Explanation])[] = [
  [/unable to get mx.*(server misbehaving|timed? ?out)/i, "unreachable"],
  [/unable to get mx|no mx\b|domain (name )?not found|host (or domain name )?not found|nxdomain/i, "no_domain"],
  [/RESOLVER\.ADR|recipient not found/i, "no_mailbox"],
  [/5\.4\.1\b.*recipient address rejected: access denied/i, "no_mailbox"],
  [/receiving mail (at a rate|too quickly)/i, "too_many"],
];

// Only phrases that many servers share and that say more than their code does.
const PHRASES: readonly (readonly [RegExp, Explanation])[] = [
  [/grey-?list|graylist/i, "greylisted"],
  [/mailbox (is )?full|over ?quota|quota exceeded|out of storage|insufficient storage/i, "mailbox_full"],
  [
    /user unknown|unknown user|no such (user|mailbox|recipient)|does not exist|recipient (address )?rejected: user/i,
    "no_mailbox",
  ],
  [/relay(ing)? (access )?denied|unable to relay/i, "relay"],
  [/spamhaus|spamcop|barracuda|block ?list|black ?list|\bdnsbl\b|\brbl\b|poor reputation/i, "reputation"],
  [/\b(dmarc|dkim|spf)\b/i, "authentication"],
  [/rate limit|too many (messages|connections)|throttl/i, "too_many"],
  [/message (size )?(is )?too (large|big)|exceeds (the )?(maximum )?(message )?size/i, "too_large"],
  [/looks like spam|spam (detected|message)|message content rejected/i, "content"],
  [/timed? ?out|connection (refused|reset)|unreachable/i, "unreachable"],
];

const BASIC: Readonly<Record<string, Explanation>> = {
  "421": "busy",
  "450": "busy",
  "451": "busy",
  "452": "mailbox_full",
  "455": "busy",
  "500": "protocol",
  "501": "bad_address",
  "502": "protocol",
  "503": "protocol",
  "521": "no_mail_domain",
  "541": "content",
  "550": "mailbox_unavailable",
  "551": "relay",
  "552": "mailbox_full",
  "553": "bad_address",
  "554": "policy",
  "556": "no_mail_domain",
};

// 7.0 and 7.1 are what servers say when they do not want to say: anything more definite goes before them.
const POLICY = /^[45]\.7\.\d{1,3}$/;

function firstMatch(text: string, table: readonly (readonly [RegExp, Explanation])[]): Explanation | undefined {
  return table.find(([pattern]) => pattern.test(text))?.[1];
}

/** The enhanced code of a refusal, such as 5.2.2: its status, or the first in the server's words. */
function enhancedCode(refusal: Refusal): string | undefined {
  const pattern = /(?:^|[\s(#:-])([245]\.\d{1,3}\.\d{1,3})(?![.\d])/;
  for (const text of [refusal.status, refusal.reason, refusal.response]) {
    const code = text === undefined ? undefined : pattern.exec(text.slice(0, 500))?.[1];
    if (code !== undefined) return code;
  }
  return undefined;
}

/** The basic code of a refusal, such as 552. */
function basicCode(refusal: Refusal): string | undefined {
  for (const text of [refusal.reason, refusal.response, refusal.status]) {
    const code =
      text === undefined ? undefined : /^\s*(?:smtp[; ]*)?([45]\d\d)(?!\d|\.)/i.exec(text.slice(0, 100))?.[1];
    if (code !== undefined) return code;
  }
  return undefined;
}

/** The code a person can look up: the enhanced one where there is one. */
export function shownCode(refusal: Refusal): string | undefined {
  const enhanced = enhancedCode(refusal);
  return enhanced !== undefined && !enhanced.endsWith(".0.0") ? enhanced : basicCode(refusal);
}

export function explain(refusal: Refusal): Explanation {
  const words = `${refusal.reason ?? ""} ${refusal.response ?? ""}`.slice(0, 2_000);
  if (refusal.event === "dropped") return firstMatch((refusal.reason ?? "").trim(), DROPS) ?? "drop_other";

  const decisive = firstMatch(words, DECISIVE_PHRASES);
  if (decisive !== undefined) return decisive;
  const enhanced = enhancedCode(refusal);
  const byCode = enhanced === undefined ? undefined : ENHANCED[enhanced.slice(2)];
  if (byCode !== undefined && byCode !== "mailbox_unavailable") return byCode;

  const byPhrase = firstMatch(words, PHRASES);
  if (byPhrase !== undefined) return byPhrase;
  const byClass = firstMatch((refusal.classification ?? "").trim(), CLASSIFICATIONS);
  if (byClass !== undefined) return byClass;
  if (byCode !== undefined) return byCode;
  if (enhanced !== undefined && POLICY.test(enhanced)) return "policy";

  const basic = basicCode(refusal);
  const byBasic = basic === undefined ? undefined : BASIC[basic];
  if (byBasic !== undefined) return byBasic;
  return refusal.event === "deferred" ? "busy" : "unclear";
}

function textOf(value: unknown): string | undefined {
  if (typeof value === "number") return String(value);
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** Reads a refusal out of an event's detail; undefined for events that are none. */
export function refusalOf(type: string, detail: Readonly<Record<string, unknown>>): Refusal | undefined {
  if (type !== "bounce" && type !== "deferred" && type !== "dropped") return undefined;
  return {
    event: type,
    status: textOf(detail["status"]),
    reason: textOf(detail["reason"]),
    response: textOf(detail["response"]),
    classification: textOf(detail["bounce_classification"]),
  };
}
