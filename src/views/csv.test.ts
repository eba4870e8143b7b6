import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { csvLine } from "./csv.ts";

/** Reads one line of quoted cells back, as RFC 4180 says. */
function readLine(line: string): string[] {
  return [...line.slice(0, -2).matchAll(/"((?:[^"]|"")*)"(?:,|$)/g)].map(([, cell = ""]) => cell.replaceAll('""', '"'));
}

describe("a line of CSV", () => {
  test("quotes every text, and leaves numbers and words of its own alone", () => {
    expect(csvLine(['a "b", c', 3, true, null, "two\nlines"])).toBe('"a ""b"", c",3,true,,"two\nlines"\r\n');
  });

  test.each([
    "=1+1",
    "+49 30 1234",
    "-1",
    "@sum(a)",
    "\tx",
    "\r=1",
    " =1",
    "＝1",
    "\u200b=1",
    '=HYPERLINK("http://x")',
  ])("%j is text for a spreadsheet", (text) => {
    expect(readLine(csvLine([text]))).toEqual([`'${text}`]);
  });

  test("any text comes back whole, and none begins as a formula", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: "binary" }), { minLength: 1 }), (texts) => {
        const read = readLine(csvLine(texts));
        expect(read.map((cell) => cell.replace(/^'/, ""))).toEqual(texts.map((text) => text.replace(/^'/, "")));
        for (const cell of read) expect(cell).not.toMatch(/^[=+\-@\t\r]/);
      }),
    );
  });
});
