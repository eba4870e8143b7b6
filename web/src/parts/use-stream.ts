import { type RefObject, useEffect, useState } from "react";
import type { NumberedEvent } from "../api/live-state.ts";
import { type Kind, kindOf } from "../text/kinds.ts";
import { useLive } from "./live.tsx";

export interface StreamFilter {
  kind: Kind | "";
  source: string;
}

/** Rows on the page. What is older is found by searching. */
const ROWS_MAX = 50;

export interface StreamView {
  /** undefined: nothing has come yet, not even an empty list. */
  rows: readonly NumberedEvent[] | undefined;
  /** Came since, and waits to be let in. */
  waiting: number;
  skipped: number;
  /** Rows with a higher number came last, and fade in. */
  freshAfter: number;
  letIn: () => void;
}

interface Shown {
  /** The list as it was when it was last let in: it stays as it is, however much comes meanwhile. */
  events: readonly NumberedEvent[] | undefined;
  freshAfter: number;
}

const NOTHING_SHOWN: Shown = { events: undefined, freshAfter: Infinity };

/**
 * Which events the page shows. New ones come in by themselves only while nobody can be reading the list: not while it is
 * paused, under the pointer, or scrolled past its beginning, where they would push a row away.
 */
export function useStream(filter: StreamFilter, held: boolean, list: RefObject<HTMLElement | null>): StreamView {
  const events = useLive((state) => state.events);
  const skipped = useLive((state) => state.skipped);
  const [shown, setShown] = useState(NOTHING_SHOWN);
  const isPassed = useIsPassed(list);
  const top = shown.events?.[0]?.seq ?? 0;

  // Set while drawing, as React advises for state that follows other state: the old list is then never drawn.
  if (events === undefined) {
    if (shown !== NOTHING_SHOWN) setShown(NOTHING_SHOWN);
  } else if (shown.events === undefined) {
    setShown({ events, freshAfter: Infinity });
  } else if ((events[0]?.seq ?? 0) > top && !held && !isPassed) {
    setShown({ events, freshAfter: top });
  }

  const isWanted = (event: NumberedEvent): boolean =>
    (filter.kind === "" || kindOf(event.type, event.detail) === filter.kind) &&
    (filter.source === "" || event.source === filter.source);
  return {
    rows: shown.events?.filter(isWanted).slice(0, ROWS_MAX),
    waiting: events?.filter((event) => event.seq > top && isWanted(event)).length ?? 0,
    skipped,
    freshAfter: shown.freshAfter,
    letIn: () => setShown({ events, freshAfter: top }),
  };
}

/** Whether the beginning of an element is scrolled out of sight. */
function useIsPassed(element: RefObject<HTMLElement | null>): boolean {
  const [isPassed, setIsPassed] = useState(false);
  useEffect(() => {
    const look = (): void => setIsPassed((element.current?.getBoundingClientRect().top ?? 0) < 0);
    window.addEventListener("scroll", look, { passive: true });
    return () => window.removeEventListener("scroll", look);
  }, [element]);
  return isPassed;
}
