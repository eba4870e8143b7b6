import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DICTIONARY_LEARNT_CHARS_MAX, DICTIONARY_RECIPIENTS_MIN } from "../limits.ts";
import { learnPieces, type SampleEvent } from "./learn-dictionary.ts";

const GRAM = 8;

/** Events to so many recipients, one each. */
const toEach = (recipients: number, text: (n: number) => string): SampleEvent[] =>
  Array.from({ length: recipients }, (_, n) => ({ recipient: `${n}@example.com`, text: text(n) }));

async function learn(events: readonly SampleEvent[]): Promise<string> {
  return (await learnPieces(events)).join("");
}

describe("what is learnt from events", () => {
  it("is what they have in common, and nothing that only some say", async () => {
    const learnt = await learn(
      toEach(
        40,
        (n) => `{"email":"${n}@example.com","sg_template_id":"d-91d2e4c8b7a6453f","ref":"${(n * 7919) ** 3}"}`,
      ),
    );
    expect(learnt).toContain('@example.com","sg_template_id":"d-91d2e4c8b7a6453f","ref":"');
    expect(learnt).not.toMatch(/"ref":"\d{8}/);
  });

  it("is nothing that comes in the mail of too few, however often it comes", async () => {
    const secret = "the invoice of Anna Schmidt, Gartenweg 7";
    const few = DICTIONARY_RECIPIENTS_MIN - 1;
    const repeated = Array.from({ length: 60 }, (_, n) => ({ recipient: `${n % few}@example.com`, text: secret }));
    expect(await learn(repeated)).toBe("");
    const sameInOtherLetters = repeated.map((event, n) => ({ ...event, recipient: n % 2 === 0 ? "a@b.c" : "A@B.C" }));
    expect(await learn(sameInOtherLetters)).toBe("");
    expect(await learn([...repeated, { recipient: "one.more@example.com", text: secret }])).toBe(secret);
  });

  it("has the best at its end", async () => {
    const events = [
      ...toEach(20, () => '"seldom":"seldom and long, but seldom",'),
      ...toEach(80, (n) => `"often":"much more often"${n}`),
    ];
    const learnt = await learn(events);
    expect(learnt.indexOf("seldom and long")).toBeGreaterThanOrEqual(0);
    expect(learnt.indexOf("much more often")).toBeGreaterThan(learnt.indexOf("seldom and long"));
  });

  it("never grows beyond its limit", async () => {
    const words = Array.from({ length: 400 }, (_, word) => `"${word}-${(word * 7919) ** 3}-${(word * 104_729) ** 3}"`);
    const learnt = await learn(toEach(30, (n) => words.slice((n % 5) * 80, (n % 5) * 80 + 80).join("")));
    expect(learnt.length).toBeGreaterThan(DICTIONARY_LEARNT_CHARS_MAX / 2);
    expect(learnt.length).toBeLessThanOrEqual(DICTIONARY_LEARNT_CHARS_MAX);
  });

  it("is nothing without events, and of events that are too short", async () => {
    expect(await learn([])).toBe("");
    expect(await learn(toEach(40, () => "short"))).toBe("");
  });

  it("holds of no piece what only some people's mail says", async () => {
    const word = fc.constantFrom("aaaa", "bbbbb", "cc", "ä", "\u{1f600}", "dddddddd", "0123456789");
    const events = fc.array(
      fc.record({
        recipient: fc.constantFrom("a", "b", "c", "d", "e", "f", "g", "h"),
        text: fc.array(word, { maxLength: 12 }).map((words) => words.join("")),
      }),
      { maxLength: 60 },
    );
    await fc.assert(
      fc.asyncProperty(events, async (drawn) => {
        for (const piece of await learnPieces(drawn)) {
          for (let at = 0; at + GRAM <= piece.length; at += 1) {
            const gram = piece.slice(at, at + GRAM);
            const said = new Set(drawn.filter(({ text }) => text.includes(gram)).map(({ recipient }) => recipient));
            expect(said.size).toBeGreaterThanOrEqual(DICTIONARY_RECIPIENTS_MIN);
          }
        }
      }),
      { numRuns: 60 },
    );
  });
});
