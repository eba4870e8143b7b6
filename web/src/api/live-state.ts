import type { LiveEvent, LiveEvents, Rates } from "../../../src/views/contract-live.ts";
import type { Balance, Status } from "../../../src/views/contract.ts";
import type { Waiting } from "../text/patience.ts";
import { takeRates } from "../text/rates.ts";
import type { SseMessage } from "./sse.ts";

export type Connection = "connecting" | "live" | "reconnecting" | "full";

/** An event as it arrived, numbered so that a page knows what it has shown. */
export interface NumberedEvent extends LiveEvent {
  seq: number;
}

export interface LiveState {
  connection: Connection;
  /** When the last byte came, milliseconds since 1970; undefined before the first. */
  heardAt: number | undefined;
  /** Since when the connection is down; undefined while it is not. */
  downSince: number | undefined;
  balance: Balance | undefined;
  balanceAt: number | undefined;
  /** Events accepted per second between the last two balances; undefined before the second. */
  rate: number | undefined;
  status: Status | undefined;
  /** Messages that waited for enrichment when they last began to get fewer. */
  pendingSince: Waiting | undefined;
  /** The finest buckets of the course of events, as far as the stream brought them. */
  rates: Rates | undefined;
  /** Newest first; undefined before the first list came. */
  events: readonly NumberedEvent[] | undefined;
  /** The number of the next event. */
  nextSeq: number;
  /** Filed since the list began but never sent. */
  skipped: number;
}

/** Events kept for the page: more than a person scrolls, and a filter still finds something in a busy minute. */
export const LIVE_EVENTS_MAX = 500;
/** Balances nearer to each other than this give no meaningful rate. */
const RATE_MS_MIN = 500;

export const EMPTY_LIVE_STATE: LiveState = {
  connection: "connecting",
  heardAt: undefined,
  downSince: undefined,
  balance: undefined,
  balanceAt: undefined,
  rate: undefined,
  status: undefined,
  pendingSince: undefined,
  rates: undefined,
  events: undefined,
  nextSeq: 1,
  skipped: 0,
};

/** Reconnecting is a matter of a moment for this long; then the page says that its figures are old. */
const STALE_AFTER_MS = 10_000;

/** The connection as a reader should see it. */
export function shownConnection(
  { connection, downSince }: Pick<LiveState, "connection" | "downSince">,
  now: number,
): Connection | "stale" {
  const isDown = connection === "reconnecting" || connection === "connecting";
  return isDown && downSince !== undefined && now - downSince > STALE_AFTER_MS ? "stale" : connection;
}

/** Puts new events before the old ones: none twice, a bound on the whole, a reset begins a new list. */
export function mergeEvents(state: LiveState, batch: LiveEvents): LiveState {
  const old = batch.reset ? [] : (state.events ?? []);
  const keyOf = (event: LiveEvent): string => `${event.message}\n${event.eventId}`;
  const known = new Set(old.map(keyOf));
  const fresh: NumberedEvent[] = [];
  for (const event of batch.events) {
    const key = keyOf(event);
    if (known.has(key)) continue;
    known.add(key);
    fresh.push({ ...event, seq: state.nextSeq + fresh.length });
  }
  return {
    ...state,
    events: [...fresh.toReversed(), ...old].slice(0, LIVE_EVENTS_MAX),
    nextSeq: state.nextSeq + fresh.length,
    skipped: batch.reset ? 0 : state.skipped + batch.skipped,
  };
}

/** Takes a new balance, and derives the rate from it and the one before. */
export function takeBalance(state: LiveState, balance: Balance, now: number): LiveState {
  const { balance: before, balanceAt } = state;
  const spanMs = balanceAt === undefined ? 0 : now - balanceAt;
  const grown = before === undefined ? 0 : balance.events.accepted - before.events.accepted;
  const rate = spanMs >= RATE_MS_MIN && grown >= 0 ? (grown * 1_000) / spanMs : state.rate;
  return { ...state, balance, balanceAt: now, rate };
}

/** Observed for longer, an average says nothing about now. */
const PENDING_OBSERVED_MS_MAX = 10 * 60_000;

function takeStatus(state: LiveState, status: Status, now: number): LiveState {
  const { pending } = status.enrichment;
  const since = state.pendingSince;
  const hasGrown = pending > (state.status?.enrichment.pending ?? 0);
  const isOld = since === undefined || now - since.at > PENDING_OBSERVED_MS_MAX;
  return { ...state, status, pendingSince: hasGrown || isOld ? { at: now, count: pending } : since };
}

/** The state after a message of the stream. An unknown kind of message changes nothing. */
export function takeMessage(state: LiveState, message: SseMessage, now: number): LiveState {
  switch (message.event) {
    case "balance":
      return takeBalance(state, JSON.parse(message.data) as Balance, now);
    case "status":
      return takeStatus(state, JSON.parse(message.data) as Status, now);
    case "rates":
      return { ...state, rates: takeRates(state.rates, JSON.parse(message.data) as Rates) };
    case "events":
      return mergeEvents(state, JSON.parse(message.data) as LiveEvents);
    default:
      return state;
  }
}
