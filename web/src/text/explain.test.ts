import { describe, expect, test } from "vitest";
import { explainDe } from "../i18n/explain-de.ts";
import { explainEn } from "../i18n/explain-en.ts";
import { explain, type Explanation, EXPLANATIONS, type Refusal, refusalOf, shownCode } from "./explain.ts";

function refusal(parts: Partial<Refusal>): Refusal {
  return {
    event: "bounce",
    status: undefined,
    reason: undefined,
    response: undefined,
    classification: undefined,
    ...parts,
  };
}

/** What servers and SendGrid say, and what it means. Wording as mail servers and SendGrid's documentation have it. */
const BOUNCES: readonly (readonly [Partial<Refusal>, Explanation])[] = [
  [{ status: "5.1.1", reason: "550 5.1.1 <a@b>: Recipient address rejected: User unknown" }, "no_mailbox"],
  [{ status: "5.1.0" }, "no_mailbox"],
  [{ reason: "550 No such recipient here", status: "550", classification: "Unclassified" }, "no_mailbox"],
  [{ status: "5.1.10", reason: "550 5.1.10 RESOLVER.ADR.RecipientNotFound; not found" }, "no_mailbox"],
  [{ status: "5.4.1", reason: "550 5.4.1 Recipient address rejected: Access denied." }, "no_mailbox"],
  [{ classification: "Invalid Address" }, "no_mailbox"],
  [{ classification: "invalid" }, "no_mailbox"],
  [{ status: "5.1.2" }, "no_domain"],
  [{ reason: "unable to get mx info: lookup mx.example.org: no such host", classification: "Technical" }, "no_domain"],
  [{ status: "5.1.10", reason: "556 5.1.10 null MX" }, "no_mail_domain"],
  [{ reason: "556 Domain does not accept mail" }, "no_mail_domain"],
  [{ status: "5.1.3" }, "bad_address"],
  [{ reason: "501 bad recipient syntax" }, "bad_address"],
  [{ status: "5.1.6" }, "moved"],
  [{ status: "5.1.8" }, "sender_refused"],
  [{ status: "5.2.1" }, "mailbox_disabled"],
  [{ status: "5.2.2", reason: "552 5.2.2 over quota", classification: "Mailbox Unavailable" }, "mailbox_full"],
  [{ reason: "552 mailbox full" }, "mailbox_full"],
  [{ reason: "450 4.2.0 the user is over quota" }, "mailbox_full"],
  [{ status: "5.2.3" }, "too_large"],
  [{ status: "5.3.4" }, "too_large"],
  [{ reason: "552 Message size exceeds maximum message size" }, "too_large"],
  [{ status: "5.2.4" }, "list_problem"],
  [{ status: "5.2.0", classification: "Mailbox Unavailable" }, "mailbox_unavailable"],
  [{ reason: "550 requested action not taken" }, "mailbox_unavailable"],
  [{ status: "4.3.1" }, "server_full"],
  [{ status: "4.3.2" }, "server_trouble"],
  [{ status: "4.4.1" }, "unreachable"],
  [{ reason: "dial tcp: i/o timeout" }, "unreachable"],
  [{ status: "4.4.7", reason: "delivery time expired" }, "gave_up"],
  [{ status: "5.4.6" }, "loop"],
  [{ status: "5.5.2" }, "protocol"],
  [{ status: "5.6.0" }, "content"],
  [{ status: "5.7.1", reason: "550 5.7.1 rejected", classification: "Content" }, "content"],
  [{ status: "5.7.1", reason: "554 5.7.1 no reason given" }, "policy"],
  [{ status: "5.7.26", reason: "550-5.7.26 unauthenticated" }, "authentication"],
  [{ status: "5.7.1", reason: "550 5.7.1 fails DMARC policy" }, "authentication"],
  [{ status: "5.7.25" }, "reverse_dns"],
  [{ status: "4.7.28" }, "too_many"],
  [{ classification: "Frequency or Volume Too High" }, "too_many"],
  [
    { status: "4.2.1", reason: "450-4.2.1 The user you are trying to contact is receiving mail too quickly" },
    "too_many",
  ],
  [{ status: "5.7.1", reason: "554 5.7.1 listed by Spamhaus" }, "reputation"],
  [{ classification: "Reputation" }, "reputation"],
  [{ reason: "550 5.7.1 Relaying denied" }, "relay"],
  [{ classification: "Technical Failure" }, "technical"],
  [{ classification: "Unclassified" }, "unclear"],
  [{}, "unclear"],
];

