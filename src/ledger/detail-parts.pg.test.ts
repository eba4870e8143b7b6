import fc from "fast-check";
import pg from "pg";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { testDatabase, type TestDatabase } from "../../test/database.ts";
import { receiptWriter, type ReceiptWriter } from "../../test/receipts.ts";
import { DETAIL_PART_CHARS_MAX, DETAIL_PARTS_MAX } from "../limits.ts";
import { createLog } from "../log.ts";
import { REPAIR_COPY } from "../repair-item.ts";
import { SYSTEM_KEYS } from "../sendgrid/wire.ts";
import { beginParts, createDetailParts, SLOT_OF_KEY, splitDetails } from "./detail-parts.ts";
import { parseItem } from "./parse.ts";
import { DECIDING_KEYS } from "./plan.ts";
import { createProjector, type Projector } from "./projector.ts";

let db: TestDatabase;
let write: ReceiptWriter;

beforeAll(async () => {
  db = await testDatabase();
  write = await receiptWriter(db.pool);
});
afterAll(async () => db.drop());
beforeEach(async () => {
  await db.pool.query(
    "TRUNCATE events, messages, quarantine, tallies, enrichments, inbox, receipts, detail_parts RESTART IDENTITY",
  );
});

function projector(): Projector {
  return createProjector({ pool: db.pool, log: createLog("silent"), settleSeconds: 90 });
}

async function rows<T extends object>(sql: string): Promise<T[]> {
  return (await db.pool.query<T>(sql)).rows;
}

const parts = async (): Promise<unknown[]> =>
  (await rows<{ part: unknown }>("SELECT part FROM detail_parts ORDER BY id")).map(({ part }) => part);

const item = (id: string, more: object = {}): object => ({
  event: "delivered",
  timestamp: 1764511327,
  sg_event_id: id,
  sg_message_id: "abc.recvd-1.0",
  ...more,
});
const delivered = (id: string): object =>
  item(id, { "smtp-id": "<abc@geopod-1>", tls: 1, pool: { name: "p", id: 2 }, response: `250 ${id}` });
const opened = (id: string, useragent: string): object => item(id, { event: "open", useragent, ip: "192.0.2.1" });

/** Details as parsed from the items, and as they come back. */
async function roundTrip(items: readonly object[]): Promise<{ expected: unknown; actual: unknown }> {
  const { tick } = projector();
  await write([...items]);
  await tick();
  const found = await rows<{ id: string; detail: unknown }>(
    "SELECT event_id AS id, detail FROM whole_events ORDER BY ordinal",
  );
  const expected = items.flatMap((entry, ordinal) => parseItem(Buffer.from(JSON.stringify(entry)), ordinal).events);
  return {
    expected: expected.map(({ eventId, detail }) => ({ id: eventId, detail: { ...detail } })),
    actual: found,
  };
}

