import { describe, expect, test } from "vitest";
import { checkSetFull, checkStaleness, type SentPosts } from "./checker.ts";
import type { Operation } from "./history.ts";

/** POST 0 holds a and b, POST 1 holds b and c. */
const SENT: SentPosts = {
  keys: ["a", "b", "c"],
  elementsOf: new Map([
    [0, [0, 1]],
    [1, [1, 2]],
  ]),
};

function answer(post: number, type: Operation["type"], rest: Partial<Operation> = {}): Operation {
  return { f: "post", process: 0, timeMs: 0, post, type, ...rest };
}

function found(rows: Record<string, number>): Map<string, number> {
  return new Map(Object.entries(rows));
}

describe("the checker", () => {
  test("finds nothing wrong when each acknowledged event is there once", () => {
    const result = checkSetFull(SENT, [answer(0, "ok"), answer(1, "ok")], found({ a: 1, b: 1, c: 1 }));
    expect(result).toEqual({ ok: 3, lost: [], unkept: [], double: [], phantom: [], recovered: 0, absent: 0 });
  });

  test("calls an acknowledged event that is absent lost, and holds it to its best answer", () => {
    const operations = [answer(0, "fail"), answer(0, "ok"), answer(0, "info"), answer(1, "info")];
    const result = checkSetFull(SENT, operations, found({ a: 1 }));
    expect(result.lost).toEqual(["b"]);
    expect(result.absent).toBe(1);
  });

  test("lets an event that was never acknowledged be there or not", () => {
    const result = checkSetFull(SENT, [answer(0, "info", { error: "ECONNRESET" })], found({ a: 1 }));
    expect(result).toMatchObject({ ok: 0, lost: [], unkept: [], recovered: 1, absent: 2 });
  });

  test("holds a POST refused as unavailable to the spool's promise, and no other refusal", () => {
    const refused = answer(0, "info", { status: 503, error: "unavailable" });
    const other = answer(1, "info", { status: 503, error: "overloaded" });
    expect(checkSetFull(SENT, [refused, other], found({ a: 1 })).unkept).toEqual(["b"]);
  });

  test("finds a second row, and a row that nobody sent", () => {
    const result = checkSetFull(SENT, [answer(0, "ok"), answer(1, "ok")], found({ a: 2, b: 1, c: 1, d: 1 }));
    expect(result).toMatchObject({ lost: [], double: ["a"], phantom: ["d"] });
  });

  test("counts rows where two events share a key because SendGrid left the ids out", () => {
    const sent: SentPosts = { keys: ["x", "x"], elementsOf: new Map([[0, [0, 1]]]) };
    expect(checkSetFull(sent, [answer(0, "ok")], found({ x: 2 }))).toMatchObject({ ok: 2, lost: [], double: [] });
    expect(checkSetFull(sent, [answer(0, "ok")], found({ x: 1 })).lost).toEqual(["x"]);
    expect(checkSetFull(sent, [answer(0, "ok")], found({ x: 3 })).double).toEqual(["x"]);
  });

  test("measures the time from the first acknowledgement to the first read that saw it", () => {
    const operations = [1_000, 5_000].map((timeMs) => answer(0, "ok", { timeMs }));
    operations.push(answer(1, "ok", { timeMs: 2_000 }));
    const visible = new Map([
      [0, 1_300],
      [1, 9_000],
    ]);
    expect(checkStaleness(operations, visible, 500)).toEqual({ stale: 1, p50Ms: 300, p99Ms: 300, maxMs: 7_000 });
  });
});
