import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { testDatabase, type TestDatabase } from "../../test/database.ts";
import { repairWorld, told, type Item, type RepairWorld } from "../../test/repair-world.ts";
import { createLog } from "../log.ts";
import { readHead, readMessage } from "./read-message.ts";
import { createRead } from "./read.ts";
import { createRepairer } from "./repair.ts";
import { replayReceipts } from "./replay-receipts.ts";

const log = createLog("silent");
let db: TestDatabase;
let world: RepairWorld;

beforeAll(async () => {
  db = await testDatabase();
  world = await repairWorld(db.pool);
});
afterAll(async () => db.drop());
beforeEach(async () => world.clear());

const delivered: Item = {
  email: "customer@example.com",
  timestamp: 1764511327,
  event: "delivered",
  sg_event_id: "ev1",
  sg_message_id: "m1",
};
const opened: Item = { ...delivered, event: "open", timestamp: 1764511400, sg_event_id: "ev2" };

async function expectClean(): Promise<void> {
  const { outcome, state } = await world.verify();
  expect(state.differences.listed).toEqual([]);
  expect(outcome).toBe("clean");
}

describe("a repair", () => {
  test("files an event that no webhook brought, with its message, its enrichment and its custom args", async () => {
    const gap = await world.order({ ...delivered, category: ["invoice"], order_id: "4711", holdfast_note: 1 }, "logs");
    expect(await world.repair()).toEqual({ filed: 1, held: 0, unreadable: 0 });
    expect(
      await world.rows("SELECT event_id, type, origin, receipt, ordinal, source, twin, detail FROM events"),
    ).toEqual([
      {
        event_id: "ev1",
        type: "delivered",
        origin: "logs",
        receipt: null,
        ordinal: 0,
        source: world.source,
        twin: false,
        detail: { holdfast_note: "1" },
      },
    ]);
    expect(await world.rows("SELECT message_id, delivery, args, categories FROM messages")).toEqual([
      { message_id: "m1", delivery: "delivered", args: { order_id: "4711" }, categories: ["invoice"] },
    ]);
    expect(await world.rows("SELECT state FROM enrichments")).toEqual([{ state: "pending" }]);
    expect(await world.rows("SELECT key FROM arg_keys")).toEqual([{ key: "order_id" }]);
    expect(await world.rows("SELECT gap, event_id, origin, outcome, replaced_at FROM repairs")).toEqual([
      { gap, event_id: "ev1", origin: "logs", outcome: "filed", replaced_at: null },
    ]);
    expect(await world.rows("SELECT FROM tallies")).toEqual([]);
    expect(await world.rows("SELECT FROM rates")).toEqual([]);
    await expectClean();
  });

  test("merges into a known message", async () => {
    await world.deliver([delivered]);
    await world.order(told(opened));
    expect(await world.repair()).toMatchObject({ filed: 1 });
    expect(await world.rows("SELECT delivery, opens FROM messages")).toEqual([{ delivery: "delivered", opens: 1 }]);
    expect(await world.tallies()).toEqual({ stored: 1, duplicate: 0, twin: 0, lost: 0 });
    await expectClean();
  });

  test("of an event that a webhook brought changes nothing, whether its record has an id or not", async () => {
    await world.deliver([{ ...opened, email: "Customer@example.com" }]);
    const before = await world.dump();
    await world.order(opened, "logs");
    await world.order(told(opened), "messages");
    expect(await world.repair()).toEqual({ filed: 0, held: 2, unreadable: 0 });
    expect(await world.dump()).toEqual(before);
    expect(await world.rows("SELECT event_id, outcome FROM repairs")).toEqual([
      { event_id: "ev2", outcome: "held" },
      { event_id: "ev2", outcome: "held" },
    ]);
  });

  test("given again changes nothing, and a gap that was filed is never filed again", async () => {
    const gap = await world.order(told(opened));
    await world.repair();
    const before = await world.dump();
    await world.order(told(opened, { useragent: "other" }), "messages", gap);
    expect(await world.repair()).toEqual({ filed: 0, held: 0, unreadable: 0 });
    await world.order(told(opened));
    expect(await world.repair()).toEqual({ filed: 0, held: 1, unreadable: 0 });
    expect(await world.dump()).toEqual(before);
  });

  test.each([
    ["is no event", { event: "open", sg_message_id: "m1" }],
    ["names no message", { event: "open", timestamp: 1764511327 }],
    ["is no object", 5],
  ])("whose item %s is unreadable, and holds up no other", async (_what, item) => {
    await world.order(item);
    await world.order(delivered, "logs");
    expect(await world.repair()).toEqual({ filed: 1, held: 0, unreadable: 1 });
    expect(await world.rows("SELECT message, event_id FROM repairs WHERE outcome = 'unreadable'")).toEqual([
      { message: null, event_id: null },
    ]);
    await expectClean();
  });

  test("ticks until no order is left", async () => {
    await world.order(delivered, "logs");
    const repairer = createRepairer({ pool: db.pool, log, settleSeconds: 90 });
    expect(await repairer.tick()).toBe(true);
    expect(await repairer.tick()).toBe(false);
  });

  test("is told to the live page", async () => {
    const listener = await db.pool.connect();
    const payloads: string[] = [];
    listener.on("notification", ({ payload }) => payloads.push(payload ?? ""));
    await listener.query("LISTEN holdfast_filed");
    await world.order(delivered, "logs");
    await world.repair();
    await listener.query("UNLISTEN holdfast_filed");
    const message = await world.value<number>("SELECT id FROM messages");
    expect(payloads).toEqual([JSON.stringify({ filed: 1, events: [[message, "ev1"]] })]);
    listener.removeAllListeners("notification");
    listener.release();
  });
});

