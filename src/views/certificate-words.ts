import type { DayState } from "./contract-completeness.ts";

/** What a certificate says, in the language it is filed in. Only characters of Windows-1252: the PDF's own fonts have no others. */
export interface CertificateWords {
  locale: string;
  title: string;
  facts: Record<
    "instance" | "noInstance" | "period" | "timeZone" | "accounts" | "checked" | "never" | "software",
    string
  >;
  mainAccount: string;
  moreAccounts: (count: string) => string;
  headings: Record<"kinds" | "days" | "how" | "limits" | "proof", string>;
  columns: Record<
    "kind" | "day" | "account" | "result" | "sendgrid" | "held" | "missing" | "repaired" | "open" | "surplus" | "sum",
    string
  >;
  states: Record<DayState | "unchecked", string>;
  uncheckedTo: (day: string) => string;
  notFinalMark: string;
  noTotal: string;
  kinds: Record<string, string>;
  methods: Record<string, string>;
  confidence: Record<string, string>;
  origins: Record<"logs" | "messages" | "csv" | "records", string>;
  and: string;
  verdict: {
    /** The period after "for". */
    period: (period: string) => string;
    unchecked: (period: string) => string;
    simulated: string;
    counts: (events: string, period: string, count: number) => string;
    holdsOnly: (events: string, period: string) => string;
    all: string;
    repaired: (events: string, count: number, from: string) => string;
    missing: (events: string, count: number) => string;
    suspected: (events: string, count: number) => string;
    alsoRepaired: (events: string, count: number, from: string) => string;
    unknown: (days: string, count: number, of: number) => string;
    /** Instead of the period, where only some of its days were checked. */
    checkedDays: (days: string, of: string, count: number, period: string) => string;
    notFinal: (days: string, count: number, of: number) => string;
  };
  limits: readonly string[];
  surplusNote: string;
  proof: string;
  page: (page: string, pages: string) => string;
}

const one = (count: number, singular: string, plural: string): string => (count === 1 ? singular : plural);

