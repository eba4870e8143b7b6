import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { type CertificateFacts, drawCertificate } from "./certificate.ts";
import { canonicalJson, figuresHash } from "./completeness-figures.ts";
import type { DayState, KindFigures } from "./contract-completeness.ts";

type ResultDay = CertificateFacts["figures"]["days"][number];

function kind(name: string, sendgrid: number | null, more: Partial<KindFigures> = {}): KindFigures {
  const rest = { missing: 0, repaired: 0, open: 0, surplus: 0, checkedBy: "totals", confidence: "certain" };
  return { kind: name, sendgrid, held: sendgrid ?? 0, ...rest, ...more };
}

function result(day: string, state: DayState = "equal", more: Partial<ResultDay> = {}): ResultDay {
  const figures = {
    missing: 0,
    repaired: 0,
    open: 0,
    simulated: false,
    kinds: [kind("processed", 3_000), kind("delivered", 2_000)],
  };
  return {
    day,
    account: "",
    state,
    final: true,
    timeZone: "Europe/Berlin",
    checkedAt: `${day}T23:30:12.000Z`,
    ...figures,
    ...more,
  };
}

const REPAIRED = result("2026-11-29", "repaired", { missing: 37, repaired: 37 });
const LOGS = [{ account: "", origin: "logs" as const, count: 37 }];

function facts(
  days: ResultDay[],
  more: Partial<CertificateFacts> & { from?: string; to?: string } = {},
): CertificateFacts {
  const { from = "2026-11-29", to = "2026-11-29", ...rest } = more;
  return {
    figures: { from, to, days },
    repairedFrom: [],
    timeZone: "Europe/Berlin",
    language: "en",
    version: "1.2.3",
    instance: "https://holdfast.example.com",
    isPlain: true,
    ...rest,
  };
}

interface ReadPdf {
  /** All text in the order it was drawn, one space between its pieces. */
  text: string;
  pages: number;
}

/** Reads what `drawCertificate` wrote with `isPlain`: text stands in it in hexadecimal, in Windows-1252. */
async function read(certificate: CertificateFacts): Promise<ReadPdf> {
  const pdf = (await drawCertificate(certificate)).toString("latin1");
  const decoder = new TextDecoder("windows-1252");
  const pieces = [...pdf.matchAll(/\[([^\]]*)\] TJ/g)].map(([, parts = ""]) =>
    [...parts.matchAll(/<([0-9a-f]*)>/g)].map(([, hex = ""]) => decoder.decode(Buffer.from(hex, "hex"))).join(""),
  );
  return {
    text: pieces.join(" ").replaceAll(/\s+/g, " "),
    pages: [...pdf.matchAll(/\/Type \/Page\b(?!s)/g)].length,
  };
}

