import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { endBlockedBy, untilBlockedBy } from "../../test/blocked.ts";
import { testDatabase, type TestDatabase } from "../../test/database.ts";
import { receiptWriter, type ReceiptWriter } from "../../test/receipts.ts";
import { createLog } from "../log.ts";
import type { BatchFigures } from "../pace.ts";
import { createPool } from "../postgres/pool.ts";
import { createProjector, type Projector, type ProjectorOptions } from "./projector.ts";

let db: TestDatabase;
let write: ReceiptWriter;

beforeAll(async () => {
  db = await testDatabase();
  write = await receiptWriter(db.pool);
});
afterAll(async () => db.drop());
beforeEach(async () => {
  await db.pool.query("TRUNCATE events, messages, quarantine, tallies, enrichments, inbox, receipts, arg_keys");
});

function projector(options: Partial<ProjectorOptions> = {}): Projector {
  return createProjector({ pool: db.pool, log: createLog("silent"), settleSeconds: 90, ...options });
}

async function drain(worker: Projector): Promise<void> {
  while (await worker.tick());
}

function item(message: string, id: string, event = "delivered"): Record<string, unknown> {
  return { email: `${message}@example.com`, timestamp: 1764511327, event, sg_event_id: id, sg_message_id: message };
}

async function rows<T extends object>(sql: string): Promise<T[]> {
  return (await db.pool.query<T>(sql)).rows;
}

const LOST = "SELECT coalesce(sum(accepted - stored - duplicate - quarantined), 0) AS lost FROM tallies";

test("A projector rests between batches as it is told, by what the last batch was", async () => {
  await write([item("a", "a1")]);
  await db.pool.query("UPDATE receipts SET received_at = received_at - interval '1 hour'");
  await db.pool.query("UPDATE inbox SET received_at = received_at - interval '1 hour'");
  const told = Promise.withResolvers<BatchFigures>();
  const worker = projector({
    restMs(batch) {
      told.resolve(batch);
      return 0;
    },
  });
  worker.start();
  const { ms, bytes, lagMs, tookAll } = await told.promise;
  await worker.stop();
  expect(ms).toBeGreaterThan(0);
  expect(bytes).toBe(JSON.stringify([item("a", "a1")]).length);
  expect(lagMs).toBeGreaterThanOrEqual(3_600_000);
  expect(tookAll).toBe(true);
  expect(await rows("SELECT FROM inbox")).toEqual([]);
});

describe("a deadlock with an outside writer", () => {
  /**
   * Makes the projecting transaction the victim of a real deadlock, `times` times: an outsider holds message b, the
   * projector locks a and waits for b, and then the outsider asks for a.
   */
  async function deadlock(times: number, run: (wait: () => Promise<void>) => Promise<void>): Promise<void> {
    await write([item("a", "a1"), item("b", "b1")]);
    await drain(projector());
    await write([item("a", "a2", "open"), item("b", "b2", "open")]);
    const outsider = await db.pool.connect();
    let left = times;
    let finished: Promise<unknown> = Promise.resolve();
    async function strike(): Promise<void> {
      await outsider.query("BEGIN");
      // The outsider waits longer for its deadlock check than the projector, so that the projector is the one to fail.
      await outsider.query("SET LOCAL deadlock_timeout = '20s'");
      await outsider.query("SELECT FROM messages WHERE message_id = 'b' FOR UPDATE");
      finished = (async () => {
        await untilBlockedBy(db.pool, outsider);
        await outsider.query("SELECT FROM messages WHERE message_id = 'a' FOR UPDATE");
        await outsider.query("COMMIT");
      })();
    }
    try {
      await strike();
      await run(async () => {
        await finished;
        left -= 1;
        if (left > 0) await strike();
      });
      await finished;
    } finally {
      outsider.release();
    }
  }

  test("is retried and rescued, and both are counted", async () => {
    const outcomes: string[] = [];
    await deadlock(2, async (wait) => drain(projector({ wait, onDeadlock: (outcome) => outcomes.push(outcome) })));
    expect(outcomes).toEqual(["retried", "retried", "rescued"]);
    expect(await rows("SELECT stored, retries, rescued, exhausted FROM tallies")).toEqual([
      { stored: 4, retries: 2, rescued: 1, exhausted: 0 },
    ]);
    expect(await rows("SELECT message_id, opens FROM messages ORDER BY 1")).toEqual([
      { message_id: "a", opens: 1 },
      { message_id: "b", opens: 1 },
    ]);
  });

  test("that meets all five retries leaves the receipt in the inbox for later, and says so", async () => {
    const outcomes: string[] = [];
    await deadlock(6, async (wait) => drain(projector({ wait, onDeadlock: (outcome) => outcomes.push(outcome) })));
    expect(outcomes).toEqual([...Array.from({ length: 5 }, () => "retried"), "exhausted"]);
    expect(await rows("SELECT attempts, last_error, next_attempt_at > now() AS later FROM inbox")).toEqual([
      { attempts: 1, last_error: "DeadlockRetriesExhausted", later: true },
    ]);
    expect(await rows("SELECT stored, retries, rescued, exhausted FROM tallies")).toEqual([
      { stored: 2, retries: 5, rescued: 0, exhausted: 1 },
    ]);

    await db.pool.query("UPDATE inbox SET next_attempt_at = now()");
    await drain(projector());
    expect(await rows("SELECT count(*) AS events FROM events")).toEqual([{ events: 4 }]);
    expect(await rows(LOST)).toEqual([{ lost: 0 }]);
  }, 120_000);
});

