import { createHash } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { testDatabase, type TestDatabase } from "../../test/database.ts";
import { ledgerWorld, type LedgerWorld } from "../../test/ledger-world.ts";
import { AUDIT_DIFFERENCES_MAX } from "../limits.ts";
import { packBody, unpackBody, type PackedBody } from "../receipt-body.ts";
import type { Difference } from "./difference.ts";

let db: TestDatabase;
let world: LedgerWorld;
/** The numbers of the receipts. */
let receipts: number[];

beforeAll(async () => {
  db = await testDatabase();
  world = await ledgerWorld(db.pool);
});
afterAll(async () => db.drop());
beforeEach(async () => {
  await world.clear();
  receipts = await world.fill();
});

describe("tampering is found and named", () => {
  async function expectFound(sql: string, expected: Difference[], values: unknown[] = []): Promise<void> {
    const changed = await db.pool.query(sql, values);
    expect(changed.rowCount).toBeGreaterThan(0);
    const { outcome, state } = await world.verify();
    expect(outcome).toBe("different");
    expect(state.differences.total).toBe(state.differences.listed.length);
    for (const difference of expected) expect(state.differences.listed).toContainEqual(difference);
    expect([...new Set(state.differences.listed.map(({ kind }) => kind))].sort()).toEqual(
      [...new Set(expected.map(({ kind }) => kind))].sort(),
    );
  }

  const messageOf = async (id: string): Promise<number> =>
    world.value<number>(`SELECT id FROM messages WHERE message_id = '${id}'`);

  test("a changed byte of a body", async () => {
    const [first] = receipts;
    const [row] = await world.rows<PackedBody>("SELECT codec, bytes, body FROM receipts WHERE id = $1", [first]);
    if (row === undefined) throw new Error("the receipt is not there");
    const bytes = Buffer.from(unpackBody(row).toString().replace("250 OK", "250 KO"));
    const changed = packBody(bytes);
    await expectFound(
      "UPDATE receipts SET body = $2, codec = $3, bytes = $4 WHERE id = $1",
      [
        { kind: "body_changed", receipt: first },
        { kind: "signature_wrong", receipt: first },
        { kind: "event_changed", receipt: first, ordinal: 0, message: await messageOf("m1"), fields: ["detail"] },
      ],
      [first, changed.body, changed.codec, changed.bytes],
    );
    // With the hash put right, the signature still tells.
    await db.pool.query("UPDATE receipts SET sha256 = $2 WHERE id = $1", [
      first,
      createHash("sha256").update(bytes).digest(),
    ]);
    expect((await world.verify()).kinds).toEqual(["event_changed", "signature_wrong"]);
  });

  test("a body that can no longer be unpacked", async () => {
    const [first] = receipts;
    await db.pool.query("UPDATE receipts SET body = substr(body, 1, length(body) - 9) WHERE id = $1 AND codec > 0", [
      first,
    ]);
    expect((await world.verify()).kinds).toContain("body_changed");
  });

  test("a changed SHA-256", async () => {
    await expectFound(
      "UPDATE receipts SET sha256 = sha256('x') WHERE id = $1",
      [{ kind: "body_changed", receipt: receipts[1] }],
      [receipts[1]],
    );
  });

  test("a changed signature, timestamp or key", async () => {
    const [first, second, third] = receipts;
    await db.pool.query(
      "UPDATE receipts SET signature_bytes = (SELECT signature_bytes FROM receipts WHERE id = $1) WHERE id = $2",
      [second, first],
    );
    await db.pool.query("UPDATE receipts SET signed_at = signed_at || '0' WHERE id = $1", [second]);
    await expectFound(
      "UPDATE receipts SET key = 99 WHERE id = $1",
      [
        { kind: "signature_wrong", receipt: second },
        { kind: "key_unknown", receipt: third },
      ],
      [third],
    );
  });

  test("a deleted receipt", async () => {
    const [, second] = receipts;
    const { state } = await world.verify();
    await expectFound(
      "DELETE FROM receipts WHERE id = $1",
      [
        { kind: "receipt_missing", receipt: second, ordinal: 1, message: await messageOf("m2") },
        {
          kind: "receipt_missing",
          receipt: second,
          ordinal: 2,
          message: await world.value("SELECT id FROM messages WHERE message_id IS NULL"),
        },
        { kind: "message_changed", message: await messageOf("m2"), fields: ["args"] },
        {
          kind: "tally_wrong",
          hour: "2026-03-01T09:00:00.000Z",
          source: "default",
          fields: ["receipts", "accepted", "stored", "duplicate", "sanitised"],
          recorded: { receipts: 5, accepted: 13, stored: 9, duplicate: 1, sanitised: 1 },
          counted: { receipts: 4, accepted: 10, stored: 7, duplicate: 0, sanitised: 0 },
        },
      ],
      [second],
    );
    expect(state.counts.receipts).toBe(5);
  });

  test("a deleted receipt after all others, and one that held only what was quarantined", async () => {
    await db.pool.query("DELETE FROM receipts WHERE id >= $1", [receipts[3]]);
    const { state } = await world.verify();
    expect(state.differences.listed).toContainEqual(
      expect.objectContaining({ kind: "receipt_missing", receipt: receipts[3], ordinal: -1 }),
    );
    expect(state.differences.listed).toContainEqual(
      expect.objectContaining({ kind: "receipt_missing", receipt: receipts[4], ordinal: 0 }),
    );
  });

  test("a deleted event", async () => {
    await expectFound("DELETE FROM events WHERE event_id = 'ev5'", [
      { kind: "event_missing", receipt: receipts[2], ordinal: 0 },
      {
        kind: "message_changed",
        message: await messageOf("m1"),
        fields: ["first_click_at", "last_event_at", "last_click_at", "clicks", "args"],
      },
      {
        kind: "tally_wrong",
        hour: "2026-03-01T09:00:00.000Z",
        source: "default",
        fields: ["stored"],
        recorded: { stored: 9 },
        counted: { stored: 8 },
      },
    ]);
  });

  test("all events of a message deleted", async () => {
    await db.pool.query("DELETE FROM events WHERE message = $1", [await messageOf("m2")]);
    const { state } = await world.verify();
    expect(state.differences.listed).toContainEqual({ kind: "message_empty", message: await messageOf("m2") });
  });

  test("an added event, to a receipt that is there, to one that is not, to none, and to a message that is not there", async () => {
    const message = await messageOf("m1");
    const add = `INSERT INTO events SELECT $1, occurred_at, $2, ordinal, origin, source, true, nameless, $3, type, recipient, detail
      FROM events WHERE event_id = 'ev2'`;
    await db.pool.query(add, [message, receipts[0], "forged1"]);
    await db.pool.query(add, [message, (receipts[0] ?? 0) + 400, "forged2"]);
    await db.pool.query(add, [message, null, "forged3"]);
    await db.pool.query(add, [999_999, receipts[2], "forged4"]);
    const { state, kinds } = await world.verify();
    expect(state.differences.listed).toContainEqual({
      kind: "event_surplus",
      receipt: receipts[0],
      ordinal: 1,
      message,
    });
    expect(state.differences.listed).toContainEqual({
      kind: "receipt_missing",
      receipt: (receipts[0] ?? 0) + 400,
      ordinal: 1,
      message,
    });
    expect(state.differences.listed).toContainEqual({
      kind: "receipt_missing",
      receipt: undefined,
      ordinal: 1,
      message,
    });
    expect(state.differences.listed).toContainEqual({
      kind: "message_missing",
      receipt: receipts[2],
      ordinal: 1,
      message: 999_999,
    });
    expect(kinds).toEqual(["event_surplus", "message_missing", "receipt_missing"]);
  });

  test.each([
    ["detail", `detail = detail || '{"useragent": "y"}'`],
    ["detail", "detail = detail - 'response'"],
    ["detail", "channel_part = NULL"],
    ["detail", "channel_part = 999"],
    ["recipient", "recipient = 'other@example.com'"],
    ["occurred_at", "occurred_at = occurred_at + interval '1 microsecond'"],
    ["type", "type = 'teleported'"],
    ["source", "source = 99"],
    ["origin", "origin = 'logs'"],
    ["nameless", "nameless = true"],
  ])("a changed %s of an event: %s", async (field, change) => {
    await db.pool.query(`UPDATE events SET ${change} WHERE event_id = 'ev6'`);
    const { state } = await world.verify();
    expect(state.differences.listed).toContainEqual({
      kind: "event_changed",
      receipt: receipts[2],
      ordinal: 1,
      message: await messageOf("m2"),
      fields: [field],
    });
  });

  test.each([
    `UPDATE detail_parts SET part = '{"useragent": "y"}' WHERE part ? 'useragent'`,
    "UPDATE detail_parts SET id = DEFAULT WHERE part ? 'useragent'",
  ])("a part of many events' details, changed: %s", async (change) => {
    const kept = await world.rows("SELECT * FROM detail_parts");
    await expectFound(
      change,
      await Promise.all(
        [
          ["m1", 0, 1],
          ["m1", 0, 2],
          ["m1", 2, 0],
          ["m2", 2, 1],
          ["m2", 2, 2],
          ["m1", 4, 0],
        ].map(async ([id, index, ordinal]) => ({
          kind: "event_changed" as const,
          receipt: receipts[Number(index)],
          ordinal: Number(ordinal),
          message: await messageOf(String(id)),
          fields: ["detail"],
        })),
      ),
    );
    // The world's projector knows the parts as they were.
    await db.pool.query("TRUNCATE detail_parts");
    await db.pool.query(
      "INSERT INTO detail_parts OVERRIDING SYSTEM VALUE SELECT * FROM jsonb_populate_recordset(NULL::detail_parts, $1)",
      [JSON.stringify(kept)],
    );
  });

  test("a changed id of an event", async () => {
    await db.pool.query("UPDATE events SET event_id = 'other' WHERE event_id = 'ev6'");
    const { kinds } = await world.verify();
    expect(kinds).toEqual(["event_missing", "event_surplus", "tally_wrong"]);
  });

  test.each([
    ["delivery", "delivery = 'bounced'"],
    ["opens", "opens = opens + 1"],
    ["first_open_at", "first_open_at = first_open_at - interval '1 microsecond'"],
    ["deferred_at", "deferred_at = 'infinity'"],
    ["recipient", "recipient = NULL"],
    ["args", `args = args || '{"order_id": "zzz"}'`],
    ["args", `args = args || '{"forged": "1"}'`],
    ["args", `args = args - 'extra'`],
    ["categories", "categories = '{b2b}'"],
    ["categories", "categories = categories || '{zzz}'"],
  ])("a changed %s of a message: %s", async (field, change) => {
    const message = await messageOf("m2");
    await expectFound(`UPDATE messages SET ${change} WHERE message_id = 'm2'`, [
      { kind: "message_changed", message, fields: [field] },
    ]);
  });

  test("a state given to the nameless message, and a message that came from nowhere", async () => {
    await db.pool.query("UPDATE messages SET delivery = 'bounced' WHERE message_id IS NULL");
    await db.pool.query("INSERT INTO messages (message_id, source) VALUES ('nowhere', 1)");
    const { state, kinds } = await world.verify();
    expect(kinds).toEqual(["message_changed", "message_empty"]);
    expect(state.differences.listed).toContainEqual({ kind: "message_empty", message: await messageOf("nowhere") });
  });

  test.each([
    ["cleared", "event_id = 'twin'", false],
    ["set", "event_id = 'ev2'", true],
    ["set on an event of the nameless message", "event_id = 'ev4'", true],
  ])("a twin flag %s", async (_what, which, flag) => {
    await db.pool.query(`UPDATE events SET twin = $1 WHERE ${which}`, [flag]);
    expect((await world.verify()).kinds).toEqual(["tally_wrong", "twins_wrong"]);
  });

  test.each(["receipts", "accepted", "stored", "duplicate", "twin", "quarantined"])(
    "a changed tally: %s",
    async (column) => {
      await db.pool.query(`UPDATE tallies SET ${column} = ${column} + 1`);
      const { state, kinds } = await world.verify();
      expect(kinds).toEqual(["tally_wrong"]);
      expect(state.differences.listed[0]?.fields).toEqual([column]);
    },
  );

  test("an added and a deleted tally", async () => {
    await db.pool.query("INSERT INTO tallies (hour, source, stored) VALUES ('2020-01-01', 1, 5)");
    await db.pool.query("DELETE FROM tallies WHERE hour > '2021-01-01'");
    const { state } = await world.verify();
    expect(new Set(state.differences.listed.map(({ hour }) => hour))).toEqual(
      new Set(["2020-01-01T00:00:00.000Z", "2026-03-01T09:00:00.000Z"]),
    );
  });

  test("a deleted row of quarantine", async () => {
    await expectFound("DELETE FROM quarantine WHERE ordinal = 3", [
      { kind: "quarantine_missing", receipt: receipts[0], ordinal: 3 },
      {
        kind: "tally_wrong",
        hour: "2026-03-01T09:00:00.000Z",
        source: "default",
        fields: ["quarantined"],
        recorded: { quarantined: 3 },
        counted: { quarantined: 2 },
      },
    ]);
  });

  test.each([
    ["bytes", "bytes = 'other'"],
    ["received_at", "received_at = received_at + interval '1 day'"],
    ["source", "source = 99"],
  ])("a changed %s of quarantine", async (field, change) => {
    const quarantine = await world.value<number>("SELECT id FROM quarantine WHERE ordinal = -1");
    await expectFound(`UPDATE quarantine SET ${change} WHERE ordinal = -1`, [
      { kind: "quarantine_changed", receipt: receipts[3], ordinal: -1, quarantine, fields: [field] },
    ]);
  });

  test("an item said to be replayed that cannot be read, and one that its receipt does not have", async () => {
    await db.pool.query("UPDATE quarantine SET state = 'replayed' WHERE ordinal = 3");
    await db.pool.query("UPDATE quarantine SET ordinal = 77 WHERE ordinal = -1");
    const { kinds } = await world.verify();
    expect(kinds).toEqual(["quarantine_changed", "quarantine_missing", "quarantine_surplus", "tally_wrong"]);
  });

  test("an inbox that names no receipt", async () => {
    await expectFound("INSERT INTO inbox (receipt, received_at, bytes) VALUES (999999, now(), 1)", [
      { kind: "receipt_missing", receipt: 999_999 },
    ]);
  });

  test("more than is listed is counted", async () => {
    const [receipt] = await world.rows<{ id: number }>("SELECT max(id) AS id FROM receipts");
    const event = { event: "open", timestamp: 1764511327, email: "a@example.com" };
    await world.write(
      Array.from({ length: AUDIT_DIFFERENCES_MAX + 50 }, (_one, index) => ({
        ...event,
        sg_event_id: "e",
        sg_message_id: `n${index}`,
      })),
    );
    await world.project();
    await db.pool.query("DELETE FROM events WHERE receipt > $1", [receipt?.id]);
    const { state } = await world.verify();
    expect(state.differences.listed).toHaveLength(AUDIT_DIFFERENCES_MAX);
    expect(state.differences.total).toBeGreaterThan(2 * AUDIT_DIFFERENCES_MAX);
  });

  test("says nothing personal", async () => {
    await db.pool.query("DELETE FROM events");
    await db.pool.query("UPDATE quarantine SET bytes = 'x'");
    const { state } = await world.verify();
    const text = JSON.stringify(state.differences);
    for (const personal of ["example.com", "4711", "ev1", "m1"]) expect(text).not.toContain(personal);
  });
});
