import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseJsonText } from "./json-text.ts";

/** Objects whose keys begin with a backslash, from which V8 learns what is wrong. */
function spoil(): void {
  for (const key of ["\\", "\\\\", "\\a", "\\\\\\", "a\\"]) {
    for (const before of [{}, { h: [] }, { "": 1 }, { a: 1, b: 2 }])
      parseJsonText(JSON.stringify({ ...before, [key]: 0 }));
  }
}

const piece = fc.constantFrom(
  "\\",
  '"',
  "\n",
  "\t",
  "\b",
  "/",
  "\u0001",
  "a",
  "ä",
  "\u{1f600}",
  "\ud800",
  "key",
  ":",
  "{",
  ",",
  " ",
  "h",
);
const text = fc.array(piece, { maxLength: 4 }).map((pieces) => pieces.join(""));
const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    text,
    fc.constantFrom(0, 1.5, true, null),
    fc.array(tie("value"), { maxLength: 3 }),
    fc.array(fc.tuple(text, tie("value")), { maxLength: 4 }).map((entries): unknown => Object.fromEntries(entries)),
  ),
}));

/** Keys of an object, and all that is in it, in a form that no key can change. */
function shape(parsed: unknown): unknown {
  if (typeof parsed !== "object" || parsed === null) return parsed;
  if (Array.isArray(parsed)) return ["list", ...parsed.map(shape)];
  return ["object", ...Object.keys(parsed).map((key) => [key, shape((parsed as Record<string, unknown>)[key])])];
}

describe("JSON", () => {
  it("has the keys that stand there, whatever keys there were before", () => {
    spoil();
    fc.assert(
      fc.property(fc.array(value, { maxLength: 6 }), fc.constantFrom(undefined, 1), (values, indent) => {
        for (const each of values) {
          spoil();
          expect(shape(parseJsonText(JSON.stringify(each, undefined, indent)))).toEqual(shape(each));
        }
      }),
      { numRuns: 300 },
    );
  });

  it.each(['"', "\n", "\t", "/", "\u0001"])("has a key %j after one that is a backslash", (key) => {
    const escaped = key === "/" ? String.raw`"\/"` : JSON.stringify(key);
    parseJsonText(String.raw`{"h":[],"\\":0}`);
    expect(Object.keys(parseJsonText(`{"h":1,${escaped}:2}`) as object)).toEqual(["h", key]);
  });

  it("has the last value of a key that comes twice, in its first place", () => {
    expect(shape(parseJsonText(String.raw`{"\"":1,"b":2,"\u0022":3}`))).toEqual(["object", ['"', 3], ["b", 2]]);
    expect(shape(parseJsonText(String.raw`{"a":1,"b":2,"\u0061":3}`))).toEqual(["object", ["a", 3], ["b", 2]]);
  });

  it("has __proto__ as a key like any other, however it is written", () => {
    const parsed = parseJsonText(String.raw`{"\u005f_proto__":{"a":1}}`) as object;
    expect([Object.keys(parsed), Object.getPrototypeOf(parsed)]).toEqual([["__proto__"], Object.prototype]);
  });

  it("is revived with the keys' own values", () => {
    const seen: unknown[] = [];
    const parsed = parseJsonText(String.raw`{"a\"":12.50,"b":[{"c\\":3}]}`, (_key, each, context) => {
      if (typeof each !== "number") return each;
      seen.push(context?.source);
      return String(each);
    });
    expect(parsed).toEqual({ 'a"': "12.5", b: [{ "c\\": "3" }] });
    expect(seen).toEqual(["12.50", "3"]);
  });

  it.each(["", "{", '{"\\"', '{"a\\":1}', '{"\\x":1}', '["\\u12"]', '{"a\\"":}', "\\", '\\"', '"\\'])(
    "that is none is refused: %s",
    (broken) => {
      expect(() => parseJsonText(broken)).toThrow(SyntaxError);
    },
  );

  it("is read in a time that grows with its length, however many escapes it has", () => {
    for (const long of ["\\\\", '\\"', "\\n"]) {
      const key = long.repeat(200_000);
      expect(Object.keys(parseJsonText(`{"${key}":1}`) as object)[0]).toHaveLength(200_000);
    }
  });
});
