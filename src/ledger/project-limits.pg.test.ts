import pg from "pg";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { testDatabase, type TestDatabase } from "../../test/database.ts";
import { receiptWriter, type ReceiptWriter } from "../../test/receipts.ts";
import {
  ARG_KEY_CHARS_MAX,
  ARG_KEYS_MAX,
  CATEGORY_CHARS_MAX,
  EVENT_ID_CHARS_MAX,
  EVENT_TYPE_CHARS_MAX,
  ITEM_DEPTH_MAX,
  MESSAGE_ID_CHARS_MAX,
  NOTIFY_BYTES_MAX,
  NOTIFY_EVENTS_MAX,
  PROJECT_BYTES_MAX,
  PROJECT_RECEIPTS_MAX,
  RECIPIENT_CHARS_MAX,
} from "../limits.ts";
import { createLog } from "../log.ts";
import { createProjector, type Projector } from "./projector.ts";

/** The limits of a projecting transaction at their edges. */

let db: TestDatabase;
let write: ReceiptWriter;
/** Receipts of each transaction. */
let batches: number[];
let projector: Projector;

beforeAll(async () => {
  db = await testDatabase();
  write = await receiptWriter(db.pool);
});
afterAll(async () => db.drop());
beforeEach(async () => {
  await db.pool.query("TRUNCATE events, messages, quarantine, tallies, enrichments, inbox, receipts, arg_keys");
  batches = [];
  projector = createProjector({
    pool: db.pool,
    log: createLog("silent"),
    settleSeconds: 90,
    onProjected: ({ receipts }) => batches.push(receipts),
  });
});

async function drain(): Promise<void> {
  while (await projector.tick());
}

async function rows<T extends object>(sql: string): Promise<T[]> {
  return (await db.pool.query<T>(sql)).rows;
}

function item(id: string, more: object = {}): object {
  return { event: "open", timestamp: 1764511327, sg_event_id: id, sg_message_id: "m", ...more };
}

/** A body of exactly so many bytes. */
function padded(id: string, bytes: number): Buffer {
  const body = JSON.stringify([item(id)]);
  return Buffer.from(body + " ".repeat(bytes - body.length));
}

describe("a projecting transaction", () => {
  test("takes as many receipts as its limit, and the one after them in the next", async () => {
    await Promise.all(Array.from({ length: PROJECT_RECEIPTS_MAX + 1 }, (_receipt, n) => write([item(`e${n}`)])));
    await drain();
    expect(batches).toEqual([PROJECT_RECEIPTS_MAX, 1]);
    expect(await rows("SELECT count(*) AS events FROM events")).toEqual([{ events: PROJECT_RECEIPTS_MAX + 1 }]);
  });

  test("takes bodies up to its limit of bytes, and one that is larger alone", async () => {
    const half = PROJECT_BYTES_MAX / 2;
    for (const [id, bytes] of [
      ["a", half],
      ["b", half],
      ["c", half],
      ["d", half + 1],
      ["e", PROJECT_BYTES_MAX + 1],
      ["f", 1_000],
    ] as const)
      await write(padded(id, bytes));
    await drain();
    expect(batches).toEqual([2, 1, 1, 1, 1]);
    expect(await rows("SELECT count(*) AS events FROM events")).toEqual([{ events: 6 }]);
    expect(await rows("SELECT * FROM inbox")).toEqual([]);
  });

  test("stores an item that is as large as it may be in every way", async () => {
    // Three bytes a character, and none that an index could pack.
    let code = 0x4e00;
    const text = (chars: number): string =>
      Array.from({ length: chars }, () => String.fromCodePoint(((code += 7) % 0x5000) + 0x4e00)).join("");
    const largest = {
      event: text(EVENT_TYPE_CHARS_MAX),
      timestamp: 1764511327,
      email: text(RECIPIENT_CHARS_MAX),
      sg_event_id: text(EVENT_ID_CHARS_MAX),
      sg_message_id: text(MESSAGE_ID_CHARS_MAX),
      category: [text(CATEGORY_CHARS_MAX)],
      [text(ARG_KEY_CHARS_MAX)]: text(5_000),
    };
    const depth = ITEM_DEPTH_MAX - 1;
    const deep = JSON.parse(`${"[".repeat(depth)}"x"${"]".repeat(depth)}`) as unknown;
    await write([largest, { ...item("deep"), url: deep }]);
    await drain();
    expect(await rows("SELECT * FROM inbox")).toEqual([]);
    expect(await rows(`SELECT event_id FROM events WHERE event_id <> 'deep'`)).toEqual([
      { event_id: largest.sg_event_id },
    ]);
    expect(await rows("SELECT count(*) AS events FROM events")).toEqual([{ events: 2 }]);
  });

  test("remembers the names of custom args up to its limit, and files what has more of them", async () => {
    const named = (from: number, count: number): object =>
      Object.fromEntries(Array.from({ length: count }, (_arg, n) => [`arg-${from + n}`, "v"]));
    await write([item("a", named(0, ARG_KEYS_MAX - 1))]);
    await drain();
    await write([item("b", named(0, ARG_KEYS_MAX + 500))]);
    await drain();
    expect(await rows("SELECT count(*) AS keys FROM arg_keys")).toEqual([{ keys: ARG_KEYS_MAX }]);
    expect(await rows("SELECT count(*) AS events FROM events")).toEqual([{ events: 2 }]);
    expect(await rows("SELECT * FROM inbox")).toEqual([]);
  });
});

describe("the notice of what was filed", () => {
  async function noticeOf(ids: readonly string[]): Promise<{ bytes: number; filed: number; events: unknown[] }> {
    const listener = new pg.Client({ connectionString: db.databaseUrl });
    await listener.connect();
    try {
      await listener.query("LISTEN holdfast_filed");
      const notice = new Promise<string>((resolve) =>
        listener.once("notification", (message: pg.Notification) => resolve(message.payload ?? "")),
      );
      await write(ids.map((id) => item(id)));
      await drain();
      const payload = await notice;
      return { bytes: Buffer.byteLength(payload), ...(JSON.parse(payload) as { filed: number; events: unknown[] }) };
    } finally {
      await listener.end();
    }
  }

  test("names events up to its limit, and counts those beyond", async () => {
    const ids = (count: number): string[] => Array.from({ length: count }, (_id, n) => `${count}-${n}`);
    expect((await noticeOf(ids(NOTIFY_EVENTS_MAX))).events).toHaveLength(NOTIFY_EVENTS_MAX);
    const over = await noticeOf(ids(NOTIFY_EVENTS_MAX + 1));
    expect([over.filed, over.events.length]).toEqual([NOTIFY_EVENTS_MAX + 1, NOTIFY_EVENTS_MAX]);
  });

  test("stays within what PostgreSQL takes, by bytes and not by characters", async () => {
    const long = "字".repeat(EVENT_ID_CHARS_MAX - 2);
    const ids = Array.from({ length: NOTIFY_EVENTS_MAX }, (_id, n) => long + String(n + 10));
    const { bytes, filed, events } = await noticeOf(ids);
    expect(filed).toBe(NOTIFY_EVENTS_MAX);
    expect(bytes).toBeLessThanOrEqual(NOTIFY_BYTES_MAX);
    // One more would not have fitted.
    expect(bytes + Math.floor(bytes / events.length)).toBeGreaterThan(NOTIFY_BYTES_MAX - 20);
    expect(await rows("SELECT count(*) AS events FROM events")).toEqual([{ events: NOTIFY_EVENTS_MAX }]);
  });
});
