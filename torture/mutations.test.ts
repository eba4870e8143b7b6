import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { FAULTS } from "./faults/all.ts";
import { applyEdit, MUTATIONS } from "./mutations.ts";
import { ROOT } from "./world.ts";

/** Without these, `--prove-checker` would only say weeks later that the source has moved on. */
describe("each mutation", () => {
  test.each(MUTATIONS.map((mutation) => [mutation.name, mutation] as const))(
    "%s still finds what it replaces, and only once",
    async (_name, { edits }) => {
      for (const edit of edits) {
        const text = await readFile(join(ROOT, edit.file), "utf8");
        expect(applyEdit(text, edit)).not.toBe(text);
      }
    },
  );

  test("names faults that there are", () => {
    for (const { faults } of MUTATIONS) {
      for (const name of faults) expect(FAULTS.map((fault) => fault.name)).toContain(name);
    }
  });

  test("refuses to change what it does not find, or finds twice", () => {
    const edit = { file: "a.ts", from: "x", to: "$1" };
    expect(applyEdit("axb", edit)).toBe("a$1b");
    expect(() => applyEdit("ab", edit)).toThrow("a.ts holds 0 times");
    expect(() => applyEdit("xx", edit)).toThrow("a.ts holds 2 times");
  });
});
