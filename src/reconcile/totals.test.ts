import { describe, expect, it } from "vitest";
import { STATS_METRICS, type StatsMetric } from "../sendgrid/record-types.ts";
import type { Held } from "./held.ts";
import { KINDS, type Kind } from "./kinds.ts";
import { difference, MAPPINGS, totalsOf, wantedKinds } from "./totals.ts";

function totals(metrics: Partial<Record<StatsMetric, number>>): ReturnType<typeof totalsOf> {
  const all = Object.fromEntries(STATS_METRICS.map((name) => [name, metrics[name] ?? 0])) as Record<
    StatsMetric,
    number
  >;
  return totalsOf({ day: "2026-03-09", metrics: all });
}

function held(counts: Partial<Record<Kind, number>>, counted = 0): Map<Kind, Held> {
  return new Map(
    KINDS.flatMap((kind) => (counts[kind] === undefined ? [] : [[kind, { held: counts[kind], repaired: 0, counted }]])),
  );
}

describe("totals", () => {
  it("maps every kind once", () => {
    expect(MAPPINGS.map(({ kind }) => kind)).toEqual([...KINDS]);
  });

  it.each([
    ["processed", { processed: 3 }],
    ["deferred", { deferred: 3 }],
    ["delivered", { delivered: 3 }],
    ["bounce", { bounces: 3 }],
    ["blocked", { blocks: 3 }],
    ["dropped", { requests: 10, processed: 7 }],
    ["open", { opens: 3, unique_opens: 1 }],
    ["click", { clicks: 3, unique_clicks: 1 }],
    ["spamreport", { spam_reports: 3 }],
    ["unsubscribe", { unsubscribes: 3 }],
  ] as const)("holds %s against SendGrid's total", (kind, metrics) => {
    expect(totals(metrics).get(kind)).toBe(3);
    expect(difference(kind, totals(metrics), held({ [kind]: 2 }))).toEqual({ missing: 1, wanted: 1, surplus: 0 });
    expect(difference(kind, totals(metrics), held({ [kind]: 3 }))).toEqual({ missing: 0, wanted: 0, surplus: 0 });
    expect(difference(kind, totals(metrics), held({ [kind]: 5 }))).toEqual({ missing: 0, wanted: 0, surplus: 2 });
  });

  it.each(["group_unsubscribe", "group_resubscribe"] as const)("knows no total of %s", (kind) => {
    expect(totals({ unsubscribes: 3 }).get(kind)).toBeNull();
    expect(difference(kind, totals({ unsubscribes: 3 }), held({}))).toEqual({ missing: 0, wanted: 0, surplus: 0 });
  });

  it("takes unsubscribes for equal with or without those from groups, and looks for what may be either", () => {
    const own = held({ unsubscribe: 2, group_unsubscribe: 3 });
    expect(difference("unsubscribe", totals({ unsubscribes: 2 }), own)).toEqual({ missing: 0, wanted: 0, surplus: 0 });
    expect(difference("unsubscribe", totals({ unsubscribes: 5 }), own)).toEqual({ missing: 0, wanted: 0, surplus: 0 });
    expect(difference("unsubscribe", totals({ unsubscribes: 3 }), own)).toEqual({ missing: 0, wanted: 1, surplus: 0 });
    expect(difference("unsubscribe", totals({ unsubscribes: 6 }), own)).toEqual({ missing: 1, wanted: 4, surplus: 0 });
    expect(difference("unsubscribe", totals({ unsubscribes: 1 }), own)).toEqual({ missing: 0, wanted: 0, surplus: 1 });
  });

  it("lets a twin that SendGrid counts explain a difference", () => {
    expect(difference("open", totals({ opens: 3 }), held({ open: 2 }, 1))).toEqual({
      missing: 0,
      wanted: 0,
      surplus: 0,
    });
  });

  it("looks only for kinds of which SendGrid counts more", () => {
    expect(
      wantedKinds(totals({ opens: 3, clicks: 1, delivered: 1 }), held({ open: 1, click: 2, delivered: 1 })),
    ).toEqual(new Map([["open", 2]]));
  });
});
