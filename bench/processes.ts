import { readdir, readFile } from "node:fs/promises";

/** What processes use, as Linux's /proc tells it. Elsewhere nothing is known, and no figure is made up. */

/** USER_HZ is 100 on every Linux that Node runs on. */
const TICKS_PER_SECOND = 100;

interface Stat {
  pid: number;
  parent: number;
  /** Of itself and of its ended children that it waited for. */
  cpuSeconds: number;
}

/** CPU seconds so far of these processes and all their descendants, those that ended included; undefined where it is not known. */
export async function cpuSeconds(roots: readonly number[]): Promise<number | undefined> {
  const family = await familyOf(roots);
  if (family === undefined) return undefined;
  return family.reduce((sum, stat) => sum + stat.cpuSeconds, 0);
}

/** Resident memory of one process in bytes; undefined where it is not known. */
export async function residentBytes(pid: number): Promise<number | undefined> {
  const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
  const [, kib] = /^VmRSS:\s+(\d+) kB$/m.exec(status) ?? [];
  return kib === undefined ? undefined : Number(kib) * 1024;
}

/** Memory of these processes and all their descendants, what they share counted once; undefined where it is not known. */
export async function familyBytes(roots: readonly number[]): Promise<number | undefined> {
  const family = await familyOf(roots);
  if (family === undefined) return undefined;
  let bytes = 0;
  for (const { pid } of family) {
    const rollup = await readFile(`/proc/${pid}/smaps_rollup`, "utf8").catch(() => "");
    const [, kib = "0"] = /^Pss:\s+(\d+) kB$/m.exec(rollup) ?? [];
    bytes += Number(kib) * 1024;
  }
  return bytes;
}

async function familyOf(roots: readonly number[]): Promise<Stat[] | undefined> {
  const names = await readdir("/proc").catch(() => []);
  const stats = await Promise.all(names.filter((name) => /^\d+$/.test(name)).map(readStat));
  const known = new Map(stats.filter((stat) => stat !== undefined).map((stat) => [stat.pid, stat]));
  if (known.size === 0) return undefined;
  const wanted = new Set(roots);
  const belongs = (stat: Stat | undefined): boolean =>
    stat !== undefined && (wanted.has(stat.pid) || belongs(known.get(stat.parent)));
  return [...known.values()].filter(belongs);
}

async function readStat(pid: string): Promise<Stat | undefined> {
  const text = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
  // The name stands in brackets and may hold anything, brackets too.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  if (fields.length < 15) return undefined;
  const [parent, user, system, childUser, childSystem] = [1, 11, 12, 13, 14].map((at) => Number(fields[at]));
  const ticks = (user ?? 0) + (system ?? 0) + (childUser ?? 0) + (childSystem ?? 0);
  return { pid: Number(pid), parent: parent ?? 0, cpuSeconds: ticks / TICKS_PER_SECOND };
}
