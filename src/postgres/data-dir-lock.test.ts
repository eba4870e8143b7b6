import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { UsageError } from "../errors.ts";
import { lockDataDir } from "./data-dir-lock.ts";

const SERVICE = join(import.meta.dirname, "../../test/embedded-service.ts");

describe("lockDataDir", () => {
  let folder: string;
  let dataDir: string;
  const children: ChildProcess[] = [];

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "holdfast-lock-"));
    dataDir = join(folder, "data");
  });

  afterEach(async () => {
    for (const child of children.splice(0)) child.kill("SIGKILL");
    await rm(folder, { recursive: true });
  });

  async function holdInAnotherProcess(): Promise<ChildProcess> {
    const child = spawn(process.execPath, [SERVICE, "--lock-only", dataDir], { stdio: ["ignore", "pipe", "inherit"] });
    children.push(child);
    await once(child.stdout, "data");
    return child;
  }

  it("says which process holds the directory and since when", async () => {
    const holder = await holdInAnotherProcess();
    const refusal: unknown = await lockDataDir(dataDir).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(UsageError);
    expect(String(refusal)).toMatch(
      new RegExp(`held by another Holdfast: process ${holder.pid}, since 20\\d\\d-\\d\\d-\\d\\dT`),
    );
  });

  it("is free again once its holder was killed with -9", async () => {
    const holder = await holdInAnotherProcess();
    holder.kill("SIGKILL");
    await once(holder, "exit");
    await expect(lockDataDir(dataDir).then(async (lock) => lock.release())).resolves.toBeUndefined();
  });

  it("lets exactly one of several take it that try at the same moment", async () => {
    const tries = await Promise.allSettled(Array.from({ length: 8 }, async () => lockDataDir(dataDir)));
    const taken = tries.flatMap((attempt) => (attempt.status === "fulfilled" ? [attempt.value] : []));
    expect(taken).toHaveLength(1);
    await taken[0]?.release();
  });

  it("is free again after release, which may be said twice", async () => {
    const first = await lockDataDir(dataDir);
    await first.release();
    const second = await lockDataDir(dataDir);
    await first.release();
    await expect(lockDataDir(dataDir)).rejects.toThrow(UsageError);
    await second.release();
  });

  it("names the setting when the directory cannot be made", async () => {
    await writeFile(dataDir, "a file is in the way");
    await expect(lockDataDir(dataDir)).rejects.toThrow(/^HOLDFAST_DATA_DIR .* cannot be used/);
  });
});
