import { beforeAll, describe, expect, test } from "vitest";
import type { MessageDetail, TimelineEvent } from "../../../src/views/contract.ts";
import { createTranslator } from "../i18n/i18n.ts";
import type { TextContext } from "./context.ts";
import { plain, splitIsolated } from "./hostile.ts";
import { messageSentence } from "./sentence.ts";

const NOW = Date.parse("2026-03-05T12:00:00Z");
let english: TextContext;
let german: TextContext;

beforeAll(async () => {
  english = { t: (await createTranslator("en")).t, locale: "en-GB", timeZone: "Europe/Berlin", now: NOW };
  german = { t: (await createTranslator("de")).t, locale: "de-DE", timeZone: "Europe/Berlin", now: NOW };
});

type Times = MessageDetail["times"];

function detail(
  message: Partial<MessageDetail["message"]>,
  times: Partial<Times> = {},
  events: Partial<TimelineEvent>[] = [],
): MessageDetail {
  return {
    message: {
      id: "abc.recvd-1.0",
      source: "default",
      simulated: false,
      recipient: "customer@example.com",
      subject: null,
      delivery: "unknown",
      opens: 0,
      machineOpens: 0,
      clicks: 0,
      complaint: false,
      unsubscribed: false,
      categories: [],
      args: {},
      firstEventAt: null,
      lastEventAt: null,
      ...message,
    },
    sender: null,
    times: {
      processed: null,
      deferred: null,
      delivered: null,
      failed: null,
      firstOpen: null,
      lastOpen: null,
      firstMachineOpen: null,
      lastMachineOpen: null,
      firstClick: null,
      lastClick: null,
      firstComplaint: null,
      lastComplaint: null,
      firstUnsubscribe: null,
      lastUnsubscribe: null,
      ...times,
    },
    enrichment: {
      state: "pending",
      askedAt: null,
      api: null,
      status: null,
      opens: null,
      clicks: null,
      template: null,
      error: null,
    },
    events: events.map((event) => ({
      eventId: "e",
      type: "bounce",
      occurredAt: "2026-03-03T13:02:00Z",
      recipient: null,
      source: "default",
      origin: "webhook",
      repairedAt: null,
      twin: false,
      probable: false,
      receipt: null,
      detail: {},
      detailLeftOut: false,
      ...event,
    })),
    eventsLeftOut: 0,
    receipts: [],
  };
}

const DELIVERED = "2026-03-03T13:02:00Z";
const full = { type: "bounce", detail: { status: "5.2.2", reason: "552 5.2.2 mailbox full" } };

