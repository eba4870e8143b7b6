/** What happened between two moments of a run. */
export interface Point {
  fromSeconds: number;
  toSeconds: number;
  /** Events processed per second. */
  rate: number;
  retries: number;
}

interface Moment {
  atSeconds: number;
  processed: number;
  retries: number;
}

/** Moments hold sums since the start; a chart shows what each span between them added. */
export function courseOf(moments: readonly Moment[]): Point[] {
  const points: Point[] = [];
  let before: Moment = { atSeconds: 0, processed: 0, retries: 0 };
  for (const moment of moments) {
    const seconds = moment.atSeconds - before.atSeconds;
    // The first moment is the start itself, and two may be taken almost at once.
    if (seconds < SPAN_SECONDS_MIN) continue;
    points.push({
      fromSeconds: before.atSeconds,
      toSeconds: moment.atSeconds,
      rate: Math.max(0, moment.processed - before.processed) / seconds,
      retries: Math.max(0, moment.retries - before.retries),
    });
    before = moment;
  }
  return points;
}

const SPAN_SECONDS_MIN = 0.2;

/** The next of 1, 2, 5, 10, 20 … that is not below the value: an axis ends in a figure that can be read. */
export function niceMax(value: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(value, 1)));
  return [1, 2, 5, 10].map((step) => step * power).find((step) => step >= value) ?? 10 * power;
}
