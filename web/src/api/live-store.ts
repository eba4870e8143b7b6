import type { LiveEvent } from "../../../src/views/contract-live.ts";
import { keepConnected } from "./live-connection.ts";
import { EMPTY_LIVE_STATE, type LiveState, takeMessage } from "./live-state.ts";
import type { SseMessage } from "./sse.ts";

export interface LiveStore {
  subscribe: (listener: () => void) => () => void;
  get: () => LiveState;
  /** Called with every batch of events, for a page that shows one of their messages. */
  onEvents: (listener: (events: readonly LiveEvent[]) => void) => () => void;
  /** Begins, or begins anew with another question. `query` is asked again at every reconnect. */
  start: (query: () => URLSearchParams) => void;
  stop: () => void;
}

/** A hidden page gives its connection back: browsers allow six to a host, and support people keep many tabs. */
const HIDDEN_MS_MAX = 60_000;
/** Many messages a second are shown together. */
const FLUSH_MS = 100;
/**
 * With more new events than a person takes in at a glance the page changes once a second: a list that is replaced several
 * times a second cannot be read, and would keep the browser busy with drawing it.
 */
const EVENTS_AT_ONCE_MAX = 10;
const BUSY_FLUSH_MS = 1_000;

/** One connection to GET /api/live for the whole page, kept for as long as somebody can see it. */
export function createLiveStore(onSignedOut: () => void): LiveStore {
  let state = EMPTY_LIVE_STATE;
  let run: AbortController | undefined;
  let question = (): URLSearchParams => new URLSearchParams();
  let unwatch: (() => void) | undefined;
  const listeners = new Set<() => void>();
  const eventListeners = new Set<(events: readonly LiveEvent[]) => void>();

  const flushSoon = createPace(
    () => state.nextSeq,
    () => {
      for (const listener of listeners) listener();
    },
  );

  const set = (change: Partial<LiveState>): void => {
    state = { ...state, ...change };
    flushSoon();
  };

  const take = (message: SseMessage): void => {
    const { nextSeq } = state;
    set(takeMessage(state, message, Date.now()));
    const fresh = state.events?.filter((event) => event.seq >= nextSeq) ?? [];
    if (fresh.length > 0) for (const listener of eventListeners) listener(fresh);
  };

  const begin = (): void => {
    run?.abort();
    run = new AbortController();
    void keepConnected({
      address: () => `/api/live?${question().toString()}`,
      onOpen: () => set({ connection: "live", heardAt: Date.now(), downSince: undefined }),
      onHeard: () => set({ heardAt: Date.now() }),
      onMessage: take,
      onDown: (full) => {
        const connection = state.heardAt === undefined ? "connecting" : "reconnecting";
        set({ connection: full ? "full" : connection, downSince: state.downSince ?? Date.now() });
      },
      signal: run.signal,
    }).then((end) => {
      if (end === "signed_out") onSignedOut();
    });
  };

  const rest = (): void => {
    run?.abort();
    run = undefined;
    set({ connection: "reconnecting" });
  };

  return {
    subscribe: (listener) => join(listeners, listener),
    get: () => state,
    onEvents: (listener) => join(eventListeners, listener),
    start: (query) => {
      question = query;
      // The status is the same for every question; the rest would be the old question's answer.
      set({ ...EMPTY_LIVE_STATE, status: state.status, nextSeq: state.nextSeq });
      unwatch ??= watchVisibility(() => run ?? begin(), rest);
      begin();
    },
    stop: () => {
      unwatch?.();
      unwatch = undefined;
      rest();
    },
  };
}

/** Tells together what comes within a moment, and at most once a second while many events come. `seq` grows with each event. */
function createPace(seq: () => number, tell: () => void): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let told = { at: 0, seq: seq() };
  const flush = (): void => {
    const now = Date.now();
    const waitMs = seq() - told.seq > EVENTS_AT_ONCE_MAX ? told.at + BUSY_FLUSH_MS - now : 0;
    // A clock that was set back must not stop the page.
    if (waitMs > 0 && waitMs <= BUSY_FLUSH_MS) {
      timer = setTimeout(flush, waitMs);
      return;
    }
    timer = undefined;
    told = { at: now, seq: seq() };
    tell();
  };
  return () => {
    timer ??= setTimeout(flush, FLUSH_MS);
  };
}

/** @returns what takes it out again. */
function join<T>(listeners: Set<T>, listener: T): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Calls back when the page comes into sight, and when it has been out of sight for a while. */
function watchVisibility(onVisible: () => void, onHidden: () => void): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const onChange = (): void => {
    clearTimeout(timer);
    if (document.visibilityState === "visible") onVisible();
    else timer = setTimeout(onHidden, HIDDEN_MS_MAX);
  };
  document.addEventListener("visibilitychange", onChange);
  return () => {
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", onChange);
  };
}
