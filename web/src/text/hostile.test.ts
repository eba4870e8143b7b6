import { describe, expect, test } from "vitest";
import { clip, isolate, line, plain, splitIsolated, visible } from "./hostile.ts";

describe("foreign text", () => {
  test("a right-to-left override is written out instead of turning the line", () => {
    expect(visible("invoice\u202Efdp.exe")).toBe("invoice[U+202E]fdp.exe");
  });

  test("control characters, zero-width spaces and tag characters are written out; tabs, newlines and joiners stay", () => {
    expect(visible("a\u0000b\u007f\u200b\ufeff\u{e0041}")).toBe("a[U+0000]b[U+007F][U+200B][U+FEFF][U+E0041]");
    expect(visible("a\tb\nc 👩‍💻")).toBe("a\tb\nc 👩‍💻");
    expect(visible("a\r\nb\rc")).toBe("a\nb[U+000D]c");
  });

  test("a clipped text never ends in half a character and says how much is missing", () => {
    expect(clip("ab😀cd", 3)).toEqual({ text: "ab", leftOut: 4 });
    expect(clip("abc", 3)).toEqual({ text: "abc", leftOut: 0 });
  });

  test("a line has no line breaks and shows that it was cut", () => {
    expect(line("550 5.1.1\r\nno such user")).toBe("550 5.1.1 no such user");
    expect(line("x".repeat(500)).length).toBe(401);
  });

  test("an isolated text cannot end its own isolation", () => {
    const sentence = `Delivered to ${isolate("a\u2069\u202Eb@example.com")} today.`;
    expect(splitIsolated(sentence)).toEqual([
      { text: "Delivered to ", foreign: false, at: 0 },
      { text: "a[U+2069][U+202E]b@example.com", foreign: true, at: 13 },
      { text: " today.", foreign: false, at: 45 },
    ]);
    expect(plain(sentence)).toBe("Delivered to a[U+2069][U+202E]b@example.com today.");
  });

  test("HTML stays text", () => {
    expect(line("<script>alert(1)</script>")).toBe("<script>alert(1)</script>");
  });
});
