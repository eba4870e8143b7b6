import { get } from "node:http";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { testDatabase, type TestDatabase } from "../../test/database.ts";
import { viewsApp, type ViewsApp } from "../../test/views-app.ts";

let db: TestDatabase;
let views: ViewsApp;
let url: string;

beforeAll(async () => {
  db = await testDatabase();
  views = await viewsApp(db);
  url = await views.listen();
});
afterAll(async () => {
  await views.close();
  await db.drop();
});

/** Queries of the service that wait for a lock. */
async function waiting(watcher: pg.Client): Promise<number> {
  const found = await watcher.query<{ n: number }>(
    `SELECT count(*)::int AS n FROM pg_stat_activity
     WHERE datname = current_database() AND application_name = 'test pool' AND wait_event_type = 'Lock'`,
  );
  return found.rows[0]?.n ?? 0;
}

describe("a search whose page has gone on to another", () => {
  it.each([
    "/api/messages?q=a@example.com",
    "/api/recipients/a@example.com",
    "/api/balance",
    "/api/rates",
    "/api/alerts",
    "/api/completeness.csv?from=2026-03-01&to=2026-03-02",
    "/api/completeness.json?from=2026-03-01&to=2026-03-02",
    "/api/completeness/certificate.pdf?from=2026-03-01&to=2026-03-02",
  ])("is cancelled in PostgreSQL: %s", async (path) => {
    const watcher = new pg.Client({ connectionString: db.databaseUrl, application_name: "watcher" });
    await watcher.connect();
    try {
      // As slow as a search can be: it waits until the lock is given up, which it is not before the search has ended.
      await watcher.query(
        "BEGIN; LOCK TABLE messages, tallies, events, sources, arg_keys, alerts, reconciliations IN ACCESS EXCLUSIVE MODE",
      );
      const request = get(`${url}${path}`, { headers: { authorization: `Bearer ${views.tokens.compliance}` } });
      request.on("error", () => undefined);
      await expect.poll(async () => waiting(watcher), { timeout: 8_000, interval: 10 }).toBe(1);
      request.destroy();
      await expect.poll(async () => waiting(watcher), { timeout: 8_000, interval: 10 }).toBe(0);
      await watcher.query("ROLLBACK");
      // And the next one finds everything as it was.
      expect((await views.get(path)).statusCode).not.toBeGreaterThanOrEqual(500);
    } finally {
      await watcher.end();
    }
  });
});
