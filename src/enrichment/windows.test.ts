import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ProviderApi } from "../sendgrid/api-types.ts";
import { LOG_STATUSES, type LogStatus } from "../sendgrid/query.ts";
import { matchesNarrowing } from "./narrow.ts";
import { chooseSeconds, concerns, hull, splitAsk, TIMING, type Ask, type SecondCount, type Target } from "./windows.ts";

const NINE = Date.UTC(2026, 2, 1, 9);

/** A message as the API holds it. */
interface Row extends Target {
  listedMs: number;
  status: LogStatus;
  foreign: boolean;
}

/**
 * Asks an imagined API, which gives `rowsMax` of what matches in an order of its own, and goes on splitting. Returns what
 * was asked and which targets were not found; fails on a part that is not narrower than what it is a part of.
 */
function search(
  rows: readonly Row[],
  api: ProviderApi,
  rowsMax: number,
  resolutionMs: number,
): { asked: Ask[]; lost: Row[]; dead: Ask[] } {
  const wanted = new Map(rows.filter(({ foreign }) => !foreign).map((row) => [row.message, row]));
  const range = hull([...wanted.values()], TIMING[api]);
  const asks: Ask[] = range === undefined ? [] : [range];
  const asked: Ask[] = [];
  const dead: Ask[] = [];
  for (let ask = asks.pop(); ask !== undefined; ask = asks.pop()) {
    asked.push(ask);
    if (asked.length > 20_000) throw new Error("splitting does not end");
    const held = rows.filter((row) => holds(ask, row));
    for (const row of held.slice(0, rowsMax)) wanted.delete(row.message);
    if (held.length < rowsMax) continue;
    const listedMs = held.slice(0, rowsMax).map((row) => row.listedMs);
    const parts = splitAsk(ask, [...wanted.values()], api, { resolutionMs, listedMs });
    for (const part of parts) expectNarrower(part, ask);
    if (parts.length === 0) dead.push(ask);
    asks.push(...parts);
  }
  return { asked, lost: [...wanted.values()], dead };
}

function holds(ask: Ask, row: Row): boolean {
  if (row.listedMs < ask.fromMs || row.listedMs >= ask.toMs) return false;
  if (ask.only?.by === "status" && !ask.only.statuses.includes(row.status)) return false;
  return ask.only === undefined || matchesNarrowing(ask.only, row);
}

function expectNarrower(part: Ask, whole: Ask): void {
  expect(part.fromMs).toBeGreaterThanOrEqual(whole.fromMs);
  expect(part.toMs).toBeLessThanOrEqual(whole.toMs);
  expect(part.toMs).toBeGreaterThan(part.fromMs);
  const isShorter = part.toMs - part.fromMs < whole.toMs - whole.fromMs;
  expect(isShorter || JSON.stringify(part.only) !== JSON.stringify(whole.only)).toBe(true);
}

/** Mail of some hours, days or one second, with ids that have much or little in common. */
function mail(api: ProviderApi): fc.Arbitrary<Row[]> {
  const id = fc.stringMatching(/^[ab]{0,3}[A-Za-z0-9_-]{1,6}$/);
  return fc
    .constantFrom(1, 5, 3_600, 200_000)
    .chain((seconds) =>
      fc.uniqueArray(
        fc.record({
          message: fc.nat(),
          messageId: id,
          atMs: fc.nat(seconds).map((second) => NINE + second * 1000),
          lateMs: api === "logs" ? fc.constantFrom(0, 300, 1000, 5000) : fc.constant(0),
          status: fc.constantFrom(...LOG_STATUSES),
          categories: fc.subarray(["invoice", "welcome", "reset"]),
          foreign: fc.boolean(),
        }),
        { maxLength: 120, selector: ({ messageId }) => messageId },
      ),
    )
    .map((rows) => rows.map(({ lateMs, ...row }, message) => ({ ...row, message, listedMs: row.atMs - lateMs })));
}

