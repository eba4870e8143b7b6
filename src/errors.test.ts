import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { CLIENT_ERRORS } from "./errors.ts";

const ROW = /^\| `([a-z_]+)` \| (\d{3}) \| (.+) \| (.+) \|$/gmu;

describe("docs/errors.md", () => {
  it("lists exactly the codes of the table, with their status", async () => {
    const page = await readFile(join(import.meta.dirname, "../docs/errors.md"), "utf8");
    const listed = [...page.matchAll(ROW)].map(([, code, status]) => `${code} ${status}`);
    const known = Object.entries(CLIENT_ERRORS).map(([code, [status]]) => `${code} ${status}`);
    expect(listed.sort()).toEqual(known.sort());
  });
});