describe("what many events say alike", () => {
  test("is learnt by a batch of many receipts in two statements, not in two for each", async () => {
    for (let receipt = 0; receipt < 20; receipt += 1) await write([opened(`e${receipt}`, `Browser/${receipt}`)]);
    const { tick } = projector();
    const asked = vi.spyOn(pg.Client.prototype, "query");
    await tick();
    const texts = asked.mock.calls.map((call: unknown[]) => JSON.stringify(call[0]));
    asked.mockRestore();
    expect(texts.filter((text) => text.includes("detail_parts"))).toHaveLength(2);
    expect(await parts()).toHaveLength(20);
  });

  test("is stored once, and each event comes back whole", async () => {
    const { expected, actual } = await roundTrip([
      delivered("a"),
      delivered("b"),
      opened("c", "Safari"),
      opened("d", "Safari"),
    ]);
    expect(actual).toEqual(expected);
    expect(await parts()).toEqual([
      { pool: { id: 2, name: "p" } },
      { tls: 1, "smtp-host": "geopod-1" },
      { useragent: "Safari" },
    ]);
    expect(await rows("SELECT detail FROM events ORDER BY ordinal")).toEqual([
      { detail: { response: "250 a" } },
      { detail: { response: "250 b" } },
      { detail: { ip: "192.0.2.1" } },
      { detail: { ip: "192.0.2.1" } },
    ]);
  });

  test("is the server that a mail was sent from, but not the reader's; and no time but none", async () => {
    const { expected, actual } = await roundTrip([
      item("a", { ip: "192.0.2.1" }),
      item("b", { event: "processed", ip: "192.0.2.1", send_at: 0 }),
      item("c", { event: "processed", send_at: 1764511400 }),
      item("d", { event: "click", ip: "192.0.2.9", url_offset: { index: 1, type: "html" } }),
      item("e", { event: "sent", ip: "192.0.2.1" }),
    ]);
    expect(actual).toEqual(expected);
    expect(await parts()).toEqual([
      { ip: "192.0.2.1" },
      { ip: "192.0.2.1", send_at: 0 },
      { url_offset: { type: "html", index: 1 } },
    ]);
    expect(await rows("SELECT detail FROM events ORDER BY ordinal")).toEqual([
      { detail: {} },
      { detail: {} },
      { detail: { send_at: 1764511400 } },
      { detail: { ip: "192.0.2.9" } },
      { detail: { ip: "192.0.2.1" } },
    ]);
  });

  test("is nothing by which an event's meaning or its likeness is decided", () => {
    for (const key of [...DECIDING_KEYS, REPAIR_COPY]) expect(SLOT_OF_KEY.has(key)).toBe(false);
    for (const key of SLOT_OF_KEY.keys()) expect(SYSTEM_KEYS.has(key)).toBe(true);
  });

  test("is found again by another process, and after a start", async () => {
    const one = projector();
    const other = projector();
    for (const [index, { tick }] of [one, other, one, projector()].entries()) {
      await write([delivered(`e${index}`), opened(`o${index}`, index === 1 ? "Chrome" : "Safari")]);
      await tick();
    }
    expect(await parts()).toHaveLength(4);
    expect(
      await rows("SELECT count(DISTINCT mailing_part) AS mailing, count(DISTINCT channel_part) AS channel FROM events"),
    ).toEqual([{ mailing: 1, channel: 3 }]);
  });

  test("comes back as it was, whatever stands where", async () => {
    const value = fc.oneof(
      fc.jsonValue({ maxDepth: 2 }),
      fc.constantFrom(
        "",
        "Safari",
        0,
        1,
        -0,
        1.5,
        1e21,
        "<abc@host>",
        "<abc@>",
        "<abd@host>",
        "<abc@host",
        "abc@host>",
      ),
    );
    const detail = fc.dictionary(
      fc.constantFrom(...SLOT_OF_KEY.keys(), "smtp-id", "ip", "send_at", "response", "smtp-host"),
      value,
      {
        maxKeys: 6,
      },
    );
    const messageId = fc.constantFrom("abc.recvd-1.0", "abc", ".abc", "abc.", undefined);
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(detail, messageId), { minLength: 1, maxLength: 5 }), async (entries) => {
        await db.pool.query("TRUNCATE events, messages, enrichments, inbox, receipts, detail_parts");
        const { expected, actual } = await roundTrip(
          entries.map(([more, id], index) => item(`e${index}`, { ...more, sg_message_id: id })),
        );
        expect(actual).toEqual(JSON.parse(JSON.stringify(expected)));
      }),
      { numRuns: 60 },
    );
  });

  test("is not taken for stored when its transaction did not commit", async () => {
    const known = createDetailParts();
    const { events } = parseItem(Buffer.from(JSON.stringify(delivered("a"))), 0);
    const client = await db.pool.connect();
    await client.query("BEGIN");
    const [first] = await splitDetails(client, events, known);
    await client.query("ROLLBACK");
    beginParts(known);
    const [second] = await splitDetails(client, events, known);
    client.release();
    expect(second?.mailing).not.toBe(first?.mailing);
    expect(await rows("SELECT id FROM detail_parts ORDER BY id")).toEqual([
      { id: second?.mailing },
      { id: second?.channel },
    ]);
  });

  /** A projector whose first transaction, with this event, has failed. */
  async function projectorThatFailed(): Promise<Projector> {
    await db.pool.query("ALTER TABLE events ADD CONSTRAINT refused CHECK (type <> 'delivered')");
    const worker = projector();
    await write([delivered("a")]);
    await worker.tick();
    await db.pool.query("ALTER TABLE events DROP CONSTRAINT refused");
    return worker;
  }

  test("stays in the events when their transaction failed at first and nothing of it is there", async () => {
    const { tick } = await projectorThatFailed();
    await db.pool.query("UPDATE inbox SET next_attempt_at = '-infinity'");
    await tick();
    const [row] = await rows<{ detail: object }>("SELECT detail FROM whole_events");
    expect(row?.detail).toEqual({ "smtp-id": "<abc@geopod-1>", tls: 1, pool: { name: "p", id: 2 }, response: "250 a" });
  });

  test("is not taken for stored when its transaction failed and the next one had nothing to file", async () => {
    const { tick } = await projectorThatFailed();
    await db.pool.query("UPDATE inbox SET next_attempt_at = 'infinity'");
    expect(await tick()).toBe(false);
    await db.pool.query("UPDATE inbox SET next_attempt_at = '-infinity'");
    await tick();
    const [row] = await rows<{ detail: object }>("SELECT detail FROM whole_events");
    expect(row?.detail).toEqual({ "smtp-id": "<abc@geopod-1>", tls: 1, pool: { name: "p", id: 2 }, response: "250 a" });
  });

  test("is stored up to its limit of length, and stays in its event beyond", async () => {
    const frame = '{"useragent":""}'.length;
    const longest = "x".repeat(DETAIL_PART_CHARS_MAX - frame);
    const { expected, actual } = await roundTrip([opened("a", longest), opened("b", `${longest}x`)]);
    expect(actual).toEqual(expected);
    expect(await parts()).toEqual([{ useragent: longest }]);
  });

  test("is stored up to a number of parts, and what is new then stays in the events", async () => {
    await db.pool.query(
      "INSERT INTO detail_parts (part) SELECT jsonb_build_object('useragent', n::text) FROM generate_series(1, $1) AS n",
      [DETAIL_PARTS_MAX - 1],
    );
    const { expected, actual } = await roundTrip([
      opened("a", "1"),
      opened("b", "new"),
      opened("c", "newer"),
      opened("d", "new"),
    ]);
    expect(actual).toEqual(expected);
    expect(await rows("SELECT count(*) AS parts FROM detail_parts")).toEqual([{ parts: DETAIL_PARTS_MAX }]);
    expect(await rows("SELECT channel_part FROM events ORDER BY ordinal")).toEqual([
      { channel_part: 1 },
      { channel_part: DETAIL_PARTS_MAX },
      { channel_part: null },
      { channel_part: DETAIL_PARTS_MAX },
    ]);
  });
});
