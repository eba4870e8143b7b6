import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { testDatabase, type TestDatabase } from "../../test/database.ts";
import { ledgerWorld, type LedgerWorld } from "../../test/ledger-world.ts";
import { receiptWriter, type ReceiptWriter } from "../../test/receipts.ts";
import { DICTIONARY_EVENT_CHARS_MAX, DICTIONARY_EVENTS_MIN, DICTIONARY_RECEIPTS_NEW } from "../limits.ts";
import { createLog } from "../log.ts";
import type { Pool } from "../postgres/pool.ts";
import { createDictionaryKeeper, type DictionaryKeeper } from "./dictionary.ts";

const DAY_MS = 86_400_000;

let db: TestDatabase;
let world: LedgerWorld;
let write: ReceiptWriter;
let keeper: DictionaryKeeper;

// A ledger of its own for each: what a process knows of dictionaries, it knows for good.
beforeEach(async () => {
  db = await testDatabase();
  world = await ledgerWorld(db.pool);
  keeper = createKeeper();
  write = await receiptWriter(db.pool, "default", { dictionary: () => keeper.current() });
});

function createKeeper(now?: () => number): DictionaryKeeper {
  return createDictionaryKeeper({ pool: db.pool, log: createLog("silent"), now });
}

const item = (n: number): object => ({
  email: `customer-${n}@example.com`,
  event: "delivered",
  sg_event_id: `event-${n}`,
  sg_message_id: `message-${n}.recvd-1.0`,
  sg_template_id: "d-91d2e4c8b7a6453f9e8d7c6b5a4f3e21",
  shop_department: "fittings and other hardware",
  timestamp: 1764511327 + n,
});

let posts = 0;
async function post(count: number, writer = write): Promise<void> {
  for (let n = 0; n < count; n += 1) await writer([item((posts += 1))]);
}

async function codecs(): Promise<[codec: number, receipts: number][]> {
  const rows = await world.rows<{ codec: number; receipts: number }>(
    "SELECT codec, count(*) AS receipts FROM receipts GROUP BY 1 ORDER BY 1 DESC",
  );
  return rows.map(({ codec, receipts }) => [codec, receipts]);
}

const dictionaries = async (): Promise<number> => world.value<number>("SELECT count(*) FROM receipt_dictionaries");

afterEach(async () => db.drop());

