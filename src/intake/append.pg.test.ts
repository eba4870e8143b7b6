import { createHash, randomBytes } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { endBlockedBy, untilBlockedBy } from "../../test/blocked.ts";
import { testDatabase, type TestDatabase } from "../../test/database.ts";
import { APPEND_GROUP_BYTES_MAX, APPEND_GROUP_ROWS_MAX, APPEND_QUEUE_BYTES_MAX, RECEIPT_ID_BLOCK } from "../limits.ts";
import { createLog } from "../log.ts";
import { unpackBody, type PackedBody } from "../receipt-body.ts";
import { SIGNATURE } from "../receipt-signature.ts";
import { createAppender, type Appended, type Posted } from "./append.ts";
import { ensurePartitions } from "./partitions.ts";

let db: TestDatabase;

beforeAll(async () => {
  db = await testDatabase();
  await ensurePartitions(db.pool, new Date());
});
afterAll(async () => db.drop());

function posted(body: Buffer | string): Posted {
  return {
    source: 1,
    key: null,
    signedAt: "1764511327",
    signature: "sig",
    body: Buffer.from(body),
    receivedAt: new Date(),
  };
}

describe("appending", () => {
  test("keeps the bytes as they came, with their hash and headers, and puts the receipt into the inbox", async () => {
    const body = Buffer.from([0, 255, 13, 10, 0xed, 0xa0, 0x80]);
    const appended = await createAppender({ pool: db.pool, log: createLog("silent") }).append(posted(body));
    expect(appended).toMatchObject({ outcome: "committed" });
    const { rows } = await db.pool.query(
      `SELECT r.body, r.sha256, r.signed_at, r.signature, i.bytes, r.tableoid::regclass::text AS partition
       FROM receipts AS r JOIN inbox AS i ON i.receipt = r.id WHERE r.id = $1`,
      [(appended as { receipt: number }).receipt],
    );
    expect(rows).toEqual([
      {
        body,
        sha256: createHash("sha256").update(body).digest(),
        signed_at: "1764511327",
        signature: "sig",
        bytes: body.length,
        partition: `receipts_${new Date().toISOString().slice(0, 7).replace("-", "_")}`,
      },
    ]);
  });

  test("keeps a signature in base64 as its bytes, and reads it as the header that came", async () => {
    const signature = randomBytes(71).toString("base64");
    const appender = createAppender({ pool: db.pool, log: createLog("silent") });
    const appended = await appender.append({ ...posted("[]"), signature });
    const { rows } = await db.pool.query(
      `SELECT signature AS kept, octet_length(signature_bytes) AS bytes, ${SIGNATURE} AS header FROM receipts WHERE id = $1`,
      [(appended as { receipt: number }).receipt],
    );
    expect(rows).toEqual([{ kept: "", bytes: 71, header: signature }]);
  });

  test("puts what arrives during a commit into the next group, each POST under a number of its own", async () => {
    const groups: number[] = [];
    const appender = createAppender({
      pool: db.pool,
      log: createLog("silent"),
      onCommitted: (receipts) => groups.push(receipts),
    });
    const count = RECEIPT_ID_BLOCK + 500;
    const appended = await Promise.all(Array.from({ length: count }, (_post, n) => appender.append(posted(`[${n}]`))));
    const ids = appended.map((entry) => (entry.outcome === "committed" ? entry.receipt : entry.outcome));
    expect(new Set(ids).size).toBe(count);
    expect(Math.max(...groups)).toBe(APPEND_GROUP_ROWS_MAX);
    expect(groups.reduce((sum, rows) => sum + rows, 0)).toBe(count);
    const { rows } = await db.pool.query<{ id: number } & PackedBody>(
      "SELECT id, codec, bytes, body FROM receipts WHERE id = ANY ($1)",
      [ids],
    );
    expect(new Map(rows.map(({ id, ...packed }) => [id, unpackBody(packed).toString()]))).toEqual(
      new Map(ids.map((id, n) => [id, `[${n}]`])),
    );
  });

  test("says committed only once another connection can read the receipt (promise P1)", async () => {
    const appender = createAppender({ pool: db.pool, log: createLog("silent") });
    const outsider = await db.pool.connect();
    try {
      await outsider.query("BEGIN");
      await outsider.query("LOCK TABLE inbox IN ACCESS EXCLUSIVE MODE");
      let answered: Appended | undefined;
      const appending = appender.append(posted("[]")).then((appended) => (answered = appended));
      await untilBlockedBy(db.pool, outsider);
      expect(answered).toBeUndefined();
      await outsider.query("COMMIT");
      await appending;
      const seen = await outsider.query("SELECT FROM receipts WHERE id = $1", [
        (answered as unknown as { receipt: number }).receipt,
      ]);
      expect(seen.rowCount).toBe(1);
    } finally {
      outsider.release();
    }
  });

  test("refuses what would make the queue larger than its limit, and takes it again once there is room", async () => {
    const appender = createAppender({ pool: db.pool, log: createLog("silent") });
    const large = Buffer.alloc(APPEND_QUEUE_BYTES_MAX / 16);
    const appending = Array.from({ length: 17 }, () => appender.append(posted(large)));
    expect(await appending[16]).toEqual({ outcome: "overloaded" });
    await appender.drained();
    expect((await Promise.all(appending)).filter(({ outcome }) => outcome === "committed")).toHaveLength(16);
    expect(await appender.append(posted(large))).toMatchObject({ outcome: "committed" });
  });

  test("puts bodies into one group up to its limit of bytes, and one group after the other", async () => {
    const half = APPEND_GROUP_BYTES_MAX / 2;
    const groupsOf = async (...sizes: number[]): Promise<number[]> => {
      const groups: number[] = [];
      const onCommitted = (receipts: number): number => groups.push(receipts);
      const appender = createAppender({ pool: db.pool, log: createLog("silent"), onCommitted });
      const outsider = await db.pool.connect();
      try {
        await outsider.query("BEGIN");
        await outsider.query("LOCK TABLE inbox IN ACCESS EXCLUSIVE MODE");
        const all: Promise<Appended>[] = [];
        // The first waits for the lock, alone; what comes in later turns waits for it.
        for (const bytes of [2, ...sizes]) {
          all.push(appender.append(posted(Buffer.alloc(bytes))));
          await setImmediate();
        }
        await outsider.query("COMMIT");
        expect((await Promise.all(all)).filter(({ outcome }) => outcome !== "committed")).toEqual([]);
      } finally {
        outsider.release();
      }
      return groups;
    };
    expect(await groupsOf(half, half)).toEqual([1, 2]);
    expect(await groupsOf(half, half + 1)).toEqual([1, 1, 1]);
    expect(await groupsOf(APPEND_GROUP_BYTES_MAX + 1)).toEqual([1, 1]);
  });

  test("puts what one turn of the event loop brings into one group", async () => {
    const groups: number[] = [];
    const onCommitted = (receipts: number): number => groups.push(receipts);
    const appender = createAppender({ pool: db.pool, log: createLog("silent"), onCommitted });
    await Promise.all(["[1]", "[2]", "[3]"].map((body) => appender.append(posted(body))));
    expect(groups).toEqual([3]);
  });

  test("says unavailable when its connection is cut, and goes on with the next", async () => {
    let nowMs = 0;
    const appender = createAppender({ pool: db.pool, log: createLog("silent"), now: () => nowMs });
    const outsider = await db.pool.connect();
    try {
      await outsider.query("BEGIN");
      await outsider.query("LOCK TABLE inbox IN ACCESS EXCLUSIVE MODE");
      const appending = appender.append(posted("[]"));
      await endBlockedBy(db.pool, outsider);
      expect(await appending).toEqual({ outcome: "unavailable" });
      await outsider.query("ROLLBACK");
    } finally {
      outsider.release();
    }
    nowMs += 1_000;
    expect(await appender.append(posted("[]"))).toMatchObject({ outcome: "committed" });
  });

  test("after a failure refuses at once, and finds out by one POST a second whether PostgreSQL is back", async () => {
    let nowMs = 0;
    const appender = createAppender({ pool: db.pool, log: createLog("silent"), now: () => nowMs });
    await db.pool.query("ALTER TABLE inbox RENAME TO inbox_gone");
    expect(await appender.append(posted("[1]"))).toEqual({ outcome: "unavailable" });
    await db.pool.query("ALTER TABLE inbox_gone RENAME TO inbox");
    expect(await appender.append(posted("[2]"))).toEqual({ outcome: "unavailable" });
    nowMs += 1_000;
    const [probe, behind] = await Promise.all([appender.append(posted("[3]")), appender.append(posted("[4]"))]);
    expect([probe?.outcome, behind?.outcome]).toEqual(["committed", "unavailable"]);
    expect(await appender.append(posted("[5]"))).toMatchObject({ outcome: "committed" });
  });
});

describe("partitions", () => {
  test("are made once for this month and the two after it, however often and by how many at once", async () => {
    const now = new Date("2031-11-30T23:59:59Z");
    await Promise.all([ensurePartitions(db.pool, now), ensurePartitions(db.pool, now)]);
    const { rows } = await db.pool.query<{ name: string }>(
      "SELECT inhrelid::regclass::text AS name FROM pg_inherits WHERE inhparent = 'receipts'::regclass AND inhrelid::regclass::text ~ '203[12]' ORDER BY 1",
    );
    expect(rows.map(({ name }) => name)).toEqual(["receipts_2031_11", "receipts_2031_12", "receipts_2032_01"]);
  });

  test("leave a month alone whose receipts went to the default partition", async () => {
    const appender = createAppender({ pool: db.pool, log: createLog("silent") });
    await appender.append({ ...posted("[]"), receivedAt: new Date("2041-05-05T00:00:00Z") });
    await ensurePartitions(db.pool, new Date("2041-05-05T00:00:00Z"));
    const { rows } = await db.pool.query(
      "SELECT to_regclass('receipts_2041_05') AS may, to_regclass('receipts_2041_06') IS NOT NULL AS june",
    );
    expect(rows).toEqual([{ may: null, june: true }]);
  });
});
