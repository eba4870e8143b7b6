import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { testDatabase, type TestDatabase } from "../../test/database.ts";
import { API_FORBIDDEN_SECONDS, API_OUTAGE_SECONDS, API_OUTAGE_SECONDS_MAX } from "../limits.ts";
import { askableApis, noteAnswered, noteForbidden, noteLimited, noteUnavailable, takeCall } from "./budget.ts";

const START_MS = Date.UTC(2026, 2, 1, 9);

function at(seconds: number): Date {
  return new Date(START_MS + seconds * 1000);
}

describe("the budget of an API", () => {
  let db: TestDatabase;

  beforeAll(async () => {
    db = await testDatabase();
  });

  beforeEach(async () => {
    await db.pool.query("TRUNCATE provider_apis");
  });

  afterAll(async () => {
    await db.drop();
  });

  async function take(seconds: number, reserve = 0): Promise<number | "granted"> {
    const permit = await takeCall(db.pool, "messages", 6, { now: at(seconds), reserve });
    return permit.granted ? "granted" : permit.waitSeconds;
  }

  async function row(): Promise<Record<string, unknown> | undefined> {
    const { rows } = await db.pool.query<Record<string, unknown>>(
      "SELECT * FROM provider_apis WHERE name = 'messages'",
    );
    return rows[0];
  }

  it("grants as many calls at once as a minute allows, and says how long until the next", async () => {
    for (let call = 0; call < 6; call += 1) expect(await take(call)).toBe("granted");
    const wait = await take(10);
    expect(wait).toBeGreaterThan(50);
    expect(wait).toBeLessThan(53);
    expect(await take(10 + Number(wait) + 0.001)).toBe("granted");
    expect(await row()).toMatchObject({ calls: 7 });
  });

  it("never grants more than a minute's calls within any minute, whatever the rhythm of asking", async () => {
    const granted: number[] = [];
    for (let tenths = 0; tenths < 3_000; tenths += 7) {
      const seconds = tenths / 10;
      if ((await take(seconds)) === "granted") granted.push(seconds);
    }
    for (const end of granted) {
      expect(granted.filter((call) => call > end - 60 && call <= end).length).toBeLessThanOrEqual(6);
    }
    // Nor much less than allowed: five minutes.
    expect(granted.length).toBeGreaterThanOrEqual(29);
  });

  it("grants no more than that to many who ask at the same moment", async () => {
    const permits = await Promise.all(
      Array.from({ length: 40 }, () => takeCall(db.pool, "messages", 6, { now: at(0) })),
    );
    expect(permits.filter(({ granted }) => granted)).toHaveLength(6);
  });

  it("keeps a rate of thousands a minute without keeping thousands of times", async () => {
    let granted = 0;
    for (let second = 0; second < 6; second += 1) {
      for (let call = 0; call < 60; call += 1) {
        const permit = await takeCall(db.pool, "messages", 3_000, { now: at(second + call / 100) });
        if (permit.granted) granted += 1;
      }
    }
    expect(granted).toBeLessThanOrEqual(300);
    expect(granted).toBeGreaterThan(200);
    const kept = await db.pool.query<{ count: number }>(
      "SELECT cardinality(called_at)::bigint AS count FROM provider_apis",
    );
    expect(kept.rows[0]?.count).toBeLessThanOrEqual(60);
  });

  it("leaves the reserved calls to those who reserve nothing", async () => {
    for (let call = 0; call < 5; call += 1) expect(await take(call, 1)).toBe("granted");
    expect(await take(5, 1)).toBeGreaterThan(50);
    expect(await take(5)).toBe("granted");
  });

  it("lets a budget of one call a minute be used in spite of a reserve", async () => {
    const permit = await takeCall(db.pool, "logs", 1, { now: at(0), reserve: 1 });
    expect(permit).toEqual({ granted: true });
    const next = await takeCall(db.pool, "logs", 1, { now: at(1), reserve: 1 });
    expect(next.granted).toBe(false);
  });

  it("uses the database's clock when none is given", async () => {
    expect(await takeCall(db.pool, "messages", 1)).toEqual({ granted: true });
    const { rows } = await db.pool.query(
      "SELECT FROM provider_apis WHERE called_at[1] BETWEEN now() - interval '1 minute' AND now()",
    );
    expect(rows).toHaveLength(1);
    const permit = await takeCall(db.pool, "messages", 1);
    expect(permit).toMatchObject({ granted: false });
  });

  it("keeps each API's budget apart", async () => {
    for (let call = 0; call < 6; call += 1) await take(0);
    expect(await takeCall(db.pool, "logs", 6, { now: at(0) })).toEqual({ granted: true });
  });

  it("asks nothing until the moment that a 429 named", async () => {
    await take(0);
    await noteLimited(db.pool, "messages", 42, at(1));
    expect(await take(2)).toBe(41);
    expect(await take(43)).toBe("granted");
    expect(await row()).toMatchObject({ limited: 1 });
  });

  it("asks nothing until the reset when an answer was the last that is allowed", async () => {
    await take(0);
    await noteAnswered(db.pool, "messages", 30, at(0));
    expect(await take(1)).toBe(29);
    await noteAnswered(db.pool, "messages", undefined, at(31));
    expect(await take(31)).toBe("granted");
  });

  it("leaves an API that gives no usable answers alone for longer and longer, up to a limit", async () => {
    await take(0);
    expect(await noteUnavailable(db.pool, "messages", "HTTP 500", at(0))).toBe(1);
    expect(await take(0)).toBe(API_OUTAGE_SECONDS);
    expect(await noteUnavailable(db.pool, "messages", "HTTP 500", at(0))).toBe(2);
    expect(await take(0)).toBe(2 * API_OUTAGE_SECONDS);
    for (let call = 0; call < 20; call += 1) await noteUnavailable(db.pool, "messages", "HTTP 503", at(0));
    expect(await take(0)).toBe(API_OUTAGE_SECONDS_MAX);
    expect(await row()).toMatchObject({ state: "available", reason: "HTTP 503", failures: 22 });
    await noteAnswered(db.pool, "messages", undefined, at(700));
    expect(await row()).toMatchObject({ reason: null, failures: 0, blocked_until: null });
  });

  it("does not ask a forbidden API again until a day has passed or the process was started anew", async () => {
    const both = ["logs", "messages"] as const;
    expect(await askableApis(db.pool, both, at(0), at(0))).toEqual(["logs", "messages"]);
    await take(1);
    await noteForbidden(db.pool, "messages", "HTTP 403", at(2));
    expect(await askableApis(db.pool, both, at(0), at(3))).toEqual(["logs"]);
    expect(await askableApis(db.pool, both, at(3), at(3))).toEqual(["logs", "messages"]);
    expect(await askableApis(db.pool, both, at(0), at(2 + API_FORBIDDEN_SECONDS))).toEqual(["logs"]);
    expect(await askableApis(db.pool, both, at(0), at(3 + API_FORBIDDEN_SECONDS))).toEqual(["logs", "messages"]);
  });

  it("remembers since when an API is forbidden, and forgets it with the first usable answer", async () => {
    await take(1);
    await noteForbidden(db.pool, "messages", "HTTP 403", at(2));
    await noteForbidden(db.pool, "messages", "HTTP 403: again", at(90_000));
    expect(await row()).toMatchObject({
      state: "forbidden",
      reason: "HTTP 403: again",
      changed_at: at(2),
      refused_at: at(90_000),
    });
    await noteAnswered(db.pool, "messages", undefined, at(180_000));
    expect(await row()).toMatchObject({ state: "available", reason: null, changed_at: at(180_000) });
  });
});