const DEFERRALS: readonly (readonly [Partial<Refusal>, Explanation])[] = [
  [{ response: "450 4.2.0 Recipient address rejected: Greylisted" }, "greylisted"],
  [{ response: "451 4.7.1 greylisting in action" }, "greylisted"],
  [{ response: "421 too busy" }, "busy"],
  [{ response: "unable to get mx info: lookup mx.example.org: server misbehaving" }, "unreachable"],
  [{ response: "421 4.7.0 Too many connections from your IP" }, "too_many"],
  [{ response: "nobody knows" }, "busy"],
  [{}, "busy"],
];

/** The reasons of dropped events as SendGrid documents them, old and new names. */
const DROPS: readonly (readonly [string, Explanation])[] = [
  ["Bounced Address", "drop_bounced"],
  ["Unsubscribed Address", "drop_unsubscribed"],
  ["Spam Reporting Address", "drop_spam_report"],
  ["Invalid", "drop_invalid"],
  ["Invalid Address", "drop_invalid"],
  ["Spam Content", "drop_spam_content"],
  ["Invalid SMTPAPI header", "drop_header"],
  ["Recipient List over Package Quota", "drop_quota"],
  ["BOUNCED ADDRESS", "drop_bounced"],
  ["something new", "drop_other"],
];

describe("the explanation of a refusal", () => {
  test.each(BOUNCES)("a bounce of %o is %s", (parts, expected) => {
    expect(explain(refusal(parts))).toBe(expected);
  });

  test.each(DEFERRALS)("a deferral of %o is %s", (parts, expected) => {
    expect(explain(refusal({ event: "deferred", ...parts }))).toBe(expected);
  });

  test.each(DROPS)("a drop for %s is %s", (reason, expected) => {
    expect(explain(refusal({ event: "dropped", reason }))).toBe(expected);
  });

  test("every explanation is reached by a row above, so that none is only written", () => {
    const reached = new Set([...BOUNCES, ...DEFERRALS, ...DROPS].map(([, code]) => code));
    expect(EXPLANATIONS.filter((code) => !reached.has(code))).toEqual([]);
  });

  test.each(EXPLANATIONS)("%s says what happened and what to do, in whole sentences, in both languages", (code) => {
    for (const words of [explainEn[code], explainDe[code]]) {
      expect(words.what).toMatch(/^\p{Lu}.*[.]$/u);
      expect(words.todo).toMatch(/^\p{Lu}.*[.]$/u);
    }
  });

  test("the code shown is the enhanced one, else the basic one, else none", () => {
    expect(shownCode(refusal({ reason: "552 5.2.2 full" }))).toBe("5.2.2");
    expect(shownCode(refusal({ reason: "552 full", status: "5.0.0" }))).toBe("552");
    expect(shownCode(refusal({ reason: "550-5.1.1 no" }))).toBe("5.1.1");
    expect(shownCode(refusal({ reason: "see 192.5.1.1 and 2026.10.5.1" }))).toBeUndefined();
  });

  test("an event that refuses nothing has no explanation, and wrong types in its detail are no text", () => {
    expect(refusalOf("open", { reason: "550" })).toBeUndefined();
    expect(refusalOf("bounce", { reason: { a: 1 }, status: 550 })).toMatchObject({ reason: undefined, status: "550" });
  });

  test("a reason of a megabyte is explained at once", () => {
    const reason = `${"a ".repeat(500_000)}5.1.1`;
    expect(explain(refusal({ reason }))).toBe("unclear");
  });
});
