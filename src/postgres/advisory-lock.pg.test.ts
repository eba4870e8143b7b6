import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { testDatabase, type TestDatabase } from "../../test/database.ts";
import { ADVISORY_LOCKS, type HeldLock, type LockName, tryLock } from "./advisory-lock.ts";

const NAMES = Object.keys(ADVISORY_LOCKS) as LockName[];
const patient = { timeout: 50_000 };

describe("an advisory lock", () => {
  let db: TestDatabase;

  beforeAll(async () => {
    db = await testDatabase();
  });

  afterAll(async () => {
    await db.drop();
  });

  async function take(name: LockName): Promise<HeldLock> {
    const lock = await tryLock(db.pool, name);
    if (lock === undefined) throw new Error(`somebody holds ${name}`);
    return lock;
  }

  /** The names that can be taken at this moment. */
  async function free(): Promise<LockName[]> {
    const found: LockName[] = [];
    for (const name of NAMES) {
      const lock = await tryLock(db.pool, name);
      if (lock === undefined) continue;
      found.push(name);
      await lock.release();
    }
    return found;
  }

  it.each(NAMES)("keeps out whoever wants the same, and nobody else (%s)", async (name) => {
    const lock = await take(name);
    try {
      expect(await free()).toEqual(NAMES.filter((other) => other !== name));
    } finally {
      await lock.release();
    }
    expect(await free()).toEqual(NAMES);
  });

  it("ends with its connection, and says so", async () => {
    const lock = await take("replay");
    try {
      expect(lock.lost.aborted).toBe(false);
      const { rowCount } = await db.pool.query(
        `SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND objid = $1
           AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
        [ADVISORY_LOCKS.replay],
      );
      expect(rowCount).toBe(1);
      await expect.poll(() => lock.lost.aborted, patient).toBe(true);
    } finally {
      await lock.release();
    }
    await expect.poll(free, patient).toEqual(NAMES);
  });
});
