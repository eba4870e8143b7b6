import { createContext, type ReactNode, useContext, useEffect, useState, useSyncExternalStore } from "react";
import type { LiveEvent } from "../../../src/views/contract-live.ts";
import { EMPTY_LIVE_STATE, type LiveState } from "../api/live-state.ts";
import { createLiveStore, type LiveStore } from "../api/live-store.ts";
import { startOfDay } from "../text/time.ts";
import { usePreferences, withSimulated } from "./preferences.tsx";

const LiveContext = createContext<LiveStore | undefined>(undefined);

const MINUTE_MS = 60_000;

/** Keeps the page's one live connection, and begins it anew with the reader's next day. */
export function LiveProvider({ onSignedOut, children }: { onSignedOut: () => void; children: ReactNode }): ReactNode {
  const [store] = useState(() => createLiveStore(onSignedOut));
  const { simulated } = usePreferences();
  useEffect(() => {
    let day = startOfDay(Date.now());
    const begin = (): void =>
      store.start(() => withSimulated(new URLSearchParams({ from: startOfDay(Date.now()) }), simulated));
    begin();
    const timer = setInterval(() => {
      const today = startOfDay(Date.now());
      if (today !== day) begin();
      day = today;
    }, MINUTE_MS);
    return () => {
      clearInterval(timer);
      store.stop();
    };
  }, [store, simulated]);
  return <LiveContext value={store}>{children}</LiveContext>;
}

const noSubscription = (): (() => void) => () => undefined;

/** A part of the live state; the component is drawn again when that part changes. */
export function useLive<T>(select: (state: LiveState) => T): T {
  const store = useContext(LiveContext);
  return useSyncExternalStore(store?.subscribe ?? noSubscription, () => select(store?.get() ?? EMPTY_LIVE_STATE));
}

/** Calls back when events of a message arrive. */
export function useMessageChanged(id: string, onChanged: () => void): void {
  const store = useContext(LiveContext);
  useEffect(
    () =>
      store?.onEvents((events: readonly LiveEvent[]) => events.some((event) => event.message === id) && onChanged()),
    [store, id, onChanged],
  );
}

/** The names of the simulated sources, for their tag. */
export function useIsSimulated(): (source: string) => boolean {
  const sources = useLive((state) => state.status?.sources);
  return (source) => sources?.some((known) => known.name === source && known.simulated) ?? source === "simulation";
}
