import { beforeAll, describe, expect, test } from "vitest";
import { createTranslator } from "../i18n/i18n.ts";
import { alertText } from "./alert-text.ts";
import type { TextContext } from "./context.ts";
import { eventNote, eventText, shortUrl } from "./event-text.ts";
import { plain } from "./hostile.ts";
import { quarantineReason } from "./quarantine-text.ts";

let english: TextContext;
let german: TextContext;

beforeAll(async () => {
  english = { t: (await createTranslator("en")).t, locale: "en-GB", timeZone: "UTC", now: 0 };
  german = { t: (await createTranslator("de")).t, locale: "de-DE", timeZone: "UTC", now: 0 };
});

const event = (type: string, detail: Record<string, unknown> = {}, recipient: string | null = "a@example.com") => ({
  type,
  detail,
  recipient,
});

const words = (type: string, detail: Record<string, unknown> = {}) => {
  const { title, lines } = eventText(event(type, detail), english);
  return [title, ...lines].map(plain);
};

describe("an event in words", () => {
  test("processed names the pool, whichever shape it has", () => {
    expect(words("processed", { pool: { name: "main", id: 210 } })).toEqual([
      "SendGrid accepted the mail",
      "for delivery, pool “main”",
    ]);
    expect(words("processed", { pool: "main" })[1]).toBe("for delivery, pool “main”");
    expect(words("processed", { pool: [1] })[1]).toBe("for delivery");
  });

  test("delivered names who took it, and TLS when it was used, whatever type tls has", () => {
    expect(words("delivered", { tls: 1 })[1]).toBe("The mail server of example.com took it, over TLS.");
    expect(words("delivered", { tls: "1" })[1]).toBe("The mail server of example.com took it, over TLS.");
    expect(words("delivered", { tls: 0 })[1]).toBe("The mail server of example.com took it.");
    expect(eventText(event("delivered", {}, "no address"), english).lines).toEqual([
      "The recipient's mail server took it.",
    ]);
  });

  test("a bounce says what happened, what it means and what to do, and quotes the server", () => {
    const text = eventText(event("bounce", { type: "bounce", reason: "552 5.2.2 full", status: "5.2.2" }), english);
    expect(text).toEqual({
      title: "Not delivered: bounced",
      lines: [
        "The mailbox is full (5.2.2).",
        "This mail will not arrive. SendGrid puts the address on its bounce list and sends nothing more to it.",
        "Ask the customer for another address or to free space, then resend.",
      ],
      quote: { text: "552 5.2.2 full", from: "server" },
    });
  });

  test("a block is another thing than a bounce", () => {
    expect(words("bounce", { type: "blocked" }).slice(0, 1)).toEqual(["Not delivered: refused"]);
    expect(words("bounce", { type: "blocked" })[2]).toContain("A later mail to the address is tried again.");
  });

  test("a deferral counts attempts from one and no longer promises a further try once it is settled", () => {
    const deferral = event("deferred", { attempt: "0", response: "421 busy" });
    expect(eventText(deferral, english).title).toBe("Delayed, attempt 1");
    expect(eventText(deferral, english).lines).toHaveLength(2);
    expect(eventText(deferral, english, true).lines).toEqual(["The mail server is busy (421)."]);
    expect(plain(eventText(event("deferred", { attempt: "x" }), english).title)).toBe("Delayed, attempt x");
  });

  test("a machine's open is told apart from a person's", () => {
    expect(words("open", { sg_machine_open: true })[0]).toBe("Opened by a mail program");
    expect(words("open", { sg_machine_open: true })[1]).toContain("perhaps not by a person");
    expect(words("open", { useragent: "Mozilla/5.0 (Windows NT 10.0) Chrome/120.0 Safari/537.36" })).toEqual([
      "Opened",
      "on a computer, Windows, Chrome",
    ]);
  });

  test("a click shows where, without the query that may hold secrets", () => {
    expect(words("click", { url: "https://shop.example/invoices/1?token=secret" })[1]).toBe("shop.example/invoices/1");
    expect(shortUrl("javascript:alert(1)")).toBe("javascript:alert(1)");
    expect(shortUrl("https://shop.example/")).toBe("shop.example");
  });

  test.each([
    ["compliance_suspend", "The account is suspended: SendGrid sends nothing until that is settled."],
    ["reactivate", "The account is active again."],
  ])("a change of the account: %s", (type, sentence) => {
    expect(words("account_status_change", { type })).toEqual(["SendGrid changed the account", sentence]);
  });

  test.each(["spamreport", "unsubscribe", "group_unsubscribe", "group_resubscribe", "dropped", "received"])(
    "%s has a title and a meaning in both languages",
    (type) => {
      for (const language of [english, german]) {
        const { title, lines } = eventText(event(type, { asm_group_id: 123_456 }), language);
        expect(title).not.toBe("");
        expect(lines.length).toBeGreaterThan(0);
      }
    },
  );

  test("an unknown kind is named and kept", () => {
    expect(words("cancel_drop")[0]).toBe("Event “cancel_drop”");
  });

  test("no detail of the wrong type breaks a text", () => {
    const odd = { reason: [1], response: null, attempt: {}, url: 5, useragent: false, pool: null, asm_group_id: true };
    for (const type of [
      "processed",
      "deferred",
      "delivered",
      "bounce",
      "dropped",
      "open",
      "click",
      "group_unsubscribe",
    ]) {
      expect(eventText(event(type, odd, null), english).title).not.toBe("");
      expect(typeof eventNote(event(type, odd, null), german)).toBe("string");
    }
  });

  test("the note in the stream is short and says the reason", () => {
    expect(eventNote(event("bounce", { status: "5.1.1" }), english)).toBe(
      "The address does not exist at this mail server (5.1.1).",
    );
    expect(plain(eventNote(event("delivered", { response: "250 OK" }), english))).toBe("250 OK");
    expect(eventNote(event("processed"), english)).toBe("");
  });
});