describe("events that cannot be told apart", () => {
  test("are repaired by their copies: as many as are missing", async () => {
    await world.deliver([opened]);
    for (const copy of [2, 3]) await world.order(told(opened, { holdfast_copy: copy }));
    expect(await world.repair()).toMatchObject({ filed: 2 });
    expect(await world.events()).toEqual(["ev2 open webhook", "fp open messages twin", "fp open messages twin"]);
    // Another record tells of the same three.
    for (const copy of [1, 2, 3]) await world.order(told(opened, { holdfast_copy: copy, useragent: "y" }), "csv");
    expect(await world.repair()).toMatchObject({ filed: 0, held: 3 });
    await expectClean();
  });

  test("are repaired whatever their order, and held where a webhook came in between", async () => {
    await world.order(told(opened, { holdfast_copy: 2 }));
    await world.repair();
    await world.order(told(opened, { holdfast_copy: 1 }));
    expect(await world.repair()).toMatchObject({ filed: 1 });
    await world.deliver([opened]);
    await world.order(told(opened, { holdfast_copy: 1, useragent: "y" }));
    await world.order(told(opened, { holdfast_copy: 3 }));
    expect(await world.repair()).toMatchObject({ filed: 1, held: 1 });
    expect(await world.events()).toHaveLength(3);
  });

  test("but for their contents need no copies, and identical ones are one", async () => {
    await world.order(told(opened, { useragent: "x" }));
    await world.order(told(opened, { useragent: "y" }));
    await world.order(told(opened, { useragent: "y" }));
    expect(await world.repair()).toMatchObject({ filed: 2, held: 1 });
    await expectClean();
  });

  test("are told apart by the url of a click, where both name one", async () => {
    const click = { ...opened, event: "click", url: "https://example.com/1" };
    await world.deliver([click]);
    await world.order(told(click));
    await world.order(told({ ...click, url: undefined }));
    await world.order(told({ ...click, url: "https://example.com/2" }));
    expect(await world.repair()).toMatchObject({ filed: 1, held: 2 });
  });
});

