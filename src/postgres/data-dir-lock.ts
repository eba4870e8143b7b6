import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { UsageError } from "../errors.ts";

/** The holder's pid and since when, for the one who is refused. The lock itself is `holdfast.lock`. */
const HOLDER_FILE = "holdfast.pid";
const SQLITE_BUSY = 5;
/** A database that is garbage-collected is closed, and its lock gone: whoever forgets to release still holds. */
const held = new Set<DatabaseSync>();

export interface DataDirLock {
  release(): Promise<void>;
}

/**
 * Takes the data directory (made when it is not there) for this process alone, until released or until the process ends.
 * `startEmbeddedPostgres` does so by itself.
 *
 * The lock is one of the kernel on `holdfast.lock`, which SQLite takes for us since Node has no call for it: it vanishes
 * with its process even after kill -9, two at the same moment cannot both have it, and it holds between containers that
 * share a volume, where a pid means nothing. A file that names a pid has none of the three.
 *
 * @throws UsageError naming who holds the directory, or why it cannot be written.
 */
export async function lockDataDir(dataDir: string): Promise<DataDirLock> {
  const holderFile = join(dataDir, HOLDER_FILE);
  const lock = await takeLock(dataDir, holderFile);
  await writeFile(holderFile, `${process.pid}\n${new Date().toISOString()}\n`, { mode: 0o600 });
  held.add(lock);
  return {
    async release() {
      if (!held.delete(lock)) return;
      // Before the lock is given up: afterwards the file may already be the next holder's.
      await rm(holderFile, { force: true });
      lock.close();
    },
  };
}

async function takeLock(dataDir: string, holderFile: string): Promise<DatabaseSync> {
  let lock: DatabaseSync | undefined;
  try {
    // The mode would also go to folders made above it, which others may have to pass through.
    await mkdir(dirname(dataDir), { recursive: true });
    await mkdir(dataDir, { recursive: true, mode: 0o700 });
    lock = new DatabaseSync(join(dataDir, "holdfast.lock"), { timeout: 0 });
    lock.exec("PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE");
    return lock;
  } catch (error) {
    lock?.close();
    if (error instanceof Error && "errcode" in error && error.errcode === SQLITE_BUSY) {
      throw new UsageError(
        `The data in ${dataDir} is held by another Holdfast${await describeHolder(holderFile)}. ` +
          "Stop that one, or set HOLDFAST_DATA_DIR to another folder.",
      );
    }
    const reason = error instanceof Error ? error.message : String(error);
    throw new UsageError(`HOLDFAST_DATA_DIR ${dataDir} cannot be used: ${reason}`, { cause: error });
  }
}

async function describeHolder(holderFile: string): Promise<string> {
  const text = await readFile(holderFile, "utf8").catch(() => "");
  const [, pid, since] = /^(\d+)\n(\S+)\n$/.exec(text) ?? [];
  // The file is written just after the lock is taken, so it can be missing for a moment.
  return pid === undefined || since === undefined ? "" : `: process ${pid}, since ${since}`;
}