const en: CertificateWords = {
  locale: "en-GB",
  title: "Completeness certificate",
  facts: {
    instance: "Instance",
    noInstance: "no public address is set (HOLDFAST_PUBLIC_URL)",
    period: "Period",
    timeZone: "Time zone of the days",
    accounts: "SendGrid accounts",
    checked: "Last compared",
    never: "never",
    software: "Issued by",
  },
  mainAccount: "main account",
  moreAccounts: (count) => `and ${count} more`,
  headings: {
    kinds: "Events by kind",
    days: "Events by day",
    how: "How this was checked",
    limits: "What this does not cover",
    proof: "How to recompute it",
  },
  columns: {
    kind: "Kind",
    day: "Day",
    account: "Account",
    result: "Result",
    sendgrid: "SendGrid says",
    held: "Holdfast holds",
    missing: "Missing",
    repaired: "Repaired",
    open: "Open",
    surplus: "Surplus",
    sum: "All",
  },
  states: {
    equal: "complete",
    repaired: "repaired",
    suspected: "suspected gap",
    missing: "missing",
    unknown: "not known",
    unchecked: "not checked",
  },
  uncheckedTo: (day) => `not checked, up to ${day}`,
  notFinalMark: "not final",
  noTotal: "no total",
  kinds: {
    processed: "Accepted by SendGrid",
    deferred: "Delayed",
    delivered: "Delivered",
    bounce: "Bounced",
    blocked: "Blocked",
    dropped: "Dropped",
    open: "Opened",
    click: "Clicked",
    spamreport: "Complaint",
    unsubscribe: "Unsubscribed",
    group_unsubscribe: "Unsubscribed from a group",
    group_resubscribe: "Back in a group",
  },
  methods: {
    totals: "SendGrid's daily totals",
    logs: "SendGrid's Email Logs, message by message",
    messages: "SendGrid's Email Activity, message by message",
    csv: "a CSV export of SendGrid's Email Activity",
    suppressions: "SendGrid's suppression lists",
    rules: "the rules of a mail's life, without SendGrid",
  },
  confidence: {
    confirmed: "certain",
    certain: "certain",
    likely: "likely",
    partial: "in part",
    suspected: "suspected",
    unknown: "not known",
  },
  origins: {
    logs: "SendGrid's Email Logs",
    messages: "SendGrid's Email Activity",
    csv: "a CSV export of SendGrid",
    records: "SendGrid's records",
  },
  and: "and",
  verdict: {
    period: (period) => period,
    unchecked: (period) =>
      `Nothing of ${period} has been compared with SendGrid's records yet. This page certifies nothing.`,
    counts: (events, period, count) => `SendGrid counts ${events} ${one(count, "event", "events")} for ${period}.`,
    simulated: "Simulated sources are counted in these figures: this is a demonstration and certifies no real mail.",
    holdsOnly: (events, period) => `Holdfast holds ${events} events for ${period}; SendGrid has given no total.`,
    all: "Holdfast holds all of them; none was missing.",
    repaired: (events, count, from) =>
      `Holdfast holds all of them; ${events} ${one(count, "was missing and has", "were missing and have")} been repaired from ${from}.`,
    missing: (events, count) => `${events} ${one(count, "event is", "events are")} missing in Holdfast.`,
    suspected: (events, count) =>
      `${events} ${one(count, "event is", "events are")} suspected to be missing: the course of the mails says so, SendGrid's records do not confirm it.`,
    alsoRepaired: (events, count, from) =>
      `${events} more ${one(count, "was missing and has", "were missing and have")} been repaired from ${from}.`,
    unknown: (days, count, of) =>
      of === 1
        ? "SendGrid could not be asked."
        : `For ${days} ${one(count, "day", "days")} SendGrid could not be asked.`,
    checkedDays: (days, of, _count, period) => `the ${days} checked of ${of} days (${period})`,
    notFinal: (days, count, of) =>
      `${of === 1 ? "The day is" : `${days} ${one(count, "day is", "days are")}`} not final: SendGrid's figures can still move for 72 hours after a day's end.`,
  },
  limits: [
    "Events that SendGrid itself did not record, or no longer keeps, cannot be found missing.",
    "A repaired event is what SendGrid's records tell of it. It has no webhook signature and is marked as repaired wherever it is shown.",
    "Kinds without a total of SendGrid's are held against its messages and lists only, as far as the account may read them.",
  ],
  surplusNote: "Surplus: events that Holdfast holds with their signed bytes and SendGrid does not count.",
  proof:
    "The figures of this period as canonical JSON (RFC 8785: keys in order, no white space, UTF-8) are the answer of the interface to the address below (role compliance). The SHA-256 of its bytes is the number under it.",
  page: (page, pages) => `Page ${page} of ${pages}`,
};

