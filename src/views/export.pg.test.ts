import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { testDatabase, type TestDatabase } from "../../test/database.ts";
import { seedMessage, seedSource, seedTally } from "../../test/seed.ts";
import { viewsApp, type ViewsApp } from "../../test/views-app.ts";
import { EXPORT_PAGE_ROWS, EXPORT_ROWS_MAX } from "../limits.ts";
import type { ErrorBody } from "./contract.ts";

let db: TestDatabase;
let views: ViewsApp;
let source = 0;

beforeAll(async () => {
  db = await testDatabase();
  views = await viewsApp(db);
  source = await seedSource(db.pool, "default");
  await seedTally(db.pool, { hour: new Date("2026-03-01T09:00:00Z"), source, receipts: 1 });
});
afterAll(async () => {
  await views.close();
  await db.drop();
});
beforeEach(async () => {
  await db.pool.query("TRUNCATE messages, events, access_log");
});

async function seedMany(count: number): Promise<void> {
  await db.pool.query(
    `INSERT INTO messages (source, message_id, recipient, delivery, first_event_at)
     SELECT $1, 'm' || n, 'p' || n || '@example.com', 'delivered', '2026-03-01T09:00:00Z' FROM generate_series(1, $2::integer) AS n`,
    [source, count],
  );
}

async function csv(query = ""): Promise<string[]> {
  const answer = await views.as("compliance", { url: `/api/messages.csv${query}` });
  expect(answer.statusCode, answer.body).toBe(200);
  return answer.body.split("\r\n").slice(0, -1);
}

describe("GET /api/messages.csv", () => {
  it("is a file with a header, quoted cells, and nothing that a spreadsheet would run", async () => {
    await seedMessage(db.pool, {
      source,
      messageId: "m1",
      recipient: "=cmd|' /C calc'!A0@example.com",
      args: { order_id: '4711"' },
      categories: ["@sum", "b"],
    });
    const answer = await views.as("compliance", { url: "/api/messages.csv" });
    expect(answer.headers).toMatchObject({
      "content-type": "text/csv; charset=utf-8; header=present",
      "cache-control": "no-store",
    });
    expect(answer.headers["content-disposition"]).toMatch(/^attachment; filename="messages-\d{4}-\d\d-\d\d\.csv"$/);
    expect(answer.body).toBe(
      "\uFEFF" +
        '"id","source","simulated","recipient","subject","delivery","opens","machine_opens","clicks","complaint","unsubscribed","categories","args","first_event_at","last_event_at"\r\n' +
        `"m1","default",false,"'=cmd|' /C calc'!A0@example.com",,"delivered",0,0,0,false,false,"'@sum; b","{""order_id"":""4711\\""""}","2026-03-01T09:00:00.000Z","2026-03-01T09:00:00.000Z"\r\n`,
    );
  });

  it("holds every message of the search once, over many pages, and no other", async () => {
    await seedMany(2 * EXPORT_PAGE_ROWS + 1);
    await seedMessage(db.pool, { source, messageId: "other", recipient: "p1@example.com", delivery: "bounced" });
    const lines = await csv("?state=delivered");
    const ids = lines.slice(1).map((line) => line.slice(1, line.indexOf('"', 1)));
    expect(ids).toHaveLength(2 * EXPORT_PAGE_ROWS + 1);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids).not.toContain("other");
    expect(ids[0]).toBe(`m${2 * EXPORT_PAGE_ROWS + 1}`);
  });

  it("ends at its limit, and says so", async () => {
    await seedMany(EXPORT_ROWS_MAX + 1);
    const lines = await csv();
    expect(lines).toHaveLength(EXPORT_ROWS_MAX + 2);
    expect(lines.at(-1)).toContain("There are more than these 100000 messages");
  });

  it("is for compliance and admin, and each one is written down", async () => {
    const refused = await views.get("/api/messages.csv");
    expect([refused.statusCode, refused.json<ErrorBody>().error.code]).toEqual([403, "role_too_low"]);
    expect((await views.app.inject({ url: "/api/messages.csv" })).statusCode).toBe(401);
    await csv("?q=4711");
    await csv("?q=4711");
    const { rows } = await db.pool.query("SELECT name, subject FROM access_log WHERE action = 'messages.export'");
    expect(rows).toEqual([1, 2].map(() => ({ name: "test compliance", subject: '{"q":"4711"}' })));
  });

  it("says what is wrong before it begins, and gives its place back", async () => {
    for (const query of ["?state=nothing", "?limit=5", "?cursor=x", "?kind=weather", "?source=unknown", "?q=%00"]) {
      const answer = await views.as("admin", { url: `/api/messages.csv${query}` });
      expect([answer.statusCode, answer.json<ErrorBody>().error.code], query).toEqual([400, "bad_request"]);
    }
    expect(await csv()).toHaveLength(1);
  });
});
