import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { logSince, rotateServerLog } from "./embedded-log.ts";

describe("the embedded server's log", () => {
  let folder: string;
  let file: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "holdfast-log-"));
    file = join(folder, "postgres.log");
  });

  afterEach(async () => {
    await rm(folder, { recursive: true });
  });

  it("stays as it is up to its bound, and when there is none yet", async () => {
    await rotateServerLog(file, 10);
    await writeFile(file, "0123456789");
    await rotateServerLog(file, 10);
    expect(await readFile(file, "utf8")).toBe("0123456789");
  });

  it("beyond its bound is kept once and emptied in place", async () => {
    await writeFile(file, "first, long");
    await rotateServerLog(file, 10);
    await writeFile(file, "second, long", { flag: "a" });
    await rotateServerLog(file, 10);
    expect(await readFile(file, "utf8")).toBe("");
    expect(await readFile(`${file}.1`, "utf8")).toBe("second, long");
  });

  it("is quoted from where a start began, and no more than its end", async () => {
    await writeFile(file, "old\nnew one\nnew two\n");
    expect(await logSince(file, 4)).toBe("new one\nnew two");
    expect(await logSince(file, 4, 8)).toBe("new two");
    expect(await logSince(file, 1_000)).toBe("");
  });
});
