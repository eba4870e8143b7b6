import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cover, uncovered, type Coverage } from "./coverage.ts";
import { sampleWindows, splitWindow, windowQuery, type Window } from "./lists.ts";

const FROM_MS = Date.UTC(2026, 2, 9);

describe("windows", () => {
  it("splits a time in two at a whole second, and loses no moment of it", () => {
    fc.assert(
      fc.property(
        fc.constantFrom("logs" as const, "messages" as const),
        fc.integer({ min: 2, max: 300 }),
        fc.array(fc.nat(299_000), { maxLength: 30 }),
        (api, seconds, listed) => {
          const whole: Window = { fromMs: FROM_MS, toMs: FROM_MS + seconds * 1000 };
          const parts = splitWindow(
            api,
            whole,
            listed.map((ms) => FROM_MS + ms),
          );
          const middleMs = parts[0]?.toMs ?? 0;
          expect(parts).toEqual([
            { fromMs: whole.fromMs, toMs: middleMs },
            { fromMs: middleMs, toMs: whole.toMs },
          ]);
          expect(middleMs % 1000).toBe(0);
          expect(middleMs > whole.fromMs && middleMs < whole.toMs).toBe(true);
        },
      ),
    );
  });

  it.each(["logs", "messages"] as const)("splits a second of the %s API by status, and then no further", (api) => {
    const parts = splitWindow(api, { fromMs: FROM_MS, toMs: FROM_MS + 1000 }, []);
    expect(parts.length).toBeGreaterThan(1);
    expect(new Set(parts.map(({ status }) => status)).size).toBe(parts.length);
    expect(parts.flatMap((part) => splitWindow(api, part, []))).toEqual([]);
  });

  it("takes a sample that is spread evenly, another in each run, where there are too many", () => {
    const windows = Array.from({ length: 100 }, (_, index) => ({ fromMs: index, toMs: index + 1 }));
    expect(sampleWindows(windows, 100, 1)).toEqual(windows);
    const places = (run: number): number[] => sampleWindows(windows, 25, run).map(({ fromMs }) => fromMs);
    expect(places(0)).toEqual(Array.from({ length: 25 }, (_, index) => index * 4));
    expect(new Set([0, 1, 2, 3].flatMap(places)).size).toBe(100);
    expect(sampleWindows(windows, 0, 1)).toEqual([]);
  });

  it("asks in the languages of both APIs", () => {
    const window = { fromMs: FROM_MS, toMs: FROM_MS + 60_000 };
    expect(windowQuery("logs", { ...window, status: "bounced" })).toBe(
      'sg_message_id_created_at >= TIMESTAMP "2026-03-09T00:00:00Z" AND sg_message_id_created_at < TIMESTAMP "2026-03-09T00:01:00Z" AND status IN ("bounced")',
    );
    expect(windowQuery("messages", { ...window, status: "delivered", events: ["deferred", "bounced"] })).toBe(
      'last_event_time BETWEEN TIMESTAMP "2026-03-09T00:00:00Z" AND TIMESTAMP "2026-03-09T00:00:59Z" AND status = "delivered" AND (Contains(events,"deferred") OR Contains(events,"bounced"))',
    );
  });
});

describe("coverage", () => {
  it("gives exactly what was not covered", () => {
    const range = fc.tuple(fc.nat(50), fc.nat(50)).map(([a, b]) => ({ fromMs: Math.min(a, b), toMs: Math.max(a, b) }));
    fc.assert(
      fc.property(fc.array(range, { maxLength: 6 }), range, (covered, asked) => {
        const coverage: Coverage = new Map();
        for (const one of covered) cover(coverage, "key", one);
        const left = uncovered(coverage, "key", asked);
        for (let at = 0; at < 50; at += 1) {
          const isIn = ({ fromMs, toMs }: { fromMs: number; toMs: number }): boolean => at >= fromMs && at < toMs;
          expect(left.filter(isIn)).toHaveLength(isIn(asked) && !covered.some(isIn) ? 1 : 0);
        }
        expect(uncovered(coverage, "other", asked)).toEqual(asked.fromMs < asked.toMs ? [asked] : []);
      }),
    );
  });
});
