/** SendGrid sends a refused event again for 24 hours after it happened. */
const PATIENCE_MS = 24 * 3_600_000;

/** Milliseconds until SendGrid gives up an event; at least 0. */
export function patienceLeft(eventAt: string, now: number): number {
  return Math.max(0, Date.parse(eventAt) + PATIENCE_MS - now);
}

/** What was waiting, at a moment. */
export interface Waiting {
  at: number;
  count: number;
}

/** Shorter observations say nothing about an end that may be hours away. */
const OBSERVED_MS_MIN = 20_000;

/** When nothing will be waiting any more if it goes on like this; undefined when it does not get less. */
export function expectedEndMs(first: Waiting | undefined, last: Waiting): number | undefined {
  if (first === undefined || last.count === 0) return undefined;
  const spanMs = last.at - first.at;
  const done = first.count - last.count;
  return spanMs < OBSERVED_MS_MIN || done <= 0 ? undefined : (last.count * spanMs) / done;
}
