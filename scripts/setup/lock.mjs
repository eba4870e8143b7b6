import { randomUUID } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { ROOT, SetupFailed, say } from "./root.mjs";

/**
 * One setup at a time in a checkout. The lock is a folder that is made aside, with a note of its holder in it, and
 * renamed into its place: a rename onto a folder that is not empty fails, so at most one succeeds, and no lock is ever
 * seen without its note.
 *
 * @typedef {{ pid: number, started: string }} Process
 * @typedef {{ token: string, host: string, processes: Process[] }} Holder
 * @typedef {{ alsoHeldBy: (pid: number) => void }} Lock
 */

const LOCK = join(ROOT, "dist/setup.lock");
const POLL_MS = 200;
/** A cold installation over a slow line takes minutes. After this the holder hangs, or runs where we cannot see it. */
const HELD_MS_MAX = 15 * 60_000;

/**
 * Waits for the lock, does the work, and gives the lock back, whatever the work came to.
 *
 * @template T
 * @param {(lock: Lock) => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function withLock(work) {
  const holder = await acquire();
  try {
    return await work({
      // Should this process be killed, its npm lives on for a while and must still keep others out.
      alsoHeldBy(pid) {
        holder.processes.push(describeProcess(pid));
        note(LOCK, holder);
      },
    });
  } finally {
    remove(LOCK);
  }
}

/** @returns {Promise<Holder>} */
async function acquire() {
  /** @type {Holder} */
  const mine = { token: randomUUID(), host: hostname(), processes: [describeProcess(process.pid)] };
  const startedMs = performance.now();
  let hasSaid = false;
  while (!tryAcquire(mine)) {
    const other = readHolder(LOCK);
    if (other === undefined) continue;
    if (isOver(other)) {
      steal(other);
      continue;
    }
    if (!hasSaid) say(`waiting for another setup of this checkout (process ${other.processes[0]?.pid}) to finish`);
    hasSaid = true;
    if (performance.now() - startedMs > HELD_MS_MAX) {
      throw new SetupFailed(`another setup has held ${LOCK} for too long; if there is none, remove that folder`);
    }
    await delay(POLL_MS);
  }
  return mine;
}

/** @param {Holder} mine */
function tryAcquire(mine) {
  const aside = `${LOCK}.${mine.token}`;
  mkdirSync(aside, { recursive: true });
  note(aside, mine);
  try {
    renameSync(aside, LOCK);
    return true;
  } catch (error) {
    rmSync(aside, { recursive: true, force: true });
    if (hasCode(error, "ENOTEMPTY", "EEXIST")) return false;
    throw error;
  }
}

/**
 * Takes away a lock whose holder is gone. Between reading the note and the rename another may have done the same and
 * hold a lock of its own; that one is put back.
 *
 * @param {Holder} gone
 */
function steal(gone) {
  const aside = `${LOCK}.${randomUUID()}`;
  try {
    renameSync(LOCK, aside);
  } catch (error) {
    if (hasCode(error, "ENOENT")) return;
    throw error;
  }
  if (readHolder(aside)?.token === gone.token) {
    rmSync(aside, { recursive: true, force: true });
  } else {
    renameSync(aside, LOCK);
  }
}

/** @param {Holder} holder */
function isOver(holder) {
  if (holder.host !== hostname()) return Date.now() - ageMs(LOCK) > HELD_MS_MAX;
  return holder.processes.every(({ pid, started }) => describeProcess(pid).started !== started);
}

/** @param {string} folder */
function ageMs(folder) {
  try {
    return statSync(folder).mtimeMs;
  } catch {
    return Date.now();
  }
}

/**
 * A process number is used again; together with the moment of its start it is not.
 *
 * @param {number} pid
 * @returns {Process} `started` is empty for a process that is no more
 */
function describeProcess(pid) {
  try {
    // After the name in parentheses, the start is the 20th field.
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
      .replace(/^.*\) /su, "")
      .split(" ");
    if (fields[0] !== "Z") return { pid, started: fields[19] ?? "" };
  } catch {
    if (isAliveWithoutProc(pid)) return { pid, started: "unknown" };
  }
  return { pid, started: "" };
}

/** @param {number} pid */
function isAliveWithoutProc(pid) {
  if (process.platform === "linux") return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return hasCode(error, "EPERM");
  }
}

/**
 * @param {string} folder
 * @param {Holder} holder
 */
function note(folder, holder) {
  const next = join(folder, `holder.${holder.token}`);
  writeFileSync(next, JSON.stringify(holder));
  renameSync(next, join(folder, "holder.json"));
}

/**
 * @param {string} folder
 * @returns {Holder | undefined} undefined when it is just being given back
 */
function readHolder(folder) {
  try {
    return /** @type {Holder} */ (JSON.parse(readFileSync(join(folder, "holder.json"), "utf8")));
  } catch (error) {
    if (hasCode(error, "ENOENT")) return undefined;
    throw error;
  }
}

/** @param {string} folder */
function remove(folder) {
  const aside = `${folder}.${randomUUID()}`;
  try {
    renameSync(folder, aside);
  } catch (error) {
    if (hasCode(error, "ENOENT")) return;
    throw error;
  }
  rmSync(aside, { recursive: true, force: true });
}

/**
 * @param {unknown} error
 * @param {string[]} codes
 */
function hasCode(error, ...codes) {
  return error instanceof Error && "code" in error && codes.includes(String(error.code));
}
