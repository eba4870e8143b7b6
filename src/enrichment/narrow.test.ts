import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { API_QUERY_CHARS_MAX } from "../limits.ts";
import { patternQuery, type Narrowing } from "../sendgrid/query.ts";
import { matchesNarrowing, narrow, type Narrowed } from "./narrow.ts";

const named = (...ids: string[]): Narrowed[] => ids.map((messageId) => ({ messageId, categories: [] }));
const idsOf = (part: Narrowing, targets: readonly Narrowed[]): string[] =>
  targets.filter((target) => matchesNarrowing(part, target)).map(({ messageId }) => messageId);

/** As SendGrid makes them: the send's id, the server's part, the recipient's number. */
function sendIds(sends: number, recipients: number): string[] {
  const ids: string[] = [];
  for (let send = 0; send < sends; send += 1) {
    const name = Buffer.from(`send number ${send * 7919}`)
      .toString("base64url")
      .split("")
      .reverse()
      .join("");
    for (let recipient = 0; recipient < recipients; recipient += 1)
      ids.push(`${name}.recvd-abc-1-${send}-2.${recipient}`);
  }
  return ids;
}

describe("narrowing in the Messages API", () => {
  it("parts ids by their beginnings so that every id is in exactly one part", () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.stringMatching(/^[a-c_]{1,5}$/), { minLength: 2 }), (ids) => {
        const parts = narrow("messages", undefined, named(...ids));
        expect(parts.length).toBeGreaterThanOrEqual(2);
        expect(parts.flatMap((part) => idsOf(part, named(...ids))).sort()).toEqual([...ids].sort());
      }),
    );
  });

  it.each([
    ["2,000 sends of one mail", sendIds(2000, 1)],
    ["two sends of 1,000 mails", sendIds(2, 1000)],
    ["one send of 2,000 mails", sendIds(1, 2000)],
  ])("parts %s in about as few parts as they need", (_, ids) => {
    const parts = narrow("messages", undefined, named(...ids));
    expect(parts.length).toBeLessThanOrEqual(5);
    for (const part of parts) expect(idsOf(part, named(...ids)).length).toBeLessThanOrEqual(1000);
  });

  it("keeps each question short enough for an address", () => {
    const long = Array.from({ length: 900 }, (_, index) => `${String.fromCodePoint(0x4e00 + index)}${"x".repeat(60)}`);
    for (const part of narrow("messages", undefined, named(...long))) {
      const chars = part.by === "id" ? part.patterns.map(patternQuery).join(" OR ").length : Infinity;
      expect(chars).toBeLessThanOrEqual(API_QUERY_CHARS_MAX);
    }
  });

  it("asks for a single id as it is, and then has nothing narrower", () => {
    const [part] = narrow("messages", { by: "id", patterns: [{ text: "ab", exact: false }] }, named("abc"));
    expect(part).toEqual({ by: "id", patterns: [{ text: "abc", exact: true }] });
    expect(narrow("messages", part, named("abc"))).toEqual([]);
  });

  it("tells an id from those that it begins", () => {
    const parts = narrow("messages", undefined, named("s.1", "s.10"));
    expect(parts.map((part) => idsOf(part, named("s.1", "s.10")))).toEqual([["s.1"], ["s.10"]]);
  });

  it("never cuts a character in two", () => {
    const ids = ["😀a", "😁a", "😂"];
    const parts = narrow("messages", undefined, named(...ids));
    const texts = parts.flatMap((part) => (part.by === "id" ? part.patterns.map(({ text }) => text) : []));
    expect(texts.every((text) => text.isWellFormed())).toBe(true);
    expect(parts.flatMap((part) => idsOf(part, named(...ids))).sort()).toEqual([...ids].sort());
  });
});

describe("narrowing in Email Logs", () => {
  const targets: Narrowed[] = ["invoice", "reset", "welcome"].map((category) => ({
    messageId: category,
    categories: [category],
  }));

  it("asks for the delivered and for all others, then for one status after the other", () => {
    const [delivered, others] = narrow("logs", undefined, targets);
    expect(delivered).toEqual({ by: "status", statuses: ["delivered"] });
    expect(others).toMatchObject({ statuses: ["processed", "deferred", "dropped", "bounced", "blocked"] });
    expect(narrow("logs", others, targets)).toMatchObject([{ statuses: { length: 3 } }, { statuses: { length: 2 } }]);
  });

  it("then asks by the messages' categories, and then has nothing narrower", () => {
    const parts = narrow("logs", { by: "status", statuses: ["delivered"] }, targets);
    expect(parts).toEqual([
      { by: "status", statuses: ["delivered"], categories: ["invoice", "reset"] },
      { by: "status", statuses: ["delivered"], categories: ["welcome"] },
    ]);
    expect(narrow("logs", parts[1], targets)).toEqual([]);
  });

  it("has nothing narrower for messages without a category", () => {
    expect(narrow("logs", { by: "status", statuses: ["delivered"] }, named("a", "b"))).toEqual([]);
  });
});
