import type { EventKey } from "../ledger/read-events.ts";

/** What one projecting transaction announced. */
export interface Announced {
  keys: readonly EventKey[];
  /** Filed, but not named in the announcement. */
  skipped: number;
}

/** What was announced lately, numbered, so that a page that was away for a moment gets what it missed. */
export interface Ring {
  /** The number of the newest announcement. */
  readonly last: number;
  add(announced: Announced): void;
  /** Forgets everything: announcements may have been missed, so nobody can be told what came since when. */
  clear(): void;
  /** What came after number `seq`, oldest first; undefined when that is no longer known, or never was a number. */
  since(seq: number): readonly Announced[] | undefined;
  /** The newest events, oldest first. */
  latest(count: number): EventKey[];
}

/** Keeps the newest announcements, as many as have `eventsMax` events among them. */
export function createRing(eventsMax: number): Ring {
  let entries: { seq: number; announced: Announced }[] = [];
  let last = 0;
  /** Everything after this number is known. */
  let floor = 0;
  let events = 0;

  return {
    get last() {
      return last;
    },
    add(announced) {
      last += 1;
      entries.push({ seq: last, announced });
      events += announced.keys.length;
      // An announcement without a single event takes room too.
      while (events > eventsMax || entries.length > eventsMax) {
        const oldest = entries.shift();
        if (oldest === undefined) break;
        floor = oldest.seq;
        events -= oldest.announced.keys.length;
      }
    },
    clear() {
      last += 1;
      floor = last;
      entries = [];
      events = 0;
    },
    since(seq) {
      if (seq < floor || seq > last) return undefined;
      return entries.filter((entry) => entry.seq > seq).map((entry) => entry.announced);
    },
    latest(count) {
      return entries.flatMap((entry) => entry.announced.keys).slice(-count);
    },
  };
}