describe("the completeness certificate", () => {
  it("says in one sentence what SendGrid counts, that Holdfast holds it, and what was repaired from where", async () => {
    const english = await read(facts([REPAIRED], { repairedFrom: LOGS }));
    expect(english.text).toContain(
      "SendGrid counts 5,000 events for 29 November 2026. Holdfast holds all of them; 37 were missing and have been repaired from SendGrid's Email Logs.",
    );
    const german = await read(facts([REPAIRED], { repairedFrom: LOGS, language: "de" }));
    expect(german.text).toContain("Vollständigkeitsbescheinigung 29. November 2026");
    expect(german.text).toContain(
      "Für den 29. November 2026 zählt SendGrid 5.000 Ereignisse. Holdfast hält sie alle; 37 fehlten und wurden aus den Email Logs von SendGrid ergänzt.",
    );
    expect(german.text).toMatch(/Überzählig.*Ergänzt|Ergänzt.*Überzählig/);
  });

  it("names the instance, the zone, the accounts, the moment of the check and the version", async () => {
    const { text } = await read(facts([REPAIRED, result("2026-11-29", "equal", { account: "shop" })]));
    expect(text).toContain("https://holdfast.example.com");
    expect(text).toContain("main account, shop");
    expect(text).toContain("30 November 2026 at 00:30:12 (Europe/Berlin), 2026-11-29T23:30:12.000Z");
    expect(text).toContain("Holdfast 1.2.3");
    expect((await read(facts([REPAIRED], { instance: undefined }))).text).toContain("HOLDFAST_PUBLIC_URL");
  });

  it.each([
    [
      "missing",
      { missing: 40, repaired: 37, open: 3 },
      "3 events are missing in Holdfast. 37 more were missing and have been repaired",
    ],
    ["missing", { missing: 1, open: 1 }, "1 event is missing in Holdfast."],
    ["suspected", { missing: 2, open: 2 }, "2 events are suspected to be missing"],
    [
      "unknown",
      { kinds: [kind("processed", null, { held: 12 })] },
      "Holdfast holds 12 events for 29 November 2026; SendGrid has given no total. SendGrid could not be asked.",
    ],
    ["equal", { final: false }, "Holdfast holds all of them; none was missing. The day is not final"],
  ] satisfies [DayState, Partial<ResultDay>, string][])(
    "of a day that is %s with %o it says so",
    async (state, more, sentence) => {
      const { text } = await read(facts([result("2026-11-29", state, more)]));
      expect(text).toContain(sentence);
      expect(text.includes("holds all of them")).toBe(state === "equal");
    },
  );

  it("certifies nothing where nothing was checked, and says how many days of a period were", async () => {
    expect((await read(facts([]))).text).toContain("This page certifies nothing.");
    const { text } = await read(facts([result("2026-11-02")], { from: "2026-11-01", to: "2026-11-30" }));
    expect(text).toContain(
      "SendGrid counts 5,000 events for the 1 checked of 30 days (1 to 30 November 2026). Holdfast holds all of them",
    );
    expect(text).toContain("Sun, 01/11/2026 not checked Mon, 02/11/2026 complete");
    const german = await read(facts([result("2026-11-02")], { from: "2026-11-01", to: "2026-11-30", language: "de" }));
    expect(german.text).toContain(
      "Für den einen geprüften von 30 Tagen (1. bis 30. November 2026) zählt SendGrid 5.000 Ereignisse.",
    );
    expect(text).toContain("Tue, 03/11/2026 not checked, up to Mon, 30/11/2026");
    expect(text).toContain("1 to 30 November 2026");
  });

  it("has a line for each day and account of a period, on as many pages as that takes, each with its head and number", async () => {
    const days = Array.from({ length: 61 }, (_, index) =>
      result(new Date(Date.UTC(2026, 9, 1 + index)).toISOString().slice(0, 10), index === 7 ? "missing" : "equal", {
        account: index % 2 === 0 ? "" : "shop",
        open: index === 7 ? 5 : 0,
      }),
    );
    const { text, pages } = await read(facts(days, { from: "2026-10-01", to: "2026-11-30" }));
    expect(text.match(/(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d\/\d\d\/2026/g)).toHaveLength(61);
    expect(pages).toBeGreaterThan(2);
    expect(text.match(/Day Account Result SendGrid says/g)?.length).toBeGreaterThan(1);
    for (let page = 1; page <= pages; page += 1) expect(text).toContain(`Page ${page} of ${pages}`);
    expect(text).toContain("305,000");
    expect(text).toContain("1 October to 30 November 2026");
  });

  it("says how each kind was checked and how sure that is", async () => {
    const kinds = [
      kind("delivered", 10),
      kind("open", 5, { checkedBy: "logs", confidence: "confirmed" }),
      kind("group_unsubscribe", null, { held: 1, checkedBy: "rules", confidence: "suspected" }),
      kind("new_kind", 3, { checkedBy: "oracle", confidence: "0.5" }),
    ];
    const { text } = await read(facts([result("2026-11-29", "equal", { kinds })]));
    expect(text).toContain("Delivered: SendGrid's daily totals (certain).");
    expect(text).toContain("Opened: SendGrid's Email Logs, message by message (certain).");
    expect(text).toContain("new_kind: oracle (0.5).");
    expect(text).toContain("Unsubscribed from a group no total 1");
  });

  it("prints a hash that anybody can compute from the canonical JSON", async () => {
    const certificate = facts([REPAIRED]);
    const bytes = canonicalJson(certificate.figures);
    expect(bytes).toMatch(
      /^\{"days":\[\{"account":"","checkedAt":"2026-11-29T23:30:12.000Z","day":"2026-11-29","final":true,/,
    );
    const hash = createHash("sha256").update(bytes).digest("hex");
    expect(figuresHash(certificate.figures)).toBe(hash);
    const { text } = await read(certificate);
    expect(text).toContain(hash);
    expect(text).toContain("/api/completeness.json?from=2026-11-29&to=2026-11-29");
    const turned = {
      to: "2026-11-29",
      days: certificate.figures.days.map((day) => Object.fromEntries(Object.entries(day).toReversed())),
      from: "2026-11-29",
    };
    expect(canonicalJson(turned)).toBe(bytes);
  });

  it("has the same bytes for the same data, and others for other data", async () => {
    const [first, again, other] = await Promise.all([
      drawCertificate(facts([REPAIRED], { isPlain: false })),
      drawCertificate(facts([REPAIRED], { isPlain: false })),
      drawCertificate(facts([result("2026-11-29")], { isPlain: false })),
    ]);
    expect(first.equals(again)).toBe(true);
    expect(first.equals(other)).toBe(false);
    expect(first.toString("latin1")).toContain("(D:20261129233012Z)");
  });

  it("says of simulated traffic that it is no real mail", async () => {
    const simulated = facts([result("2026-11-29", "equal", { simulated: true })]);
    expect((await read(simulated)).text).toContain("certifies no real mail");
    expect((await read({ ...simulated, language: "de" })).text).toContain("bescheinigt keine wirkliche Mail");
    expect((await read(facts([REPAIRED]))).text).not.toContain("certifies no real mail");
  });

  it("prints what its fonts have not as a question mark, and breaks no page over it", async () => {
    const { text } = await read(facts([result("2026-11-29", "equal", { account: "商店\u202e()\\ müller" })]));
    expect(text).toContain("???()\\ müller");
  });
});
