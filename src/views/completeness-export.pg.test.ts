import { createHash } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { testDatabase, type TestDatabase } from "../../test/database.ts";
import { seedFigures, seedReconciliation } from "../../test/seed.ts";
import { viewsApp, type ViewsApp } from "../../test/views-app.ts";
import type { ErrorBody } from "./contract.ts";

let db: TestDatabase;
let views: ViewsApp;

beforeAll(async () => {
  db = await testDatabase();
  views = await viewsApp(db, { config: { HOLDFAST_PUBLIC_URL: "https://holdfast.example.com" } });
});
afterAll(async () => {
  await views.close();
  await db.drop();
});
beforeEach(async () => {
  await db.pool.query("TRUNCATE reconciliations, gaps, repairs, access_log RESTART IDENTITY");
});

const PATHS = ["completeness.csv", "completeness.json", "completeness/certificate.pdf"];

describe.each(PATHS)("GET /api/%s", (path) => {
  it("is for those who may take data away, and each time is written down", async () => {
    const url = `/api/${path}?from=2026-03-01&to=2026-03-01`;
    expect((await views.app.inject({ url })).statusCode).toBe(401);
    const answer = await views.get(url);
    expect([answer.statusCode, answer.json<ErrorBody>().error.code]).toEqual([403, "role_too_low"]);
    for (const role of ["compliance", "admin", "admin"] as const) {
      expect((await views.as(role, { url })).statusCode).toBe(200);
    }
    const { rows } = await db.pool.query<{ action: string; subject: string }>("SELECT action, subject FROM access_log");
    expect(rows).toHaveLength(3);
    expect(rows[0]?.action).toBe(path.endsWith("pdf") ? "completeness.certificate" : "completeness.export");
    expect(JSON.parse(rows[0]?.subject ?? "")).toMatchObject({ from: "2026-03-01", to: "2026-03-01" });
  });

  it.each([
    ["", "from"],
    ["?from=2026-03-01", "to"],
    ["?from=2026-03-01&to=2026-02-01", "from must not be after to"],
    ["?from=2026-02-30&to=2026-03-01", "from must be a day"],
    ["?from=2026-03-01&to=2026-03-32", "to must be a day"],
    ["?from=1026-03-01&to=2026-03-01", "from must be a day"],
    ["?from=2026-03-01T00:00:00Z&to=2026-03-02", "from must be a day"],
    ["?from=2025-01-01&to=2026-01-02", "at most 366 days, not 367"],
    ["?from=%27;--&to=2026-03-02", "from must be a day"],
    ["?from=%00&to=2026-03-02", "from"],
    ["?from=2026-03-01&from=2026-03-01&to=2026-03-02", "from"],
    ["?from=2026-03-01&to=2026-03-02&colour=red", "colour"],
    [`?from=2026-03-01&to=2026-03-02&account=${"x".repeat(2_000)}`, "account"],
  ])("refuses %s by name", async (query, words) => {
    const answer = await views.as("compliance", { url: `/api/${path}${query}` });
    expect(answer.statusCode, answer.body).toBe(400);
    expect(answer.json<ErrorBody>().error).toMatchObject({ code: "bad_request" });
    expect(answer.json<ErrorBody>().error.message).toContain(words);
  });

  it("refuses more results than it can hold instead of cutting them off", async () => {
    await db.pool.query(
      `INSERT INTO reconciliations (day, account, run, state, final, missing, repaired, open, kinds, time_zone)
       SELECT '2026-03-01', 'a' || n, 1, 'equal', true, 0, 0, 0, '[]', 'UTC' FROM generate_series(1, 5001) AS n`,
    );
    const url = `/api/${path}?from=2026-03-01&to=2026-03-01`;
    const answer = await views.as("compliance", { url });
    expect([answer.statusCode, answer.json<ErrorBody>().error.message]).toEqual([
      400,
      expect.stringMatching(/more than (1000|5000) results: ask for fewer days, or one account/),
    ]);
    expect((await views.as("compliance", { url: `${url}&account=a7` })).statusCode).toBe(200);
  });
});

