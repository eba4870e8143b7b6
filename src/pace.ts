import {
  ANSWER_SLOW_MS,
  ANSWERS_COUNTED,
  ANSWERS_RECENT_MS,
  ARRIVALS_AVERAGED_MS,
  BATCHES_APART_MS,
  BATCHES_COUNTED,
  GATHER_MS,
  GATHER_POSTS_MIN,
  GIVE_WAY_FACTOR,
  GIVE_WAY_LAG_MS_MAX,
  GIVE_WAY_LAG_MS_MIN,
  GIVE_WAY_MS_MAX,
  GIVE_WAY_OVERLOAD,
  GIVE_WAY_SLOW_SHARE,
} from "./limits.ts";

/** What a projector's batch tells of how fast it is. */
export interface BatchFigures {
  /** How long it took. */
  ms: number;
  /** Of the bodies in it. */
  bytes: number;
  /** How long its first receipt had been waiting. */
  lagMs: number;
  /** Whether it left nothing that was due. */
  tookAll: boolean;
}

/**
 * Lets the projector rest between its batches. Alone, only as long as keeps them apart. Most while it shares a process with an intake
 * that is overloaded: POSTs wait for their answers, and more arrives than could be filed without rest, so that it is behind already. A
 * POST that is not answered in time comes again and makes more work; an event that is filed some seconds later, as it would be anyway,
 * does not.
 *
 * Slow answers alone are no reason: of a campaign of 500 POSTs a second that the machine can bear many wait 10 ms, and with the
 * projector at rest for it events showed after 3 s instead of 0.07.
 *
 * Where it keeps up but many POSTs wait, it rests a moment so that receipts gather: a batch of 80 POSTs of one event costs half of
 * what one of 500 does. All roles together then answered 1.2 times as many of them, for a tenth less CPU each.
 */
export interface Pace {
  /** Notes how long a POST waited for its answer. */
  answered(ms: number): void;
  /** Notes bodies that were stored. */
  stored(bytes: number): void;
  /** @returns how long to rest after a batch. */
  restMs(batch: BatchFigures): number;
}

/** @param now a clock in milliseconds; tests pass their own. */
export function createPace(now: () => number = () => performance.now()): Pace {
  let slowShare = 0;
  let answeredAtMs = Number.NEGATIVE_INFINITY;
  const arrivals = createRate(now);
  // Milliseconds waited in a millisecond: as many POSTs wait at once (Little's law).
  const waiting = createRate(now);
  const filed = { bytes: 0, ms: 0 };
  return {
    answered(ms) {
      slowShare += ((ms > ANSWER_SLOW_MS ? 1 : 0) - slowShare) / ANSWERS_COUNTED;
      answeredAtMs = now();
      waiting.add(ms);
    },
    stored: (bytes) => arrivals.add(bytes),
    restMs({ ms, bytes, lagMs, tookAll }) {
      filed.bytes += (bytes - filed.bytes) / BATCHES_COUNTED;
      filed.ms += (ms - filed.ms) / BATCHES_COUNTED;
      const isOverloaded = arrivals.perMs() * filed.ms > filed.bytes * GIVE_WAY_OVERLOAD;
      // What was slow a while ago says nothing of now: at the end of a campaign the rest is filed at once.
      const isSlow = slowShare > GIVE_WAY_SLOW_SHARE && now() - answeredAtMs < ANSWERS_RECENT_MS;
      const givesWay = isOverloaded && isSlow && lagMs >= GIVE_WAY_LAG_MS_MIN && lagMs <= GIVE_WAY_LAG_MS_MAX;
      const gathers = waiting.perMs() > GATHER_POSTS_MIN && tookAll;
      if (givesWay) return Math.min(ms * GIVE_WAY_FACTOR, GIVE_WAY_MS_MAX);
      if (gathers) return GATHER_MS;
      return tookAll ? Math.max(0, BATCHES_APART_MS - ms) : 0;
    },
  };
}

/** How much comes in a millisecond, on a running average. */
function createRate(now: () => number): { add(amount: number): void; perMs(): number } {
  let rate = 0;
  let sum = 0;
  let sinceMs = now();
  return {
    add(amount) {
      sum += amount;
    },
    perMs() {
      const ms = now() - sinceMs;
      if (ms <= 0) return rate;
      rate += (sum / ms - rate) * (1 - Math.exp(-ms / ARRIVALS_AVERAGED_MS));
      sum = 0;
      sinceMs += ms;
      return rate;
    },
  };
}
