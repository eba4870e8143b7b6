import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { testDatabase, type TestDatabase } from "../../test/database.ts";
import { seedFigures, seedGap, seedMessage, seedReconciliation, seedRepair, seedSource } from "../../test/seed.ts";
import { viewsApp, type ViewsApp } from "../../test/views-app.ts";
import { dayIn } from "../days.ts";
import type { Completeness, CompletenessOfDay, Gap } from "./contract-completeness.ts";
import type { ErrorBody } from "./contract.ts";

let db: TestDatabase;
let views: ViewsApp;
let source = 0;

beforeAll(async () => {
  db = await testDatabase();
  views = await viewsApp(db, { config: { HOLDFAST_ACCOUNT_TIME_ZONE: "Europe/Berlin" } });
  source = await seedSource(db.pool, "default");
});
afterAll(async () => {
  await views.close();
  await db.drop();
});
beforeEach(async () => {
  await db.pool.query(
    "TRUNCATE reconciliations, reconciliation_changes, gaps, repairs, messages, events, access_log RESTART IDENTITY",
  );
});

async function year(query = ""): Promise<Completeness> {
  const answer = await views.get(`/api/completeness${query}`);
  expect(answer.statusCode, answer.body).toBe(200);
  return answer.json<Completeness>();
}

async function day(path: string): Promise<CompletenessOfDay> {
  const answer = await views.get(`/api/completeness/${path}`);
  expect(answer.statusCode, answer.body).toBe(200);
  return answer.json<CompletenessOfDay>();
}

async function refused(url: string): Promise<string> {
  const answer = await views.get(url);
  return `${answer.statusCode} ${answer.json<ErrorBody>().error.code} ${answer.json<ErrorBody>().error.message}`;
}

/** Paths with everything that must not stand in a path or a query. */
const HOSTILE = ["'", "2026-03-01'--", "%00", "%2e%2e", "2026-3-1", "20260301", "2026-03-01T00:00:00Z", "١٢٣٤-٠١-٠١"];

describe("GET /api/completeness", () => {
  it("is empty before anything was checked", async () => {
    const answer = await year();
    const today = dayIn("Europe/Berlin", new Date());
    expect(answer).toEqual({
      year: Number(today.slice(0, 4)),
      years: [],
      timeZone: "Europe/Berlin",
      today,
      accounts: [],
      accountsLeftOut: 0,
      days: [],
    });
  });

  it("gives the days of one year by account, in the account's zone, and the years that have any", async () => {
    await seedReconciliation(db.pool, { day: "2024-12-31", time_zone: "UTC" });
    await seedReconciliation(db.pool, { day: "2026-01-01", account: "shop", state: "missing", missing: 4, open: 4 });
    await seedReconciliation(db.pool, {
      day: "2026-01-01",
      state: "repaired",
      missing: 37,
      repaired: 37,
      final: false,
    });
    await seedReconciliation(db.pool, { day: "2026-12-31" });
    const answer = await year("?year=2026");
    expect(answer).toMatchObject({ year: 2026, years: [2026, 2024], timeZone: "Europe/Berlin", accountsLeftOut: 0 });
    expect(answer.accounts).toEqual(["", "shop"]);
    expect(answer.days).toEqual([
      {
        day: "2026-01-01",
        account: "",
        state: "repaired",
        final: false,
        missing: 37,
        repaired: 37,
        open: 0,
        simulated: false,
        checkedAt: "2026-01-01T23:30:00.000Z",
      },
      expect.objectContaining({ day: "2026-01-01", account: "shop", state: "missing", missing: 4, open: 4 }),
      expect.objectContaining({ day: "2026-12-31", state: "equal", final: true }),
    ]);
    expect((await year("?year=2024")).days).toHaveLength(1);
    expect(await year("?year=2025")).toMatchObject({ year: 2025, days: [], accounts: [], years: [2026, 2024] });
  });

  it("shows a hundred accounts and says how many more there are", async () => {
    await db.pool.query(
      `INSERT INTO reconciliations (day, account, run, state, final, missing, repaired, open, kinds, time_zone)
       SELECT '2026-03-01', 'a' || n, 1, 'equal', true, 0, 0, 0, '[]', 'UTC' FROM generate_series(1, 103) AS n`,
    );
    const answer = await year("?year=2026");
    expect([answer.accounts.length, answer.days.length, answer.accountsLeftOut]).toEqual([100, 100, 3]);
    expect(await day("2026-03-01")).toMatchObject({ accountsLeftOut: 3 });
    expect(await day("2026-03-01?account=a103")).toMatchObject({ accounts: [{ account: "a103" }], accountsLeftOut: 0 });
  });

  it("refuses wrong years and unknown parameters by name", async () => {
    for (const wrong of ["1999", "3000", "-1", "2026.5", "abc", "", "1e99", "2026%00", "0x7EA"]) {
      expect(await refused(`/api/completeness?year=${wrong}`), wrong).toMatch(/^400 bad_request .*year/);
    }
    expect(await refused("/api/completeness?year=2026&year=2025")).toMatch(/^400 bad_request/);
    expect(await refused("/api/completeness?jahr=2026")).toMatch(/^400 bad_request jahr/);
  });

  it("needs a token", async () => {
    for (const url of ["/api/completeness", "/api/completeness/2026-03-01"]) {
      expect((await views.app.inject({ url })).statusCode).toBe(401);
    }
  });
});

