import type { Operation } from "./history.ts";

/** What a run sent, as far as the checker needs it. An element is one distinct event; its key is how the ledger names it. */
export interface SentPosts {
  /** The ledger's key of each element. Two elements can share a key where SendGrid left the ids out. */
  keys: readonly string[];
  /** The elements in each POST, by the POST's number. */
  elementsOf: ReadonlyMap<number, readonly number[]>;
}

export interface SetFull {
  /** Acknowledged and there. */
  ok: number;
  /** Acknowledged and not there: never allowed. */
  lost: string[];
  /** Refused as `unavailable`, hence in the spool by promise P1, and not there although the spool is empty: never allowed. */
  unkept: string[];
  /** More rows than events: never allowed. */
  double: string[];
  /** Rows that nobody sent: never allowed. */
  phantom: string[];
  /** Never acknowledged, and there: allowed. */
  recovered: number;
  /** Never acknowledged, and not there: allowed. */
  absent: number;
}

/**
 * Compares what was sent and how it was answered with what the ledger holds at the end. `found` counts rows by key.
 * An event is held to the best answer that any POST with it got.
 */
export function checkSetFull(
  sent: SentPosts,
  operations: Iterable<Operation>,
  found: ReadonlyMap<string, number>,
): SetFull {
  const acknowledged = new Set<number>();
  const kept = new Set<number>();
  for (const { f, type, post, error } of operations) {
    if (f !== "post" || post === undefined) continue;
    const elements = sent.elementsOf.get(post) ?? [];
    if (type === "ok") for (const element of elements) acknowledged.add(element);
    if (type === "info" && error === "unavailable") for (const element of elements) kept.add(element);
  }
  const result: SetFull = { ok: 0, lost: [], unkept: [], double: [], phantom: [], recovered: 0, absent: 0 };
  const posted = new Set([...sent.elementsOf.values()].flat());
  const byKey = Map.groupBy(posted, (element) => sent.keys[element] ?? `unknown element ${element}`);
  for (const [key, elements] of byKey) {
    const rows = found.get(key) ?? 0;
    const mustBeThere = elements.filter((element) => acknowledged.has(element)).length;
    const promised = elements.filter((element) => acknowledged.has(element) || kept.has(element)).length;
    result.ok += Math.min(rows, mustBeThere);
    result.recovered += Math.max(0, Math.min(rows, elements.length) - mustBeThere);
    repeat(mustBeThere - rows, () => result.lost.push(key));
    repeat(promised - Math.max(rows, mustBeThere), () => result.unkept.push(key));
    repeat(rows - elements.length, () => result.double.push(key));
    result.absent += Math.max(0, elements.length - Math.max(rows, promised));
  }
  for (const key of found.keys()) if (!byKey.has(key)) result.phantom.push(key);
  return result;
}

function repeat(times: number, action: () => void): void {
  for (let n = 0; n < times; n += 1) action();
}

export interface Staleness {
  /** Acknowledged POSTs of which a read said that they were not visible yet, and the times until one said they were. */
  stale: number;
  p50Ms: number;
  p99Ms: number;
  maxMs: number;
}

/** How long acknowledged POSTs took to become visible. `visibleAtMs`: when a read first saw each POST, by its number. */
export function checkStaleness(
  operations: Iterable<Operation>,
  visibleAtMs: ReadonlyMap<number, number>,
  pollMs: number,
): Staleness {
  const acknowledgedAtMs = new Map<number, number>();
  for (const { f, type, post, timeMs } of operations) {
    if (f === "post" && type === "ok" && post !== undefined && !acknowledgedAtMs.has(post)) {
      acknowledgedAtMs.set(post, timeMs);
    }
  }
  const waits = [...acknowledgedAtMs]
    .flatMap(([post, atMs]) => {
      const seenAtMs = visibleAtMs.get(post);
      return seenAtMs === undefined ? [] : [Math.max(0, seenAtMs - atMs)];
    })
    .sort((a, b) => a - b);
  const at = (share: number): number => Math.round(waits[Math.floor(share * (waits.length - 1))] ?? 0);
  return {
    // A wait below two reads tells of the reads rather than of the ledger.
    stale: waits.filter((wait) => wait > 2 * pollMs).length,
    p50Ms: at(0.5),
    p99Ms: at(0.99),
    maxMs: at(1),
  };
}