/** What is known, the English sentence, the German one. */
const SENTENCES: readonly (readonly [string, MessageDetail, string, string])[] = [
  [
    "delivered and opened twice",
    detail({ delivery: "delivered", opens: 2 }, { delivered: DELIVERED, firstOpen: "2026-03-03T13:08:00Z" }),
    "Delivered to customer@example.com on 3 March, 14:02. Opened twice, first after 6 minutes.",
    "Am 3. März um 14:02 zugestellt an customer@example.com. Zweimal geöffnet, zuerst nach 6 Minuten.",
  ],
  [
    "delivered, with the time of sending, opened once, clicked once",
    detail(
      { delivery: "delivered", opens: 1, clicks: 1 },
      { processed: "2026-03-03T13:01:26Z", delivered: DELIVERED, firstOpen: "2026-03-03T14:02:00Z" },
    ),
    "Delivered to customer@example.com on 3 March, 14:02, 34 seconds after sending. Opened once, after 60 minutes. A link was clicked once.",
    "Am 3. März um 14:02 zugestellt an customer@example.com, 34 Sekunden nach dem Versand. Einmal geöffnet, nach 60 Minuten. Ein Link wurde einmal angeklickt.",
  ],
  [
    "opened by a machine only",
    detail({ delivery: "delivered", machineOpens: 3 }, { delivered: DELIVERED }),
    "Delivered to customer@example.com on 3 March, 14:02. Opened by a mail program, perhaps not by a person.",
    "Am 3. März um 14:02 zugestellt an customer@example.com. Von einem Mailprogramm geöffnet, vielleicht nicht von einem Menschen.",
  ],
  [
    "opened before it was delivered: no span is invented",
    detail({ delivery: "delivered", opens: 12 }, { delivered: DELIVERED, firstOpen: "2026-03-03T13:01:00Z" }),
    "Delivered to customer@example.com on 3 March, 14:02. Opened 12 times.",
    "Am 3. März um 14:02 zugestellt an customer@example.com. 12-mal geöffnet.",
  ],
  [
    "bounced for a full mailbox",
    detail({ delivery: "bounced" }, { failed: DELIVERED }, [full]),
    "Not delivered to customer@example.com: refused on 3 March, 14:02. The mailbox is full (5.2.2).",
    "Nicht zugestellt an customer@example.com: am 3. März um 14:02 abgelehnt. Das Postfach ist voll (5.2.2).",
  ],
  [
    "returned a day after it was delivered",
    detail({ delivery: "bounced" }, { delivered: DELIVERED, failed: "2026-03-04T13:02:00Z" }, [full]),
    "Delivered to customer@example.com on 3 March, 14:02, but returned yesterday at 14:02. The mailbox is full (5.2.2).",
    "Am 3. März um 14:02 zugestellt an customer@example.com, aber gestern um 14:02 zurückgekommen. Das Postfach ist voll (5.2.2).",
  ],
  [
    "dropped",
    detail({ delivery: "dropped" }, { failed: DELIVERED }, [
      { type: "dropped", detail: { reason: "Bounced Address" } },
    ]),
    "Not sent to customer@example.com: SendGrid dropped the mail on 3 March, 14:02. An earlier mail to this address bounced, so SendGrid does not try again.",
    "Nicht gesendet an customer@example.com: SendGrid hat die Mail am 3. März um 14:02 verworfen. Eine frühere Mail an diese Adresse kam zurück, darum versucht SendGrid es nicht wieder.",
  ],
  [
    "delayed",
    detail({ delivery: "deferred" }, { deferred: DELIVERED }, [{ type: "deferred", detail: { response: "421 busy" } }]),
    "Delayed: not yet delivered to customer@example.com. SendGrid keeps trying for up to 72 hours. The mail server is busy (421).",
    "Verzögert: noch nicht zugestellt an customer@example.com. SendGrid versucht es bis zu 72 Stunden lang weiter. Der Mailserver ist beschäftigt (421).",
  ],
  [
    "on its way",
    detail({ delivery: "processed" }, { processed: "2026-03-05T11:59:00Z" }),
    "On its way to customer@example.com: SendGrid accepted the mail today at 12:59.",
    "Unterwegs an customer@example.com: SendGrid hat die Mail heute um 12:59 angenommen.",
  ],
  [
    "nothing known about the delivery, nor the recipient",
    detail({ recipient: null }),
    "Whether this mail reached an unknown address is not known: no delivery event has arrived.",
    "Ob diese Mail eine unbekannte Adresse erreicht hat, ist nicht bekannt: Es ist kein Ereignis zur Zustellung eingetroffen.",
  ],
  [
    "complained about and unsubscribed from",
    detail(
      { delivery: "delivered", complaint: true, unsubscribed: true },
      { firstComplaint: DELIVERED, lastUnsubscribe: DELIVERED },
    ),
    "Delivered to customer@example.com. The recipient marked it as spam on 3 March, 14:02. The recipient unsubscribed on 3 March, 14:02.",
    "Zugestellt an customer@example.com. Der Empfänger hat sie am 3. März um 14:02 als Spam gemeldet. Der Empfänger hat sich am 3. März um 14:02 abgemeldet.",
  ],
  [
    "a source's nameless message",
    detail({ id: "nameless:default", recipient: null }),
    "Events of the source default that name no message.",
    "Ereignisse der Quelle default, die keine Nachricht nennen.",
  ],
];

describe("the sentence on top of a message", () => {
  test.each(SENTENCES)("%s, in English", (_what, known, sentence) => {
    expect(plain(messageSentence(known, english))).toBe(sentence);
  });

  test.each(SENTENCES)("%s, in German", (_what, known, _english, sentence) => {
    expect(plain(messageSentence(known, german))).toBe(sentence);
  });

  test("a recipient that turns the writing direction turns nothing but itself", () => {
    const hostile = detail({ recipient: "\u202Emoc.elpmaxe@x\u2069" });
    const parts = splitIsolated(messageSentence(hostile, english));
    expect(parts.filter((part) => part.foreign).map((part) => part.text)).toEqual(["[U+202E]moc.elpmaxe@x[U+2069]"]);
  });

  test("the reason is that of the event itself, not of its re-delivery", () => {
    const twice = detail({ delivery: "bounced" }, { failed: DELIVERED }, [
      full,
      { type: "bounce", twin: true, detail: { status: "5.1.1" } },
    ]);
    expect(plain(messageSentence(twice, english))).toContain("The mailbox is full (5.2.2).");
  });
});
