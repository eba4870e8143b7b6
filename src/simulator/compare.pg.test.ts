import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { testDatabase, type TestDatabase } from "../../test/database.ts";
import type { Connection } from "../postgres/pool.ts";
import { compareWithLedger, waitUntilProjected, type Comparison } from "./compare.ts";
import { databaseLedger } from "./ledger-database.ts";
import { createManifest, type Manifest } from "./manifest.ts";
import { simulatePosts } from "./posts.ts";
import { isFlawless } from "./run.ts";
import { simulateMessages, type SimulatedEvent, type TrafficOptions } from "./traffic.ts";

/** The ledger is filled here by plain inserts, as a correct projector would fill it, and then damaged. Needs a database. */
const TRAFFIC: TrafficOptions = {
  seed: "3",
  startSeconds: 1_770_000_000,
  periodSeconds: 7_200,
  events: 2_500,
  twins: true,
  missingIds: true,
  poison: true,
};
const RECEIPT = 5;

let db: TestDatabase;
/** Each test damages the ledger in a transaction that is rolled back. */
let tx: Connection;
let manifest: Manifest;

beforeAll(async () => {
  db = await testDatabase();
  await fillLedger();
});
afterAll(async () => {
  await db.drop();
});
beforeEach(async () => {
  manifest = await acknowledgeAll();
  tx = await db.pool.connect();
  await tx.query("BEGIN");
});
afterEach(async () => {
  await tx.query("ROLLBACK");
  tx.release();
});

async function fillLedger(): Promise<void> {
  await db.pool.query("INSERT INTO sources (name, simulated) VALUES ('simulation', true), ('other', false)");
  await db.pool.query("INSERT INTO messages (source, message_id) VALUES (1, NULL), (2, NULL)");
  const events = [...simulateMessages(TRAFFIC)].flatMap((message) => message.events);
  const names = [...new Set(events.map(messageIdOf).filter((id) => id !== null))];
  await db.pool.query("INSERT INTO messages (source, message_id) SELECT 1, unnest($1::text[])", [names]);
  await db.pool.query(
    `INSERT INTO events (message, occurred_at, receipt, ordinal, origin, source, twin, nameless, event_id, type, recipient, detail)
     SELECT m.id, to_timestamp(r.at), $2, 0, 'webhook', 1, false, r.message_id IS NULL, r.event_id, r.type, r.recipient, '{}'
     FROM jsonb_to_recordset($1) AS r (message_id text, event_id text, type text, at bigint, recipient text)
     JOIN messages m ON m.source = 1 AND m.message_id IS NOT DISTINCT FROM r.message_id`,
    [JSON.stringify(events.map(rowOf)), RECEIPT],
  );
  for (const [receipt, broken] of (await acknowledgeAll()).brokenByReceipt) {
    await db.pool.query(
      `INSERT INTO quarantine (receipt, received_at, source, ordinal, reason, bytes)
       SELECT $1, now(), 1, n, 'not_json', '' FROM generate_series(1, $2::integer) AS n`,
      [receipt, broken],
    );
  }
}

async function acknowledgeAll(): Promise<Manifest> {
  const full = createManifest();
  for (const post of simulatePosts(TRAFFIC, { batch: 50, duplicates: 0, shuffle: false })) {
    if (!post.forged) await full.acknowledge(post, String(RECEIPT + full.brokenByReceipt.size));
  }
  return full;
}

function messageIdOf({ wire }: SimulatedEvent): string | null {
  return typeof wire["sg_message_id"] === "string" && wire["sg_message_id"] !== "" ? wire["sg_message_id"] : null;
}

function rowOf(event: SimulatedEvent): Record<string, unknown> {
  const { wire, index } = event;
  return {
    message_id: messageIdOf(event),
    event_id: wire["sg_event_id"] ?? `fp:${index}`,
    type: wire["event"],
    at: wire["timestamp"],
    recipient: wire["email"],
  };
}

async function compare(): Promise<Comparison> {
  return compareWithLedger(simulateMessages(TRAFFIC), manifest, databaseLedger(tx, "simulation"));
}

function verdict(comparison: Comparison): boolean {
  const sent = { posts: 1, items: 1, retries: 0, doubled: 0, givenUp: 0, forgedRefused: 0, forgedAccepted: 0 };
  return isFlawless({ sent, acknowledged: manifest.eventCount, pending: 0, comparison, seconds: 1 });
}

/** The key of one event of the given kind. */
async function someEvent(condition: string): Promise<[message: number, eventId: string]> {
  const found = await tx.query<{ message: number; event_id: string }>(
    `SELECT message, event_id FROM events WHERE ${condition} LIMIT 1`,
  );
  const [row] = found.rows;
  if (row === undefined) throw new Error(`no event with ${condition}`);
  return [row.message, row.event_id];
}

const KINDS = [
  ["that has an id", "event_id NOT LIKE 'fp:%' AND NOT nameless"],
  ["that has no id", "event_id LIKE 'fp:%'"],
  ["that names no message", "nameless"],
] as const;