describe("GET /api/completeness/:day", () => {
  it("says of a day that nobody has checked that it was not", async () => {
    expect(await day("2026-03-01")).toMatchObject({
      day: "2026-03-01",
      isChecked: false,
      accounts: [],
      changes: [],
      gaps: [],
      nextCursor: null,
    });
  });

  it("knows no day that the calendar has not, and takes nothing else for a day", async () => {
    expect(await refused("/api/completeness/2026-02-30")).toBe("404 not_found The calendar has no 2026-02-30.");
    expect(await refused("/api/completeness/2026-13-01")).toMatch(/^404 not_found/);
    for (const wrong of HOSTILE) expect(await refused(`/api/completeness/${wrong}`), wrong).toMatch(/^40[04] /);
    for (const wrong of ["2026-3-1", "20260301", "abc", "2026-03-01'--", "x".repeat(41)]) {
      expect(await refused(`/api/completeness/${wrong}`), wrong).toMatch(/^400 bad_request/);
    }
  });

  it("refuses every wrong parameter by its name", async () => {
    for (const [query, name] of [
      ["state=lost", "state"],
      ["state=", "state"],
      ["limit=0", "limit"],
      ["limit=201", "limit"],
      [`kind=${"x".repeat(64)}`, "kind"],
      [`account=${"x".repeat(2_000)}`, "account"],
      ["kind=%00", "kind"],
      ["colour=red", "colour"],
    ] as const) {
      expect(await refused(`/api/completeness/2026-03-01?${query}`), query).toMatch(
        new RegExp(`^400 bad_request .*${name}`),
      );
    }
    expect(await refused("/api/completeness/2026-03-01?cursor=abc")).toMatch(/^400 cursor_invalid/);
    const cursorOfMessages = Buffer.from("m12").toString("base64url");
    expect(await refused(`/api/completeness/2026-03-01?cursor=${cursorOfMessages}`)).toMatch(/^400 cursor_invalid/);
  });

  it("gives the figures by kind, where repaired events came from, and what changed and why, newest first", async () => {
    const kinds = [
      seedFigures("processed", 3_000),
      seedFigures("open", 500, { held: 463, missing: 37, repaired: 30, open: 7, checkedBy: "logs" }),
      seedFigures("group_unsubscribe", null, { held: 4, checkedBy: "rules", confidence: "suspected" }),
    ];
    await seedReconciliation(db.pool, {
      day: "2026-03-01",
      state: "missing",
      missing: 37,
      repaired: 30,
      open: 7,
      kinds,
    });
    for (const [origin, outcome] of [
      ["logs", "filed"],
      ["logs", "filed"],
      ["csv", "filed"],
      ["messages", "held"],
    ]) {
      const gap = await seedGap(db.pool, { day: "2026-03-01", state: "repaired" });
      await seedRepair(db.pool, { gap, origin, outcome });
    }
    const reasons = [
      { code: "total_moved", kind: "open", before: null, after: 5 },
      { code: "late", kind: "open", count: 2 },
      { code: "state_moved", before: "missing", after: "repaired" },
      { code: "final" },
      { code: "sentence", text: "1 open event arrived late." },
    ];
    await db.pool.query(
      `INSERT INTO reconciliation_changes (day, account, run, before, after, reasons)
       SELECT '2026-03-01', '', n, jsonb_build_object('missing', n), '{"missing": 37}', $1
       FROM generate_series(1, 53) AS n`,
      [JSON.stringify(reasons)],
    );
    const answer = await day("2026-03-01");
    expect(answer.accounts).toEqual([
      expect.objectContaining({
        state: "missing",
        timeZone: "Europe/Berlin",
        kinds,
        repairedFrom: [
          { origin: "logs", count: 2 },
          { origin: "csv", count: 1 },
        ],
      }),
    ]);
    expect(answer.changes).toHaveLength(50);
    expect(answer.changesLeftOut).toBe(3);
    expect(answer.changes[0]).toMatchObject({ before: { missing: 53 }, reasons });
  });

  it("tells of a gap when, who, which message, what became of it, and whether its webhook came after all", async () => {
    const message = await seedMessage(db.pool, { source, messageId: "mail.1" });
    const gap = await seedGap(db.pool, {
      day: "2026-03-01",
      message,
      message_id: "mail.1",
      event_id: "evt1",
      recipient: "person@example.com",
      state: "arrived",
      occurred_at: new Date("2026-03-01T10:00:00Z"),
      found_at: new Date("2026-03-02T10:00:00Z"),
      closed_at: new Date("2026-03-03T10:00:00Z"),
      evidence: JSON.stringify({ status: "delivered", note: "<b>" }),
    });
    await seedRepair(db.pool, {
      gap,
      message,
      repaired_at: new Date("2026-03-02T11:00:00Z"),
      replaced_at: new Date("2026-03-03T09:00:00Z"),
      replaced_by_receipt: 1_002,
    });
    await seedGap(db.pool, {
      day: "2026-03-01",
      kind: "open",
      rule: "open_undelivered",
      confidence: "suspected",
      message_id: "unheld.2",
    });
    const { gaps } = await day("2026-03-01");
    expect(gaps[0]).toEqual({
      id: "1",
      account: "",
      kind: "delivered",
      occurredAt: "2026-03-01T10:00:00.000Z",
      recipient: "person@example.com",
      messageId: "mail.1",
      isHeld: true,
      eventId: "evt1",
      rule: "logs",
      confidence: "confirmed",
      state: "arrived",
      foundAt: "2026-03-02T10:00:00.000Z",
      closedAt: "2026-03-03T10:00:00.000Z",
      evidence: { status: "delivered", note: "<b>" },
      evidenceLeftOut: false,
      repair: {
        origin: "logs",
        outcome: "filed",
        repairedAt: "2026-03-02T11:00:00.000Z",
        replacedAt: "2026-03-03T09:00:00.000Z",
        replacedByReceipt: "1002",
      },
    });
    expect(gaps[1]).toMatchObject({
      messageId: "unheld.2",
      isHeld: false,
      recipient: null,
      occurredAt: null,
      repair: null,
    });
  });

  it("leaves out evidence that is too large to look at", async () => {
    await seedGap(db.pool, { day: "2026-03-01", evidence: JSON.stringify({ page: "x".repeat(70_000) }) });
    expect((await day("2026-03-01")).gaps).toMatchObject([{ evidence: {}, evidenceLeftOut: true }]);
  });

  it("walks through the gaps page by page, each exactly once, narrowed by state, kind and account", async () => {
    await db.pool.query(
      `INSERT INTO gaps (day, account, identity, kind, rule, confidence, state)
       SELECT '2026-03-01', CASE WHEN n % 2 = 0 THEN '' ELSE 'shop' END, 'many ' || n,
         CASE WHEN n % 3 = 0 THEN 'open' ELSE 'click' END, 'logs', 'confirmed',
         CASE WHEN n <= 20 THEN 'open' ELSE 'repaired' END
       FROM generate_series(1, 45) AS n`,
    );
    await seedGap(db.pool, { day: "2026-03-02" });
    const walk = async (query: string): Promise<Gap[]> => {
      const seen: Gap[] = [];
      let cursor = "";
      do {
        const page = await day(`2026-03-01?limit=7${query}${cursor}`);
        seen.push(...page.gaps);
        cursor = page.nextCursor === null ? "" : `&cursor=${page.nextCursor}`;
      } while (cursor !== "");
      return seen;
    };
    const all = await walk("");
    expect(all.map(({ id }) => Number(id))).toEqual(Array.from({ length: 45 }, (_, index) => index + 1));
    expect(await walk("&state=open")).toHaveLength(20);
    expect(await walk("&kind=open")).toHaveLength(15);
    expect(await walk("&account=shop&state=repaired&kind=click")).toHaveLength(8);
    expect(await walk("&account=")).toHaveLength(22);
    expect(await walk("&kind=%27%3B--")).toEqual([]);
  });

  it("is written into the access log, since gaps name people", async () => {
    await day("2026-04-05");
    const { rows } = await db.pool.query("SELECT name, action, subject FROM access_log");
    expect(rows).toEqual([{ name: "test support", action: "completeness.view", subject: "2026-04-05" }]);
  });
});
