import { useQuery } from "@tanstack/react-query";
import type { Rates, RateSpan } from "../../../src/views/contract-live.ts";
import { api } from "../api/client.ts";
import { withLive } from "../text/rates.ts";
import { useLive } from "./live.tsx";
import { usePreferences, withSimulated } from "./preferences.tsx";

/** The finest span moves with the stream; the others change too slowly for it. */
const REFRESH_MS = 60_000;

export interface AskedRates {
  rates: Rates | undefined;
  error: unknown;
  again: () => void;
}

/** The course of events, kept current. */
export function useRates(span: RateSpan): AskedRates {
  const { simulated } = usePreferences();
  const live = useLive((state) => state.rates);
  const query = withSimulated(new URLSearchParams({ span }), simulated);
  const asked = useQuery({
    queryKey: ["rates", query.toString()],
    queryFn: ({ signal }) => api<Rates>("GET", `/api/rates?${query.toString()}`, { signal }),
    refetchInterval: REFRESH_MS,
  });
  return {
    rates: asked.data === undefined ? undefined : withLive(asked.data, live),
    error: asked.error,
    again: () => void asked.refetch(),
  };
}
