import { describe, expect, test } from "vitest";
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
} from "./limits.ts";
import { createPace, type BatchFigures, type Pace } from "./pace.ts";

/** Files 50 bytes a millisecond. */
const BATCH: BatchFigures = { ms: 20, bytes: 1_000, lagMs: 5_000, tookAll: false };
const SLOW_MS = ANSWER_SLOW_MS + 1;

let nowMs = 0;

/** After a while of POSTs that were answered so slowly and brought so many bytes a millisecond. */
function after(answerMs: number, bytesPerMs: number): Pace {
  nowMs = 0;
  const pace = createPace(() => nowMs);
  run(pace, answerMs, bytesPerMs);
  return pace;
}

function run(pace: Pace, answerMs: number, bytesPerMs: number): void {
  const batches = Math.max((10 * ARRIVALS_AVERAGED_MS) / BATCH.ms, 10 * BATCHES_COUNTED, 10 * ANSWERS_COUNTED);
  for (let batch = 0; batch < batches; batch += 1) {
    pace.answered(answerMs);
    pace.stored(bytesPerMs * BATCH.ms);
    nowMs += BATCH.ms;
    pace.restMs(BATCH);
  }
}

describe("The projector", () => {
  test("does not rest while POSTs are answered at once, nor where nobody posts", () => {
    expect(after(ANSWER_SLOW_MS - 1, 1_000).restMs(BATCH)).toBe(0);
    expect(createPace().restMs(BATCH)).toBe(0);
  });

  test("does not rest as long as it files what arrives, however slow the answers are", () => {
    expect(after(1_000, 50 * GIVE_WAY_OVERLOAD * 0.98).restMs(BATCH)).toBe(0);
    expect(after(1_000, 50 * GIVE_WAY_OVERLOAD * 1.02).restMs(BATCH)).toBeGreaterThan(0);
  });

  test("rests three times as long as it took while more arrives and answers are slow, up to half a second", () => {
    const overloaded = after(SLOW_MS, 1_000);
    expect(overloaded.restMs(BATCH)).toBe(BATCH.ms * GIVE_WAY_FACTOR);
    expect(overloaded.restMs({ ...BATCH, ms: 10_000 })).toBe(GIVE_WAY_MS_MAX);
  });

  test("does not rest for some very slow answers among quick ones, but when they are the most", () => {
    const pace = after(2, 1_000);
    for (let answers = 0; answers < ANSWERS_COUNTED / 4; answers += 1) pace.answered(1000 * ANSWER_SLOW_MS);
    expect(pace.restMs(BATCH)).toBe(0);
    for (let answers = 0; answers < ANSWERS_COUNTED; answers += 1) pace.answered(SLOW_MS);
    expect(pace.restMs(BATCH)).toBeGreaterThan(0);
  });

  test("rests no more once nobody has been answered for a moment, nor when less arrives again", () => {
    const silent = after(SLOW_MS, 1_000);
    nowMs += ANSWERS_RECENT_MS;
    expect(silent.restMs(BATCH)).toBe(0);
    const overloaded = after(SLOW_MS, 1_000);
    run(overloaded, SLOW_MS, 10);
    expect(overloaded.restMs(BATCH)).toBe(0);
  });

  test("does not rest when it is not behind, nor when it is too far behind", () => {
    const overloaded = after(SLOW_MS, 1_000);
    expect(overloaded.restMs({ ...BATCH, lagMs: GIVE_WAY_LAG_MS_MIN - 1 })).toBe(0);
    expect(overloaded.restMs({ ...BATCH, lagMs: GIVE_WAY_LAG_MS_MIN })).toBeGreaterThan(0);
    expect(overloaded.restMs({ ...BATCH, lagMs: GIVE_WAY_LAG_MS_MAX })).toBeGreaterThan(0);
    expect(overloaded.restMs({ ...BATCH, lagMs: GIVE_WAY_LAG_MS_MAX + 1 })).toBe(0);
  });

  test("lets receipts gather while many POSTs wait, if it took all that was due", () => {
    const batch = { ...BATCH, lagMs: 20, tookAll: true };
    // One answer for each batch: as many wait as batches fit into the wait for an answer.
    const crowded = after((GATHER_POSTS_MIN + 1) * BATCH.ms, 10);
    expect(crowded.restMs(batch)).toBe(GATHER_MS);
    expect(crowded.restMs({ ...batch, tookAll: false })).toBe(0);
    expect(after((GATHER_POSTS_MIN - 1) * BATCH.ms, 10).restMs(batch)).toBe(0);
    nowMs += 3 * ARRIVALS_AVERAGED_MS;
    expect(crowded.restMs(batch)).toBe(0);
  });

  test("begins batches that take all there is some time apart, and others at once", () => {
    const quick = { bytes: 1_000, lagMs: 1, ms: BATCHES_APART_MS / 4, tookAll: true };
    const pace = createPace();
    expect(pace.restMs(quick)).toBe((3 * BATCHES_APART_MS) / 4);
    expect(pace.restMs({ ...quick, ms: BATCHES_APART_MS })).toBe(0);
    expect(pace.restMs({ ...quick, ms: 1_000 })).toBe(0);
    expect(pace.restMs({ ...quick, tookAll: false })).toBe(0);
  });

  test("rests no shorter when it gives way and many wait", () => {
    const overloaded = after(100 * BATCH.ms, 1_000);
    expect(overloaded.restMs({ ...BATCH, ms: GATHER_MS, tookAll: true })).toBe(GATHER_MS * GIVE_WAY_FACTOR);
  });
});
