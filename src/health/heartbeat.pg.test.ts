import { tmpdir } from "node:os";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { testDatabase, type TestDatabase } from "../../test/database.ts";
import { createLog } from "../log.ts";
import { createDiskWatch } from "./disk.ts";
import { auditDurability } from "./durability.ts";
import { createHeartbeat, type Heartbeat, type HeartbeatOptions } from "./heartbeat.ts";

let db: TestDatabase;

beforeAll(async () => {
  db = await testDatabase();
});
afterAll(async () => db.drop());

function heartbeat(options: Partial<HeartbeatOptions> = {}): Heartbeat {
  return createHeartbeat({
    pool: db.pool,
    log: createLog("silent"),
    instance: "me",
    version: "1",
    roles: ["intake"],
    disk: createDiskWatch(tmpdir(), 0),
    spool: () => ({ posts: 0, bytes: 0, oldestEventAt: undefined }),
    ...options,
  });
}

describe("a heartbeat", () => {
  test("writes one row per process, with its spool and its disk, and removes those that ended without a word", async () => {
    await db.pool.query(
      `INSERT INTO instances (id, host, pid, version, roles, seen_at) VALUES ('gone', 'h', 1, '1', '{}', now() - interval '31 seconds')`,
    );
    const oldestEventAt = new Date("2026-11-30T10:00:00Z");
    const beat = heartbeat({ spool: () => ({ posts: 3, bytes: 99, oldestEventAt }) });
    await beat.tick();
    await beat.tick();
    const { rows } = await db.pool.query(
      "SELECT id, spool_posts, spool_bytes, spool_oldest_event_at, disk_free_bytes > 0 AS disk, disk_low FROM instances",
    );
    expect(rows).toEqual([
      { id: "me", spool_posts: 3, spool_bytes: 99, spool_oldest_event_at: oldestEventAt, disk: true, disk_low: false },
    ]);
    await beat.stop();
    expect((await db.pool.query("SELECT FROM instances")).rowCount).toBe(0);
  });

  test.each([
    ["in 1970", 0],
    ["a thousand years ahead", Date.UTC(3026, 0)],
  ])("is written by a machine whose clock is %s, with the distance", async (_where, nowMs) => {
    const beat = heartbeat({ now: () => nowMs });
    await beat.tick();
    const { rows } = await db.pool.query<{ skew: number }>("SELECT clock_skew_ms AS skew FROM instances");
    expect(Math.abs((rows[0]?.skew ?? 0) - (Date.now() - nowMs))).toBeLessThan(60_000);
    await beat.stop();
  });

  test("says that the disk is low below the limit", async () => {
    const disk = createDiskWatch(tmpdir(), Number.MAX_SAFE_INTEGER);
    expect(disk.isLow()).toBe(false);
    const beat = heartbeat({ disk });
    await beat.tick();
    expect(disk.isLow()).toBe(true);
    expect((await db.pool.query<object>("SELECT disk_low FROM instances")).rows).toEqual([{ disk_low: true }]);
    await beat.stop();
  });
});

describe("the durability audit", () => {
  test("names what would lose committed receipts, and measures the distance of the two clocks", async () => {
    const session = await db.pool.connect();
    try {
      const { unsafe } = await auditDurability(session);
      // The tests' own server may run without fsync: that is exactly what must be found.
      const fsync = await session.query<{ fsync: string }>("SHOW fsync");
      expect(unsafe).toEqual(fsync.rows[0]?.fsync === "off" ? ["fsync=off"] : []);
      await session.query("SET synchronous_commit = off");
      expect((await auditDurability(session)).unsafe).toContain("synchronous_commit=off");
      await session.query("SET synchronous_commit = remote_apply");
      expect((await auditDurability(session)).unsafe).not.toContain("synchronous_commit=remote_apply");
      const anHourAhead = (): number => Date.now() + 3_600_000;
      expect(Math.round((await auditDurability(session, anHourAhead)).clockSkewMs / 60_000)).toBe(-60);
    } finally {
      await session.query("RESET synchronous_commit");
      session.release();
    }
  });
});
