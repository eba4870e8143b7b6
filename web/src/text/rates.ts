import type { RatePoint, Rates } from "../../../src/views/contract-live.ts";

/** The kinds of a chart, from the bottom up. */
export const RATE_KINDS = ["delivered", "engaged", "processed", "deferred", "failed", "objected", "other"] as const;
export type RateKind = (typeof RATE_KINDS)[number];

/** One bucket of the chart, whether anything happened in it or not. */
export interface RateBin {
  /** Milliseconds since 1970. */
  at: number;
  /** Events in it by kind, and retries. */
  counts: Readonly<Record<RateKind, number>>;
  retries: number;
  events: number;
  /** Seconds of it that have passed: all, but for the one under way. */
  seconds: number;
}

const NOTHING = { delivered: 0, engaged: 0, processed: 0, deferred: 0, failed: 0, objected: 0, other: 0 };

/** The bucket under way says something only once this share of it has passed. */
const SHARE_MIN = 0.3;

/** All buckets from the beginning of the span to the present, oldest first. */
export function rateBins({ stepSeconds, from, to, points }: Rates, now: number): RateBin[] {
  const stepMs = stepSeconds * 1_000;
  const byTime = new Map(points.map((point) => [Date.parse(point.at), point]));
  const end = Date.parse(to);
  const bins: RateBin[] = [];
  for (let at = Date.parse(from); at < end; at += stepMs) {
    const { retries, ...rest } = byTime.get(at) ?? { ...NOTHING, retries: 0 };
    const counts = Object.fromEntries(RATE_KINDS.map((kind) => [kind, rest[kind]])) as Record<RateKind, number>;
    const events = RATE_KINDS.reduce((sum, kind) => sum + counts[kind], 0);
    const isUnderWay = at + stepMs >= end;
    // The reader's clock may be wrong by minutes; a bucket never lasts longer than its size.
    const passed = Math.min(1, Math.max(0, (now - at) / stepMs));
    // Where nothing came before it, it is all there is to show: without it the chart would say that nothing happened.
    const isAll = events > 0 && bins.every((bin) => bin.events === 0);
    if (isUnderWay && passed < SHARE_MIN && !isAll) break;
    const seconds = isUnderWay ? stepSeconds * Math.max(passed, SHARE_MIN) : stepSeconds;
    bins.push({ at, counts, retries, events, seconds });
  }
  return bins;
}

/**
 * Puts what the live stream brought into what was asked for before: its buckets replace those of the same time. Only for
 * buckets of the same size; the span keeps its length and moves with the present.
 */
export function withLive(asked: Rates, live: Rates | undefined): Rates {
  if (live === undefined || live.stepSeconds !== asked.stepSeconds || live.to < asked.to) return asked;
  const lengthMs = Date.parse(asked.to) - Date.parse(asked.from);
  const from = new Date(Date.parse(live.to) - lengthMs).toISOString();
  const points = asked.points.filter(({ at }) => at >= from && at < live.from);
  return { stepSeconds: asked.stepSeconds, from, to: live.to, points: [...points, ...live.points] };
}

/** More than a chart of the finest buckets shows, and bounded. */
const POINTS_KEPT_MAX = 120;

/** Adds a message of the live stream to those before it, so that nothing is lost between two questions. */
export function takeRates(known: Rates | undefined, news: Rates): Rates {
  if (known === undefined || known.stepSeconds !== news.stepSeconds || known.to < news.from) return news;
  const older: RatePoint[] = known.points.filter(({ at }) => at < news.from);
  const points = [...older, ...news.points].slice(-POINTS_KEPT_MAX);
  return { ...news, from: known.from < news.from ? known.from : news.from, points };
}

/** The next round number of a scale whose half is round too: 1, 2, 4, 6, 10 … or a tenth of it. At least 0.2. */
export function roundUp(value: number): number {
  const floor = Math.max(value, 0.2);
  const magnitude = 10 ** Math.floor(Math.log10(floor));
  const step = [1, 2, 4, 6, 10].find((factor) => factor * magnitude >= floor * 0.999_999) ?? 10;
  return Number((step * magnitude).toPrecision(3));
}
