import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { testDatabase, type TestDatabase } from "../../test/database.ts";
import { seedSource, seedTally } from "../../test/seed.ts";
import { openSse } from "../../test/sse-client.ts";
import { viewsApp, type ViewsApp } from "../../test/views-app.ts";
import type { Rates } from "./contract-live.ts";
import type { ErrorBody, Status } from "./contract.ts";

let db: TestDatabase;
let views: ViewsApp;
let source = 0;
let simulation = 0;

beforeAll(async () => {
  db = await testDatabase();
  views = await viewsApp(db);
  source = await seedSource(db.pool, "default");
  simulation = await seedSource(db.pool, "simulation", true);
  await seedTally(db.pool, { hour: new Date("2026-03-01T09:00:00Z"), source, receipts: 1 });
});
afterAll(async () => {
  await views.close();
  await db.drop();
});
beforeEach(async () => {
  await db.pool.query("TRUNCATE rates, instances");
});

/** A bucket of a size, that many seconds ago. */
async function seedRate(step: number, secondsAgo: number, delivered: number, of = source): Promise<void> {
  await db.pool.query(
    `INSERT INTO rates (step, at, source, processed, deferred, delivered, failed, engaged, objected, other, retries)
     VALUES ($1::integer, date_bin(make_interval(secs => $1::integer), now() - make_interval(secs => $2), 'epoch'), $3, 0, 0, $4, 0, 0, 0, 0, 2)`,
    [step, secondsAgo, of, delivered],
  );
}

async function rates(query = ""): Promise<Rates> {
  const answer = await views.get(`/api/rates${query}`);
  expect(answer.statusCode, answer.body).toBe(200);
  return answer.json<Rates>();
}

describe("GET /api/rates", () => {
  it("gives each span in its own buckets, from its beginning to the end of the bucket under way", async () => {
    await seedRate(10, 60, 5);
    await seedRate(10, 20 * 60, 99);
    await seedRate(300, 3_600, 6);
    await seedRate(7_200, 86_400, 7);
    for (const [query, step, span, delivered] of [
      ["", 10, 900, 5],
      ["?span=15min", 10, 900, 5],
      ["?span=24h", 300, 86_400, 6],
      ["?span=30d", 7_200, 30 * 86_400, 7],
    ] as const) {
      const { stepSeconds, from, to, points } = await rates(query);
      expect([stepSeconds, (Date.parse(to) - Date.parse(from)) / 1000]).toEqual([step, span]);
      expect(points).toMatchObject([{ delivered, retries: 2, processed: 0 }]);
      expect(Date.parse(to) - Date.now()).toBeLessThanOrEqual(step * 1000);
    }
  });

  it("never mixes simulated with real ones, and refuses what it does not know", async () => {
    await seedRate(10, 60, 1);
    await seedRate(10, 60, 10, simulation);
    expect((await rates()).points[0]?.delivered).toBe(1);
    expect((await rates("?simulated=true")).points[0]?.delivered).toBe(10);
    expect((await rates("?simulated=all")).points[0]?.delivered).toBe(11);
    expect((await rates("?source=simulation")).points[0]?.delivered).toBe(10);
    for (const query of ["?span=1h", "?span=", "?source=nobody", "?from=2026-03-01", "?span=24h&span=30d"]) {
      const answer = await views.get(`/api/rates${query}`);
      expect([answer.statusCode, answer.json<ErrorBody>().error.code], query).toEqual([400, "bad_request"]);
    }
    expect((await views.app.inject({ url: "/api/rates" })).statusCode).toBe(401);
  });

  it("is continued by the live stream, for the traffic that was asked for", async () => {
    await seedRate(10, 0, 3);
    await seedRate(10, 0, 30, simulation);
    const authorization = `Bearer ${views.tokens.support}`;
    const client = await openSse(`${await views.listen()}/api/live`, { authorization });
    try {
      const { data } = await client.next("rates");
      expect(data).toMatchObject({ stepSeconds: 10, points: [{ delivered: 3 }] });
    } finally {
      client.close();
    }
  });
});

describe("the status", () => {
  it("says of each running process how its disk, its spool and its database stand", async () => {
    await db.pool.query(
      `INSERT INTO instances (id, host, pid, version, roles, unsafe, clock_skew_ms, disk_free_bytes, disk_low, spool_posts, spool_bytes, spool_oldest_event_at, started_at)
       VALUES ('one', 'host', 1, '1.0', '{intake,views}', '{fsync=off}', 1249, 1234567890, true, 3, 99, '2026-03-01T09:00:00Z', '2026-03-01T08:00:00Z')`,
    );
    await db.pool.query(
      "INSERT INTO instances (id, host, pid, version, roles, seen_at) VALUES ('gone', 'host', 2, '1', '{}', now() - interval '1 minute')",
    );
    expect((await views.get("/api/status")).json<Status>().instances).toEqual([
      {
        id: "one",
        host: "host",
        version: "1.0",
        roles: ["intake", "views"],
        startedAt: "2026-03-01T08:00:00.000Z",
        unsafe: ["fsync=off"],
        weak: [],
        clockSkewMs: 1_200,
        diskFreeBytes: 1_200_000_000,
        diskLow: true,
        spool: { posts: 3, bytes: 99, oldestEventAt: "2026-03-01T09:00:00.000Z" },
      },
    ]);
  });
});
