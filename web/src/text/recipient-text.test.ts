import { describe, expect, test } from "vitest";
import type { Recipient, Suppression } from "../../../src/views/contract-recipient.ts";
import { createTranslator } from "../i18n/i18n.ts";
import type { TextContext } from "./context.ts";
import { plain } from "./hostile.ts";
import { recipientSentence, share } from "./recipient-text.ts";

const NOW = Date.parse("2026-03-03T15:00:00Z");

async function context(language: "en" | "de"): Promise<TextContext> {
  const { t } = await createTranslator(language);
  return { t, locale: language === "en" ? "en-GB" : "de-DE", timeZone: "UTC", now: NOW };
}

function recipient(suppressions: Partial<Suppression>[], lastDeliveredAt: string | null = null): Recipient {
  const byDelivery = { unknown: 0, processed: 0, deferred: 0, delivered: 0, dropped: 0, blocked: 0, bounced: 0 };
  return {
    address: "a@example.com",
    messages: 1,
    hasMore: false,
    byDelivery,
    opened: 0,
    clicked: 0,
    firstEventAt: null,
    lastEventAt: null,
    lastDeliveredAt,
    lastOpenAt: null,
    suppressions: suppressions.map((part) => ({
      kind: "bounced",
      since: "2026-03-03T14:02:00Z",
      source: "default",
      message: "m",
      event: { type: "bounce", detail: {} },
      endedAt: null,
      ...part,
    })),
  };
}

describe("the sentence about a person", () => {
  test("says that mail is dropped, whatever arrived before", async () => {
    const suppressed = recipient([{}], "2026-03-01T09:00:00Z");
    expect(plain(recipientSentence(suppressed, await context("en")))).toBe(
      "a@example.com gets no mail: SendGrid has been dropping it since today at 14:02.",
    );
    expect(plain(recipientSentence(suppressed, await context("de")))).toBe(
      "a@example.com bekommt keine Mails: SendGrid verwirft sie seit heute um 14:02.",
    );
  });

  test("does not take a group, or what is over, for everything", async () => {
    const text = await context("en");
    expect(plain(recipientSentence(recipient([{ kind: "group_unsubscribed" }]), text))).toContain(
      "left an unsubscribe",
    );
    const over = recipient([{ endedAt: "2026-03-03T14:30:00Z" }], "2026-03-03T14:30:00Z");
    expect(plain(recipientSentence(over, text))).toBe(
      "a@example.com receives mail: the last one was delivered today at 14:30.",
    );
  });

  test("claims nothing where nothing is known", async () => {
    expect(plain(recipientSentence(recipient([]), await context("en")))).toContain("no mail is known to have been");
  });
});

describe("a share", () => {
  test("is all only when it is all, and none only when it is none", () => {
    expect(share(999, 1_000, "en-GB")).toBe("99%");
    expect(share(1_000, 1_000, "en-GB")).toBe("100%");
    expect(share(1, 1_000, "en-GB")).toBe("1%");
    expect(share(0, 1_000, "en-GB")).toBe("0%");
    expect(share(0, 0, "en-GB")).toBeUndefined();
  });
});
