import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { cutPower } from "./power-cut.ts";

let spool: string;

beforeEach(async () => {
  spool = await mkdtemp(join(tmpdir(), "holdfast-test-spool-"));
});
afterEach(async () => {
  await rm(spool, { recursive: true });
});

const synced = (path: string): string => `7 fsync(21<${path}>) = 0`;
const renamed = (from: string, to: string): string => `7 rename("${spool}/${from}", "${spool}/${to}") = 0`;

/** What stands in the folder after the cut. */
async function after(...record: string[]): Promise<Record<string, string>> {
  await writeFile(join(spool, "a"), "content");
  await cutPower(spool, record.join("\n"));
  const contents: Record<string, string> = {};
  for (const name of await readdir(spool)) contents[name] = await readFile(join(spool, name), "utf8");
  return contents;
}

describe("a power cut", () => {
  test("leaves what was fsynced before its name and whose folder was fsynced after it", async () => {
    expect(await after(synced(`${spool}/a.part`), renamed("a.part", "a"), synced(spool))).toEqual({ a: "content" });
  });

  test("empties a file that was not fsynced, or only after it had its name", async () => {
    expect(await after(renamed("a.part", "a"), synced(spool))).toEqual({ a: "" });
    expect(await after(`7 fsync(21<${spool}/a.part>) = -1 EIO`, renamed("a.part", "a"), synced(spool))).toEqual({
      a: "",
    });
  });

  test("takes a name away that the folder was not fsynced for since", async () => {
    expect(await after(synced(`${spool}/a.part`), synced(spool), renamed("a.part", "a"))).toEqual({});
  });

  test("understands calls of several threads that interleave", async () => {
    const record = [
      `7 fsync(21<${spool}/a.part> <unfinished ...>`,
      `8 fsync(22<${spool}/b.part>) = 0`,
      "7 <... fsync resumed>) = 0",
      `7 rename("${spool}/a.part", "${spool}/a" <unfinished ...>`,
      '8 rename("/x", "/y") = 0',
      "7 <... rename resumed>) = 0",
      synced(spool),
    ];
    expect(await after(...record)).toEqual({ a: "content" });
  });

  test("takes for safe what was there before the record began", async () => {
    expect(await after()).toEqual({ a: "content" });
  });
});