describe("the real event", () => {
  test.each([
    ["with the same id", opened, "logs"],
    ["of the same second, where the record has no id", told(opened, { useragent: "y", order_id: "zzz" }), "messages"],
  ] as const)("takes the place of the repaired one %s, and both stay traceable", async (_what, item, origin) => {
    await world.deliver([delivered]);
    const gap = await world.order(item, origin);
    await world.repair();
    const receipt = await world.deliver([{ ...opened, sg_machine_open: true }]);
    expect(await world.events()).toEqual(["ev1 delivered webhook", "ev2 open webhook"]);
    expect(await world.rows("SELECT opens, machine_opens, first_open_at, args FROM messages")).toEqual([
      { opens: 0, machine_opens: 1, first_open_at: null, args: {} },
    ]);
    expect(await world.tallies()).toEqual({ stored: 2, duplicate: 0, twin: 0, lost: 0 });
    expect(
      await world.rows(
        "SELECT gap, outcome, replaced_by, replaced_by_receipt, replaced_at IS NOT NULL AS replaced FROM repairs",
      ),
    ).toEqual([{ gap, outcome: "filed", replaced_by: "ev2", replaced_by_receipt: receipt, replaced: true }]);
    await expectClean();
    await world.deliver([{ ...opened, sg_machine_open: true }]);
    expect(await world.tallies()).toMatchObject({ stored: 2, duplicate: 1, lost: 0 });
    await expectClean();
  });

  test("is shown with when it was repaired, as is a repaired one, and no other", async () => {
    await world.order(told(opened));
    await world.order({ ...opened, timestamp: 1764511500, sg_event_id: "ev3" }, "logs");
    await world.repair();
    await world.deliver([delivered, opened]);
    const id = await world.value<string>("SELECT message_id FROM messages");
    const repairedAt = await world.value<Date>("SELECT max(repaired_at) FROM repairs");
    const shown = await createRead(db.pool)(async (tx) => {
      const head = await readHead(tx, id);
      return head === undefined ? undefined : readMessage(tx, head);
    });
    expect(shown?.events).toMatchObject([
      { eventId: "ev1", origin: "webhook", repairedAt: null },
      { eventId: "ev2", origin: "webhook", repairedAt },
      { eventId: "ev3", origin: "logs", repairedAt },
    ]);
  });

  test("comes twice in one batch: the first takes the place, the second is a duplicate", async () => {
    await world.order(told(opened));
    await world.repair();
    await world.deliver([opened, opened]);
    expect(await world.events()).toEqual(["ev2 open webhook"]);
    expect(await world.tallies()).toMatchObject({ stored: 1, duplicate: 1, lost: 0 });
    await expectClean();
  });

  test("takes one repaired one's place, and is no twin of it; a second one takes the next", async () => {
    for (const copy of [1, 2]) await world.order(told(opened, { holdfast_copy: copy }));
    await world.repair();
    await world.deliver([opened]);
    expect(await world.events()).toEqual(["ev2 open webhook", "fp open messages twin"]);
    expect(await world.rows("SELECT opens FROM messages")).toEqual([{ opens: 1 }]);
    await world.deliver([{ ...opened, sg_event_id: "ev3" }]);
    expect(await world.events()).toEqual(["ev2 open webhook", "ev3 open webhook twin"]);
    await expectClean();
  });

  test("leaves the twins' flags and their tallies right when it looks other than what it replaces", async () => {
    await world.order({ ...opened, useragent: "x" }, "logs");
    await world.repair();
    // A twin of the repaired one, by another id of SendGrid's.
    await world.deliver([{ ...opened, sg_event_id: "ev3" }]);
    expect(await world.tallies()).toMatchObject({ stored: 1, twin: 1 });
    await world.deliver([{ ...opened, sg_machine_open: true }]);
    expect(await world.events()).toEqual(["ev2 open webhook", "ev3 open webhook"]);
    expect(await world.tallies()).toMatchObject({ stored: 2, twin: 0, lost: 0 });
    await expectClean();
  });

  test("told by a record with ids takes the place of what one without told", async () => {
    await world.order(told(opened), "messages");
    await world.repair();
    await world.order(opened, "logs");
    expect(await world.repair()).toMatchObject({ filed: 1 });
    expect(await world.events()).toEqual(["ev2 open logs"]);
    expect(await world.rows("SELECT origin, replaced_by, replaced_by_receipt FROM repairs ORDER BY gap")).toEqual([
      { origin: "messages", replaced_by: "ev2", replaced_by_receipt: null },
      { origin: "logs", replaced_by: null, replaced_by_receipt: null },
    ]);
    await expectClean();
    await world.deliver([opened]);
    expect(await world.events()).toEqual(["ev2 open webhook"]);
    await expectClean();
  });

  test("that was filed, deleted, and then repaired is found by verify, and replay puts it back in its place", async () => {
    const receipt = await world.deliver([delivered, opened]);
    await db.pool.query("DELETE FROM events");
    await world.order(delivered, "logs");
    await world.order(told(opened), "messages");
    await world.repair();
    const { state } = await world.verify();
    expect(state.differences.listed).toEqual(
      expect.arrayContaining([
        { kind: "event_missing", receipt, ordinal: 0 },
        { kind: "event_missing", receipt, ordinal: 1 },
      ]),
    );
    const replay = async (): Promise<{ stored: number }> =>
      replayReceipts({ pool: db.pool, range: { firstId: 1 }, settleSeconds: 90, isDryRun: false });
    expect(await replay()).toMatchObject({ stored: 2 });
    expect(await world.events()).toEqual(["ev1 delivered webhook", "ev2 open webhook"]);
    expect(await world.rows("SELECT opens, delivery FROM messages")).toEqual([{ opens: 1, delivery: "delivered" }]);
    await expectClean();
    expect(await replay()).toMatchObject({ stored: 0, messages: 0, twins: 0, tallies: [] });
  });
});
