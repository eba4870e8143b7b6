import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { AUDIT_DIFFERENCES_MAX } from "../limits.ts";
import { addDifference, DIFFERENCE_KINDS, type Differences } from "./difference.ts";

test("docs/verify.md lists exactly the kinds of differences that there are", async () => {
  const text = await readFile(join(import.meta.dirname, "../../docs/verify.md"), "utf8");
  const section = text.slice(text.indexOf("### Differences"), text.indexOf("### What it cannot find"));
  const listed = Array.from(section.matchAll(/^\| `(\w+)` \|/gm), ([, kind]) => kind);
  expect(listed).toEqual(Object.keys(DIFFERENCE_KINDS));
});

test("differences beyond the limit are counted and not kept", () => {
  const differences: Differences = { total: 0, listed: [] };
  for (let receipt = 0; receipt < AUDIT_DIFFERENCES_MAX + 5; receipt += 1) {
    addDifference(differences, { kind: "body_changed", receipt });
  }
  expect(differences.total).toBe(AUDIT_DIFFERENCES_MAX + 5);
  expect(differences.listed).toHaveLength(AUDIT_DIFFERENCES_MAX);
});