describe("alerts and quarantine in words", () => {
  const NOW = "2026-11-30T10:00:00Z";

  test("an alert names the consequence", () => {
    expect(alertText({ kind: "inbox_old", source: "", count: 3, since: NOW }, english).what).toBe(
      "3 accepted POSTs are waiting; the oldest for over a minute.",
    );
    expect(alertText({ kind: "quarantine_open", source: "default", count: 1, since: NOW }, german).what).toBe(
      "1 Eintrag ist in Quarantäne.",
    );
  });

  test("an alert about a receiver of alerts names it", () => {
    const failing = { kind: "receiver_failing", source: "slack receiver 1", count: 2, since: NOW } as const;
    expect(alertText(failing, english).what).toBe("The slack receiver 1 of alerts does not take them; 2 wait.");
  });

  test("an alert about refused POSTs says how long SendGrid still holds the first of them", () => {
    const hoursAgo = (hours: number): string => new Date(english.now - hours * 3_600_000).toISOString();
    const refused = { kind: "signature_failing", source: "default", count: 2 } as const;
    expect(alertText({ ...refused, since: hoursAgo(2.5) }, english).todo).toContain("lost for good in 21 h 30 min.");
    expect(alertText({ ...refused, since: hoursAgo(25) }, english).todo).toContain("are lost for good.");
    expect(alertText({ ...refused, since: hoursAgo(2.5) }, german).todo).toContain("in 21 h 30 min endgültig verloren");
  });

  test("an alert of a kind that only a newer server knows still says something", () => {
    const alert = { kind: "sun_too_hot", count: 2 } as unknown as Parameters<typeof alertText>[0];
    expect(alertText(alert, english).what).toBe("Something needs you: sun_too_hot (2).");
  });

  test("a reason for quarantine is a sentence; an unknown code is named", () => {
    expect(quarantineReason("not_json", english)).toBe("The POST is not JSON.");
    expect(plain(quarantineReason("brand_new", german))).toBe("Der Eintrag war nicht lesbar (brand_new).");
  });
});