describe("a receipt that cannot be projected", () => {
  beforeEach(async () => {
    await db.pool.query(`CREATE FUNCTION refuse_poison() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN IF NEW.event_id = 'poison' THEN RAISE EXCEPTION 'poison' USING ERRCODE = '23514'; END IF; RETURN NEW; END $$`);
    await db.pool.query(
      "CREATE TRIGGER refuse_poison BEFORE INSERT ON events FOR EACH ROW EXECUTE FUNCTION refuse_poison()",
    );
    return async () => {
      await db.pool.query("DROP FUNCTION refuse_poison() CASCADE");
    };
  });

  test("is isolated by halving its batch, raised at once without a retry, and its neighbours are filed", async () => {
    const outcomes: string[] = [];
    for (let n = 0; n < 9; n += 1) await write([item(`m${n}`, n === 5 ? "poison" : `e${n}`)]);
    await drain(projector({ onDeadlock: (outcome) => outcomes.push(outcome) }));
    expect(await rows("SELECT count(*) AS events FROM events")).toEqual([{ events: 8 }]);
    expect(await rows("SELECT attempts, last_error FROM inbox")).toEqual([
      { attempts: 1, last_error: "SQLSTATE 23514" },
    ]);
    expect(outcomes).toEqual([]);
    expect(await rows("SELECT sum(receipts) AS receipts, sum(stored) AS stored FROM tallies")).toEqual([
      { receipts: 8, stored: 8 },
    ]);
  });

  test("waits longer after each attempt, up to ten minutes, and is filed once the cause is gone", async () => {
    await write([item("m", "poison")]);
    const waits: number[] = [];
    for (let attempt = 0; attempt < 12; attempt += 1) {
      await db.pool.query("UPDATE inbox SET next_attempt_at = now()");
      await drain(projector());
      const [entry] = await rows<{ seconds: number }>(
        "SELECT round(extract(epoch FROM next_attempt_at - now()))::integer AS seconds FROM inbox",
      );
      waits.push(entry?.seconds ?? -1);
    }
    expect(waits).toEqual(waits.toSorted((a, b) => a - b));
    expect(waits.at(-1)).toBeGreaterThan(590);
    expect(waits.at(-1)).toBeLessThanOrEqual(600);

    await db.pool.query("DROP TRIGGER refuse_poison ON events");
    await db.pool.query("UPDATE inbox SET next_attempt_at = now()");
    await drain(projector());
    expect(await rows("SELECT event_id FROM events")).toEqual([{ event_id: "poison" }]);
    expect(await rows("SELECT * FROM inbox")).toEqual([]);
  });
});