describe("the comparison with the ledger", () => {
  it("finds every event once in a ledger that is right", async () => {
    const comparison = await compare();
    expect(comparison).toMatchObject({ lost: 0, double: 0, unchecked: 0, processed: manifest.eventCount });
    expect(comparison.quarantined.found).toBe(comparison.quarantined.expected);
    expect(comparison.quarantined.expected).toBeGreaterThan(10);
    expect(verdict(comparison)).toBe(true);
  });

  it.each(KINDS)("finds a deleted event %s", async (_name, condition) => {
    await tx.query("DELETE FROM events WHERE message = $1 AND event_id = $2", await someEvent(condition));
    const comparison = await compare();
    expect(comparison).toMatchObject({ lost: 1, double: 0, processed: manifest.eventCount - 1 });
    expect(comparison.examples.lost).toHaveLength(1);
    expect(verdict(comparison)).toBe(false);
  });

  it.each(KINDS)("finds an event filed twice %s", async (_name, condition) => {
    await tx.query(
      `INSERT INTO events (message, occurred_at, receipt, ordinal, origin, source, twin, nameless, event_id, type, recipient, detail)
       SELECT message, occurred_at, receipt, ordinal, origin, source, twin, nameless, event_id || ' again', type, recipient, detail
       FROM events WHERE message = $1 AND event_id = $2`,
      await someEvent(condition),
    );
    const comparison = await compare();
    expect(comparison).toMatchObject({ lost: 0, double: 1, processed: manifest.eventCount });
    expect(verdict(comparison)).toBe(false);
  });

  it("finds an event whose time, type or recipient was changed", async () => {
    for (const change of [
      "occurred_at = occurred_at + interval '1 second'",
      "type = 'changed'",
      "recipient = 'changed@example.com'",
    ]) {
      await tx.query(
        `UPDATE events SET ${change} WHERE message = $1 AND event_id = $2`,
        await someEvent("NOT nameless AND type = 'open'"),
      );
    }
    expect(await compare()).toMatchObject({ lost: 3, double: 3 });
  });

  it("finds a broken item that vanished, and one quarantined too many", async () => {
    await tx.query("DELETE FROM quarantine WHERE id = (SELECT min(id) FROM quarantine)");
    expect(verdict(await compare())).toBe(false);
    await tx.query(
      "INSERT INTO quarantine (receipt, received_at, source, ordinal, reason, bytes) SELECT $1, now(), 1, n, 'x', '' FROM generate_series(90, 91) AS n",
      [RECEIPT],
    );
    const { quarantined } = await compare();
    expect(quarantined.found).toBe(quarantined.expected + 1);
  });

  it("asks for nothing that was not acknowledged, but takes it where it is there", async () => {
    manifest = createManifest();
    const total = [...simulateMessages(TRAFFIC)].reduce((sum, message) => sum + message.events.length, 0);
    expect(await compare()).toMatchObject({ lost: 0, double: 0, processed: total });
    await tx.query("DELETE FROM events");
    expect(await compare()).toMatchObject({ lost: 0, double: 0, processed: 0 });
  });

  it("is not confused by what others sent", async () => {
    await tx.query("INSERT INTO messages (source, message_id) VALUES (1, 'foreign.recvd.0')");
    await tx.query(
      `INSERT INTO events (message, occurred_at, receipt, ordinal, origin, source, twin, nameless, event_id, type, recipient, detail)
       SELECT id, now(), 1, 0, 'webhook', source, false, message_id IS NULL, 'foreign ' || id, 'bounce', 'someone@example.com', '{}'
       FROM messages WHERE message_id IS NULL OR message_id = 'foreign.recvd.0'`,
    );
    expect(await compare()).toMatchObject({ lost: 0, double: 0 });
  });
});

describe("waiting for the inbox", () => {
  it("ends when it is empty, and gives up on one that stands still", async () => {
    await tx.query(
      "INSERT INTO inbox (receipt, received_at, bytes) SELECT n, now(), 1 FROM generate_series(1, 3) AS n",
    );
    const ledger = databaseLedger(tx, "simulation");
    let nowMs = 0;
    const seen: number[] = [];
    const clock = { now: () => nowMs, onPending: (receipts: number) => seen.push(receipts) };
    const projectOne = async (ms: number): Promise<void> => {
      nowMs += ms;
      await tx.query("DELETE FROM inbox WHERE receipt = (SELECT min(receipt) FROM inbox)");
    };
    expect(await waitUntilProjected(ledger, { ...clock, wait: projectOne })).toBe(0);
    expect(seen).toEqual([3, 2, 1, 0]);
    await tx.query("INSERT INTO inbox (receipt, received_at, bytes) VALUES (9, now(), 1)");
    const standStill = async (): Promise<void> => {
      nowMs += 20_000;
    };
    expect(await waitUntilProjected(ledger, { ...clock, wait: standStill })).toBe(1);
  });
});