const de: CertificateWords = {
  locale: "de-DE",
  title: "Vollständigkeitsbescheinigung",
  facts: {
    instance: "Instanz",
    noInstance: "keine öffentliche Adresse eingestellt (HOLDFAST_PUBLIC_URL)",
    period: "Zeitraum",
    timeZone: "Zeitzone der Tage",
    accounts: "SendGrid-Konten",
    checked: "Zuletzt verglichen",
    never: "nie",
    software: "Ausgestellt von",
  },
  mainAccount: "Hauptkonto",
  moreAccounts: (count) => `und ${count} weitere`,
  headings: {
    kinds: "Ereignisse nach Art",
    days: "Ereignisse nach Tag",
    how: "Wie geprüft wurde",
    limits: "Was dies nicht umfasst",
    proof: "Wie es nachzurechnen ist",
  },
  columns: {
    kind: "Art",
    day: "Tag",
    account: "Konto",
    result: "Ergebnis",
    sendgrid: "SendGrid zählt",
    held: "Holdfast hält",
    missing: "Fehlten",
    repaired: "Ergänzt",
    open: "Offen",
    surplus: "Überzählig",
    sum: "Alle",
  },
  states: {
    equal: "vollständig",
    repaired: "ergänzt",
    suspected: "Verdacht",
    missing: "fehlend",
    unknown: "nicht bekannt",
    unchecked: "nicht geprüft",
  },
  uncheckedTo: (day) => `nicht geprüft, bis ${day}`,
  notFinalMark: "vorläufig",
  noTotal: "keine Zahl",
  kinds: {
    processed: "Von SendGrid angenommen",
    deferred: "Verzögert",
    delivered: "Zugestellt",
    bounce: "Unzustellbar",
    blocked: "Abgewiesen",
    dropped: "Verworfen",
    open: "Geöffnet",
    click: "Geklickt",
    spamreport: "Beschwerde",
    unsubscribe: "Abgemeldet",
    group_unsubscribe: "Von einer Gruppe abgemeldet",
    group_resubscribe: "Wieder in einer Gruppe",
  },
  methods: {
    totals: "Tageszahlen von SendGrid",
    logs: "Email Logs von SendGrid, Nachricht für Nachricht",
    messages: "Email Activity von SendGrid, Nachricht für Nachricht",
    csv: "CSV-Export der Email Activity von SendGrid",
    suppressions: "Sperrlisten von SendGrid",
    rules: "Regeln über den Lauf einer Mail, ohne SendGrid",
  },
  confidence: {
    confirmed: "sicher",
    certain: "sicher",
    likely: "wahrscheinlich",
    partial: "zum Teil",
    suspected: "vermutet",
    unknown: "nicht bekannt",
  },
  origins: {
    logs: "den Email Logs von SendGrid",
    messages: "der Email Activity von SendGrid",
    csv: "einem CSV-Export von SendGrid",
    records: "den Aufzeichnungen von SendGrid",
  },
  and: "und",
  verdict: {
    period: (period) => `den ${period}`,
    unchecked: (period) =>
      `Für ${period} wurde noch nichts mit den Aufzeichnungen von SendGrid verglichen. Dieses Blatt bescheinigt nichts.`,
    counts: (events, period, count) =>
      `Für ${period} zählt SendGrid ${events} ${one(count, "Ereignis", "Ereignisse")}.`,
    simulated:
      "In diesen Zahlen sind simulierte Quellen mitgezählt: Dies ist eine Vorführung und bescheinigt keine wirkliche Mail.",
    holdsOnly: (events, period) =>
      `Für ${period} hält Holdfast ${events} Ereignisse; SendGrid nannte keine Gesamtzahl.`,
    all: "Holdfast hält sie alle; keines fehlte.",
    repaired: (events, count, from) =>
      `Holdfast hält sie alle; ${events} ${one(count, "fehlte und wurde", "fehlten und wurden")} aus ${from} ergänzt.`,
    missing: (events, count) =>
      `In Holdfast ${one(count, "fehlt", "fehlen")} ${events} ${one(count, "Ereignis", "Ereignisse")}.`,
    suspected: (events, count) =>
      `${events} ${one(count, "Ereignis fehlt", "Ereignisse fehlen")} vermutlich: Der Lauf der Mails spricht dafür, die Aufzeichnungen von SendGrid bestätigen es nicht.`,
    alsoRepaired: (events, count, from) =>
      `${events} ${one(count, "weiteres fehlte und wurde", "weitere fehlten und wurden")} aus ${from} ergänzt.`,
    unknown: (days, count, of) =>
      of === 1
        ? "SendGrid konnte nicht gefragt werden."
        : `Für ${days} ${one(count, "Tag", "Tage")} konnte SendGrid nicht gefragt werden.`,
    checkedDays: (days, of, count, period) =>
      `${one(count, "den einen", `die ${days}`)} geprüften von ${of} Tagen (${period})`,
    notFinal: (days, count, of) =>
      `${of === 1 ? "Der Tag ist" : `${days} ${one(count, "Tag ist", "Tage sind")}`} vorläufig: Die Zahlen von SendGrid können sich bis 72 Stunden nach dem Ende eines Tages ändern.`,
  },
  limits: [
    "Was SendGrid selbst nicht aufgezeichnet hat oder nicht mehr aufbewahrt, kann nicht als fehlend erkannt werden.",
    "Ein ergänztes Ereignis ist das, was die Aufzeichnungen von SendGrid darüber sagen. Es trägt keine Webhook-Signatur und ist überall als ergänzt gekennzeichnet.",
    "Arten ohne Gesamtzahl von SendGrid sind nur mit dessen Nachrichten und Listen verglichen, soweit das Konto sie lesen darf.",
  ],
  surplusNote: "Überzählig: Ereignisse, die Holdfast mit ihren signierten Bytes hält und SendGrid nicht zählt.",
  proof:
    "Die Zahlen dieses Zeitraums als kanonisches JSON (RFC 8785: Schlüssel geordnet, ohne Leerraum, UTF-8) sind die Antwort der Schnittstelle auf die Adresse unten (Rolle compliance). Der SHA-256 ihrer Bytes ist die Zahl darunter.",
  page: (page, pages) => `Seite ${page} von ${pages}`,
};

export const CERTIFICATE_WORDS = { en, de } as const;