describe("a batch that is too slow for the statement's time limit", () => {
  test("is halved until its parts are fast enough, and no receipt is postponed", async () => {
    // More than one event at once takes longer than any limit; the server itself ends such a statement.
    await db.pool.query(`CREATE FUNCTION be_slow() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN IF (SELECT count(*) FROM added) > 1 THEN PERFORM pg_sleep(600); END IF; RETURN NULL; END $$`);
    await db.pool.query(
      "CREATE TRIGGER be_slow AFTER INSERT ON events REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION be_slow()",
    );
    const impatient = createPool({ databaseUrl: db.databaseUrl, log: createLog("silent"), connectionsMax: 1 });
    impatient.on("connect", (connection) => void connection.query("SET statement_timeout = '1s'"));
    try {
      for (let n = 0; n < 4; n += 1) await write([item(`m${n}`, `e${n}`)]);
      await drain(projector({ pool: impatient }));
      expect(await rows("SELECT event_id FROM events ORDER BY event_id")).toEqual(
        ["e0", "e1", "e2", "e3"].map((id) => ({ event_id: id })),
      );
      expect(await rows("SELECT * FROM inbox")).toEqual([]);
      expect(await rows("SELECT sum(receipts) AS receipts, sum(stored) AS stored FROM tallies")).toEqual([
        { receipts: 4, stored: 4 },
      ]);
    } finally {
      await impatient.end();
      await db.pool.query("DROP FUNCTION be_slow() CASCADE");
    }
  });

  test("of one receipt stands alone, and is tried again later", async () => {
    await write([item("m", "e")]);
    const holder = await db.pool.connect();
    const impatient = createPool({ databaseUrl: db.databaseUrl, log: createLog("silent"), connectionsMax: 1 });
    impatient.on("connect", (connection) => void connection.query("SET statement_timeout = '1s'"));
    try {
      await holder.query("BEGIN");
      await holder.query("LOCK TABLE events IN ACCESS EXCLUSIVE MODE");
      await projector({ pool: impatient }).tick();
      expect(await rows("SELECT attempts, last_error FROM inbox")).toEqual([
        { attempts: 1, last_error: "SQLSTATE 57014" },
      ]);
    } finally {
      await holder.query("ROLLBACK");
      holder.release();
      await impatient.end();
    }
  });
});

describe("several projectors at once", () => {
  test("file each event once and never deadlock, though their batches name the same messages in opposite orders", async () => {
    const outcomes: string[] = [];
    const messages = Array.from({ length: 40 }, (_message, n) => `m${n}`);
    for (let round = 0; round < 30; round += 1) {
      const order = round % 2 === 0 ? messages : messages.toReversed();
      await write(order.map((message) => item(message, `${message}-${round % 10}`, "open")));
    }
    await Promise.all(
      Array.from({ length: 4 }, async () => {
        const worker = projector({ onDeadlock: (outcome) => outcomes.push(outcome), pool: oneReceiptAtATime() });
        await drain(worker);
      }),
    );
    expect(outcomes).toEqual([]);
    expect(await rows("SELECT count(*) AS events FROM events")).toEqual([{ events: 400 }]);
    // Ten ids each of the same second: one opening and nine twins of it.
    expect(await rows("SELECT DISTINCT opens FROM messages")).toEqual([{ opens: 1 }]);
    expect(await rows("SELECT sum(duplicate) AS duplicate, sum(twin) AS twin FROM tallies")).toEqual([
      { duplicate: 800, twin: 360 },
    ]);
    expect(await rows(LOST)).toEqual([{ lost: 0 }]);
  });

  /** Small claims make the projectors meet: each takes one receipt of the many. */
  function oneReceiptAtATime(): TestDatabase["pool"] {
    return new Proxy(db.pool, {
      get(pool, property) {
        if (property !== "connect") return Reflect.get(pool, property) as unknown;
        return async () => {
          const connection = await pool.connect();
          return new Proxy(connection, {
            get(target, name) {
              const value = Reflect.get(target, name) as unknown;
              if (name !== "query" || typeof value !== "function")
                return typeof value === "function" ? (value.bind(target) as unknown) : value;
              return (query: { name?: string; values?: unknown[] }, ...rest: unknown[]) =>
                (value as (...parameters: unknown[]) => unknown).call(
                  target,
                  query.name === "claim due" ? { ...query, values: [1] } : query,
                  ...rest,
                );
            },
          });
        };
      },
    });
  }
});

describe("a server that is away", () => {
  test("is no receipt's fault: nothing is postponed, and the tick fails for the loop to try again", async () => {
    await write([item("m", "e")]);
    const worker = projector();
    await db.pool.query("ALTER TABLE events RENAME TO events_gone");
    await worker.tick();
    expect(await rows("SELECT attempts FROM inbox")).toEqual([{ attempts: 1 }]);
    await db.pool.query("ALTER TABLE events_gone RENAME TO events");
    await db.pool.query("UPDATE inbox SET attempts = 0, next_attempt_at = now()");

    const killer = await db.pool.connect();
    try {
      await killer.query("BEGIN");
      await killer.query("LOCK TABLE messages IN ACCESS EXCLUSIVE MODE");
      const failure = worker.tick().then(() => "none", String);
      await endBlockedBy(db.pool, killer);
      expect(await failure).toMatch(/terminat/i);
      await killer.query("ROLLBACK");
    } finally {
      killer.release();
    }
    expect(await rows("SELECT attempts FROM inbox")).toEqual([{ attempts: 0 }]);
    await drain(worker);
    expect(await rows("SELECT event_id FROM events")).toEqual([{ event_id: "e" }]);
  });
});