describe("the figures as CSV", () => {
  it("have a line for each day, account and kind, also for what was not checked, and run no formula", async () => {
    await seedReconciliation(db.pool, {
      day: "2026-03-01",
      account: "=cmd|'/C calc'!A0",
      state: "repaired",
      final: false,
      missing: 37,
      repaired: 37,
      kinds: [
        seedFigures("open", 500, { held: 500, missing: 37, repaired: 37, surplus: 1, checkedBy: "logs" }),
        seedFigures("group_unsubscribe", null, { held: 4 }),
      ],
    });
    await seedReconciliation(db.pool, { day: "2026-03-03", state: "unknown", kinds: [] });
    const answer = await views.as("compliance", { url: "/api/completeness.csv?from=2026-03-01&to=2026-03-03" });
    expect(answer.headers).toMatchObject({
      "content-type": "text/csv; charset=utf-8; header=present",
      "content-disposition": 'attachment; filename="completeness-2026-03-01-to-2026-03-03.csv"',
      "cache-control": "no-store",
    });
    expect(answer.body).toBe(
      [
        '\uFEFF"day","account","time_zone","state","final","kind","sendgrid","held","missing","repaired","open","surplus","checked_by","confidence","checked_at"',
        `"2026-03-01","'=cmd|'/C calc'!A0","Europe/Berlin","repaired",false,"open",500,500,37,37,0,1,"logs","certain","2026-03-01T23:30:00.000Z"`,
        `"2026-03-01","'=cmd|'/C calc'!A0","Europe/Berlin","repaired",false,"group_unsubscribe",,4,0,0,0,0,"totals","certain","2026-03-01T23:30:00.000Z"`,
        '"2026-03-02",,,"not_checked",false,,,,,,,,,,',
        '"2026-03-03","","Europe/Berlin","unknown",true,,,,,,,,,,"2026-03-03T23:30:00.000Z"',
        "",
      ].join("\r\n"),
    );
  });
});

describe("the certificate", () => {
  it("is a PDF with the hash that the JSON of the same period has, in the language asked for", async () => {
    await seedReconciliation(db.pool, { day: "2026-03-01" });
    const query = "from=2026-03-01&to=2026-03-01";
    const json = await views.as("compliance", { url: `/api/completeness.json?${query}` });
    expect(json.headers["content-type"]).toBe("application/json; charset=utf-8");
    const hash = createHash("sha256").update(json.rawPayload).digest("hex");
    const { figuresHash } = await import("./completeness-figures.ts");
    expect(figuresHash(json.json())).toBe(hash);
    const take = async (language: string) =>
      views.as("compliance", { url: `/api/completeness/certificate.pdf?${query}&language=${language}` });
    const english = await take("en");
    expect(english.headers).toMatchObject({
      "content-type": "application/pdf",
      "content-disposition": 'attachment; filename="completeness-certificate-2026-03-01.pdf"',
    });
    expect(english.rawPayload.subarray(0, 5).toString()).toBe("%PDF-");
    expect(english.rawPayload.equals((await take("en")).rawPayload)).toBe(true);
    expect(english.rawPayload.equals((await take("de")).rawPayload)).toBe(false);
    expect((await take("fr")).json<ErrorBody>().error.message).toBe("language must be one of en, de");
  });

  it("is drawn by at most two at once; the others are told to come again", async () => {
    const url = "/api/completeness/certificate.pdf?from=2026-03-01&to=2026-03-01";
    const answers = await Promise.all(Array.from({ length: 6 }, () => views.as("compliance", { url })));
    const codes = answers.map(({ statusCode }) => statusCode);
    expect(codes.filter((code) => code === 200).length).toBeGreaterThanOrEqual(2);
    expect(codes.every((code) => code === 200 || code === 503)).toBe(true);
    expect((await views.as("compliance", { url })).statusCode).toBe(200);
  });
});