describe("splitting a full window", () => {
  it("finds every message in the Messages API, however dense the mail", () => {
    fc.assert(
      fc.property(mail("messages"), fc.integer({ min: 1, max: 30 }), (rows, rowsMax) => {
        // Two ids can share an answer of one row only when no pattern tells them apart, which never happens.
        expect(search(rows, "messages", rowsMax + 1, 1000).lost).toEqual([]);
      }),
    );
  });

  it("finds every message in Email Logs but those that no narrower question can reach", () => {
    fc.assert(
      fc.property(
        mail("logs"),
        fc.integer({ min: 2, max: 30 }),
        fc.constantFrom(1000, 1),
        (rows, rowsMax, resolutionMs) => {
          const { lost, dead } = search(rows, "logs", rowsMax, resolutionMs);
          for (const row of lost) {
            // It is in a dead end, or has no category by which it could be told from the others.
            const isStuck = dead.some((ask) => holds(ask, row)) || row.categories.length === 0;
            expect(isStuck).toBe(true);
          }
          for (const ask of dead) expect(rows.filter((row) => holds(ask, row)).length).toBeGreaterThanOrEqual(rowsMax);
        },
      ),
    );
  });

  it("does not lose calls: a few times as many as the answers that the mail fills", () => {
    fc.assert(
      fc.property(mail("messages"), (rows) => {
        const ours = rows.map((row) => ({ ...row, foreign: false }));
        const { asked } = search(ours, "messages", 10, 1000);
        expect(asked.length).toBeLessThanOrEqual(2 + 6 * Math.ceil(ours.length / 10));
      }),
    );
  });

  it("asks only for what is left when that is close together, instead of halving", () => {
    const targets = [0, 1, 2].map((second) => target(second, NINE + second * 1000));
    const parts = splitAsk({ fromMs: NINE, toMs: NINE + 3_600_000 }, targets, "messages", {
      resolutionMs: 1000,
      listedMs: [],
    });
    expect(parts).toEqual([{ fromMs: NINE, toMs: NINE + 3000 }]);
  });

  it("leaves out a half in which nothing is wanted", () => {
    const targets = [target(1, NINE), target(2, NINE + 7_000), target(3, NINE + 9_000)];
    const parts = splitAsk({ fromMs: NINE, toMs: NINE + 10_000 }, targets, "messages", {
      resolutionMs: 1000,
      listedMs: [],
    });
    expect(parts).toEqual([
      { fromMs: NINE, toMs: NINE + 1000 },
      { fromMs: NINE + 7000, toMs: NINE + 10_000 },
    ]);
  });

  it("splits a second by time when the API has shown finer times", () => {
    const ask = { fromMs: NINE, toMs: NINE + 1000 };
    expect(splitAsk(ask, [target(1, NINE)], "logs", { resolutionMs: 1, listedMs: [] })).toEqual([
      { fromMs: NINE, toMs: NINE + 500 },
      { fromMs: NINE + 500, toMs: NINE + 1000 },
    ]);
  });

  it("keeps every target in both halves when their times are not known", () => {
    const targets = [target(1, NINE), target(2, NINE + 500_000_000)];
    const parts = splitAsk({ fromMs: 0, toMs: 120_000, anyTarget: true }, targets, "logs", {
      resolutionMs: 1000,
      listedMs: [],
    });
    expect(parts).toEqual([
      { fromMs: 0, toMs: 60_000, anyTarget: true },
      { fromMs: 60_000, toMs: 120_000, anyTarget: true },
    ]);
  });
});

describe("a window", () => {
  it("reaches back in Email Logs, whose time is a moment before the first event", () => {
    expect(hull([target(1, NINE)], TIMING.logs)).toEqual({ fromMs: NINE - 5000, toMs: NINE + 1000 });
    expect(hull([target(1, NINE)], TIMING.messages)).toEqual({ fromMs: NINE, toMs: NINE + 1000 });
    expect(hull([], TIMING.logs)).toBeUndefined();
  });

  it("concerns the messages that its answer can hold", () => {
    const ask = { fromMs: NINE, toMs: NINE + 1000 };
    expect(concerns(ask, target(1, NINE + 5000), TIMING.logs)).toBe(true);
    expect(concerns(ask, target(1, NINE + 6000), TIMING.logs)).toBe(false);
    expect(concerns(ask, target(1, NINE - 1000), TIMING.logs)).toBe(false);
  });
});

describe("choosing the seconds of a window", () => {
  const seconds = (...counts: number[]): SecondCount[] => counts.map((count, second) => ({ second, count }));

  it("takes everything when one call can answer it", () => {
    expect(chooseSeconds(seconds(300, 300, 300), "logs", 900)).toEqual({
      fromSecond: 0,
      toSecond: 3,
      count: 900,
      capped: false,
    });
  });

  it("takes whole seconds up to what one call can answer", () => {
    expect(chooseSeconds(seconds(300, 300, 300, 1), "messages", 900)).toEqual({
      fromSecond: 0,
      toSecond: 3,
      count: 900,
      capped: true,
    });
  });

  it("counts the second after in with Email Logs, since a part of it is answered too", () => {
    expect(chooseSeconds(seconds(300, 300, 300, 1), "logs", 900)).toEqual({
      fromSecond: 0,
      toSecond: 2,
      count: 600,
      capped: true,
    });
    const apart = [...seconds(300, 300, 300), { second: 60, count: 1 }];
    expect(chooseSeconds(apart, "logs", 900)).toMatchObject({ toSecond: 3, count: 900 });
  });

  it("takes one second at least, however many it holds", () => {
    expect(chooseSeconds(seconds(5000, 1), "logs", 900)).toEqual({
      fromSecond: 0,
      toSecond: 1,
      count: 5000,
      capped: true,
    });
  });

  it("has nothing to choose when nothing waits", () => {
    expect(chooseSeconds([], "logs", 900)).toBeUndefined();
  });
});

function target(message: number, atMs: number): Target {
  return { message, messageId: `m${message}`, atMs, categories: [] };
}
