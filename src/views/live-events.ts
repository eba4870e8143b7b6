import { readEvents, readLatestEvents, type EventKey, type FiledEventRow } from "../ledger/read-events.ts";
import type { TrafficFilter } from "../ledger/read-sources.ts";
import { SSE_LATEST_EVENTS_MAX, SSE_MESSAGE_EVENTS_MAX } from "../limits.ts";
import type { Connection } from "../postgres/pool.ts";
import type { LiveEvents } from "./contract-live.ts";
import type { Announced, Ring } from "./live-ring.ts";
import { presentLiveEvent } from "./present.ts";
import { wantedTraffic, type FoundTraffic } from "./traffic.ts";

/** Where one page stands: which traffic it shows, and up to which announcement (undefined: it has nothing yet). */
export interface LivePosition {
  filter: TrafficFilter;
  cursor: number | undefined;
}

/**
 * What each position is to be sent, in its order; undefined where there is nothing. One query reads all events that any
 * of them needs, so the cost does not grow with the number of pages.
 */
export async function readLiveEvents(
  tx: Connection,
  ring: Ring,
  positions: readonly LivePosition[],
): Promise<(LiveEvents | undefined)[]> {
  const missed = positions.map(({ cursor }) => (cursor === undefined ? undefined : ring.since(cursor)));
  const latest = ring.latest(SSE_LATEST_EVENTS_MAX);
  const needed = new Map<string, EventKey>();
  for (const announced of missed) {
    const keys = announced?.flatMap((each) => each.keys) ?? latest;
    for (const key of keys) needed.set(textOf(key), key);
  }
  const rows = needed.size === 0 ? [] : await readEvents(tx, [...needed.values()]);
  const byKey = new Map(rows.map((row) => [textOf([row.message, row.eventId]), row]));

  const traffics = new Map<string, FoundTraffic>();
  const answers: (LiveEvents | undefined)[] = [];
  for (const [index, { filter }] of positions.entries()) {
    const filterText = JSON.stringify(filter);
    const traffic = traffics.get(filterText) ?? (await wantedTraffic(tx, filter));
    traffics.set(filterText, traffic);
    const announced = missed[index];
    answers.push(
      announced === undefined
        ? await latestEvents(tx, traffic, lookUp(latest, byKey))
        : missedEvents(announced, traffic, byKey),
    );
  }
  return answers;
}

async function latestEvents(
  tx: Connection,
  traffic: FoundTraffic,
  announced: readonly FiledEventRow[],
): Promise<LiveEvents> {
  const stored = await readLatestEvents(tx, traffic.wanted, SSE_LATEST_EVENTS_MAX);
  // What was announced is surely the latest; what the ledger holds fills up the list after a start.
  const rows = new Map<string, FiledEventRow>();
  const known = new Set(announced.map((row) => textOf([row.message, row.eventId])));
  for (const row of stored) {
    const key = textOf([row.message, row.eventId]);
    if (!known.has(key)) rows.set(key, row);
  }
  for (const row of announced) {
    if (traffic.wanted.includes(row.source)) rows.set(textOf([row.message, row.eventId]), row);
  }
  const events = [...rows.values()].slice(-SSE_LATEST_EVENTS_MAX);
  return { reset: true, events: events.map((row) => presentLiveEvent(row, traffic.sources)), skipped: 0 };
}

function missedEvents(
  announced: readonly Announced[],
  traffic: FoundTraffic,
  byKey: ReadonlyMap<string, FiledEventRow>,
): LiveEvents | undefined {
  const rows: FiledEventRow[] = [];
  let skipped = 0;
  for (const each of announced) {
    const wanted = lookUp(each.keys, byKey).filter((row) => traffic.wanted.includes(row.source));
    rows.push(...wanted);
    // An announcement does not say of which sources the unnamed events are; they are taken to be of those it names.
    if (wanted.length > 0) skipped += each.skipped;
  }
  if (rows.length === 0) return undefined;
  const shown = rows.slice(-SSE_MESSAGE_EVENTS_MAX);
  return {
    reset: false,
    events: shown.map((row) => presentLiveEvent(row, traffic.sources)),
    skipped: skipped + rows.length - shown.length,
  };
}

function lookUp(keys: readonly EventKey[], byKey: ReadonlyMap<string, FiledEventRow>): FiledEventRow[] {
  return keys.flatMap((key) => byKey.get(textOf(key)) ?? []);
}

function textOf([message, eventId]: EventKey): string {
  return `${message} ${eventId}`;
}