describe("a dictionary of the ledger's own", () => {
  test("is learnt from its receipts, makes the next ones smaller, and they are filed and verified as ever", async () => {
    await post(DICTIONARY_EVENTS_MIN);
    await keeper.tick();
    await post(20);
    expect(await codecs()).toEqual([
      [2, DICTIONARY_EVENTS_MIN],
      [-1, 20],
    ]);
    const sizes = await world.rows<{ size: number }>(
      "SELECT avg(octet_length(body))::float8 AS size FROM receipts GROUP BY codec ORDER BY codec",
    );
    expect(sizes[0]?.size).toBeLessThan((sizes[1]?.size ?? 0) * 0.6);
    await world.project();
    expect(await world.value("SELECT count(*) FROM events")).toBe(DICTIONARY_EVENTS_MIN + 20);
    expect((await world.verify()).outcome).toBe("clean");
  });

  test("is not learnt from too little, from simulated mail, from events too long or from what is not like events", async () => {
    await post(DICTIONARY_EVENTS_MIN - 1);
    const simulated = await receiptWriter(db.pool, "simulation");
    await db.pool.query("UPDATE sources SET simulated = true WHERE name = 'simulation'");
    await post(DICTIONARY_EVENTS_MIN, simulated);
    const longest = DICTIONARY_EVENT_CHARS_MAX - JSON.stringify({ ...item(0), reason: "" }).length;
    await write([{ ...item(0), reason: "x".repeat(longest + 1) }]);
    for (const body of ["{", '{"a":1}', "[null,1,[],{}]", ""]) await write(Buffer.from(body));
    await keeper.tick();
    expect([keeper.current(), await dictionaries()]).toEqual([undefined, 0]);
    await write([{ ...item(0), reason: "x".repeat(longest) }]);
    await keeper.tick();
    expect(keeper.current()?.number).toBe(1);
  });

  test("is found by another process, which learns none of its own", async () => {
    await post(DICTIONARY_EVENTS_MIN);
    await keeper.tick();
    const other = createKeeper();
    await other.read();
    expect(other.current()?.dictionary).toEqual(keeper.current()?.dictionary);
    await other.tick();
    expect(await dictionaries()).toBe(1);
  });

  test("is learnt once by two processes at the same time", async () => {
    await post(DICTIONARY_EVENTS_MIN);
    const keepers = [createKeeper(), createKeeper(), createKeeper()];
    await Promise.all(keepers.map(({ tick }) => tick()));
    expect(await dictionaries()).toBe(1);
    expect(keepers.map((each) => each.current()?.number)).toEqual([1, 1, 1]);
  });

  test("is learnt anew after a day, then after four more", async () => {
    await post(DICTIONARY_EVENTS_MIN);
    let days = 0;
    keeper = createKeeper(() => Date.now() + days * DAY_MS);
    const learnt: number[] = [];
    for (days of [0, 0.9, 1.1, 3.9, 4.1]) {
      await keeper.tick();
      learnt.push(keeper.current()?.number ?? 0);
    }
    expect(learnt).toEqual([1, 1, 2, 2, 3]);
    await post(1);
    expect(await codecs()).toEqual([
      [2, DICTIONARY_EVENTS_MIN],
      [-3, 1],
    ]);
  });

  test("is learnt soon after the first thousand receipts, by the running loop", async () => {
    await post(DICTIONARY_EVENTS_MIN - 1);
    let answers = 0;
    const query = async (text: string, values?: unknown[]): Promise<unknown> => {
      const answer = await db.pool.query(text, values);
      answers += 1;
      return answer;
    };
    const pool = Object.create(db.pool, { query: { value: query } }) as Pool;
    keeper = createDictionaryKeeper({ pool, log: createLog("silent") });
    keeper.start();
    // Its first look, for a dictionary and for receipts, comes too early.
    await expect.poll(() => answers).toBe(2);
    await post(1);
    keeper.appended(DICTIONARY_RECEIPTS_NEW - 1);
    keeper.appended(1);
    await expect.poll(() => keeper.current()?.number, { timeout: 20_000 }).toBe(1);
    await keeper.stop();
  });

  test.each([
    ["is gone", "DELETE FROM receipt_dictionaries"],
    ["was changed", "UPDATE receipt_dictionaries SET dictionary = overlay(dictionary placing '\\x00' from 200)"],
  ])("that %s stops the receipts packed with it, which stay in the inbox, and an audit says so", async (_, damage) => {
    await post(DICTIONARY_EVENTS_MIN);
    await keeper.tick();
    const [kept] = await world.rows<{ dictionary: Buffer }>("SELECT dictionary FROM receipt_dictionaries");
    await post(2);
    await db.pool.query(damage);
    keeper = createKeeper();
    await keeper.read();
    expect(keeper.current()).toBeUndefined();
    await post(1);
    await world.project();
    expect(await world.rows("SELECT attempts FROM inbox")).toEqual([{ attempts: 1 }, { attempts: 1 }]);
    expect(await world.value("SELECT count(*) FROM events")).toBe(DICTIONARY_EVENTS_MIN + 1);
    expect((await world.verify()).kinds).toContain("body_changed");
    await db.pool.query("DELETE FROM receipt_dictionaries");
    await db.pool.query(
      "INSERT INTO receipt_dictionaries (number, dictionary, sha256) OVERRIDING SYSTEM VALUE VALUES (1, $1, sha256($1))",
      [kept?.dictionary],
    );
    await db.pool.query("UPDATE inbox SET next_attempt_at = '-infinity'");
    await world.project();
    expect((await world.verify()).outcome).toBe("clean");
  });
});
