import fc from "fast-check";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { testDatabase, type TestDatabase } from "../../test/database.ts";
import { repairWorld, type Item, type RepairWorld } from "../../test/repair-world.ts";
import { createLog } from "../log.ts";
import { createProjector } from "./projector.ts";
import { drainRepairs } from "./repair.ts";

const log = createLog("silent");
let db: TestDatabase;
let world: RepairWorld;

beforeAll(async () => {
  db = await testDatabase();
  world = await repairWorld(db.pool);
});
afterAll(async () => db.drop());
beforeEach(async () => world.clear());

async function expectClean(): Promise<void> {
  const { outcome, state } = await world.verify();
  expect(state.differences.listed).toEqual([]);
  expect(outcome).toBe("clean");
}

describe("in any order and any batches, webhooks and repairs", () => {
  const arbitraryEvent = fc.record({
    event: fc.constantFrom("delivered", "bounce", "open", "click"),
    timestamp: fc.constantFrom(1764511300, 1764511300.5, 1764511301),
    sg_message_id: fc.constantFrom("m1", "m2"),
    order_id: fc.constantFrom("4711", "4712"),
    category: fc.constantFrom("invoice", "b2b"),
    sg_machine_open: fc.boolean(),
    type: fc.constantFrom("bounce", "blocked"),
    reason: fc.constantFrom("full", "unknown"),
    url: fc.constantFrom("https://example.com/1", "https://example.com/2"),
  });

  /** A step: items of a webhook, or orders; each names events by their places. */
  interface Step {
    webhook: boolean;
    places: number[];
  }

  const arbitraryStory = fc.array(arbitraryEvent, { minLength: 1, maxLength: 5 }).chain((items) =>
    fc.record({
      items: fc.constant(
        items.map((item, place): Item => ({ ...item, email: "a@example.com", sg_event_id: `e${place}` })),
      ),
      origins: fc.array(fc.constantFrom("logs", "messages", "csv"), {
        minLength: items.length,
        maxLength: items.length,
      }),
      steps: fc.array(
        fc.record({
          webhook: fc.boolean(),
          places: fc.array(fc.nat(items.length - 1), { minLength: 1, maxLength: items.length }),
        }),
        { maxLength: 6 },
      ),
    }),
  );

  /** What the record of this origin tells: by SendGrid's own id, or less of it, and its copy among those that it cannot tell apart. */
  function record(items: readonly Item[], place: number, origin: string): Item {
    const item = items[place] ?? {};
    if (origin === "logs") return { ...item, reason: "as the log says" };
    const less = ({ event, timestamp, sg_message_id: message, url }: Item): Item => ({
      event,
      timestamp: Math.floor(Number(timestamp)),
      sg_message_id: message,
      ...(origin === "csv" ? { url } : {}),
    });
    const alike = items.filter((other) => JSON.stringify(less(other)) === JSON.stringify(less(item)));
    const copy = alike.indexOf(item) + 1;
    return { ...less(item), email: "A@example.com", holdfast_copy: copy, order_id: "4713", from: origin };
  }

  /** @returns all that must not depend on the way that led there. */
  async function result(): Promise<unknown> {
    const held = await world.rows(
      "SELECT m.message_id, e.event_id, e.type, e.origin, e.detail FROM events AS e JOIN messages AS m ON m.id = e.message ORDER BY 1, 2",
    );
    return {
      held,
      messages: await world.rows("SELECT (to_jsonb(m) - 'id') AS message FROM messages AS m ORDER BY message_id"),
    };
  }

  test("give in the end what the webhooks alone give, and verify is clean at any time (promises P2, P3, P7)", async () => {
    await fc.assert(
      fc.asyncProperty(arbitraryStory, async ({ items, origins, steps }) => {
        await world.clear();
        for (const item of items) await world.deliver([item]);
        const wanted = await result();
        await world.clear();
        const all = items.map((_item, place) => place);
        for (const { webhook, places } of [...steps, { webhook: true, places: all } satisfies Step]) {
          if (webhook) await world.deliver(places.map((place) => items[place] ?? {}));
          else {
            for (const place of places) {
              const origin = origins[place] ?? "logs";
              await world.order(record(items, place, origin), origin);
            }
            await world.repair();
          }
          await expectClean();
          expect(await world.value("SELECT count(*) FROM events")).toBeLessThanOrEqual(items.length);
        }
        expect(await result()).toEqual(wanted);
        expect(await world.tallies()).toMatchObject({ stored: items.length, lost: 0 });
      }),
      { numRuns: 60 },
    );
  });

  test("at the same time neither deadlock nor file anything twice", async () => {
    const items = Array.from({ length: 200 }, (_one, place): Item => ({
      event: "open",
      timestamp: 1764511400,
      email: "a@example.com",
      sg_event_id: `e${place}`,
      sg_message_id: `m${place % 20}`,
    }));
    for (const item of items) await world.write([item]);
    for (const item of items.toReversed()) await world.order(item, "logs");
    const projector = createProjector({ pool: db.pool, log, settleSeconds: 90 });
    const project = async (): Promise<void> => {
      while (await projector.tick());
    };
    await Promise.all([
      project(),
      drainRepairs(db.pool, { settleSeconds: 90 }),
      project(),
      drainRepairs(db.pool, { settleSeconds: 90 }),
    ]);
    expect(await world.rows("SELECT origin, count(*) AS events FROM events GROUP BY origin")).toEqual([
      { origin: "webhook", events: 200 },
    ]);
    expect(await world.rows("SELECT DISTINCT opens FROM messages")).toEqual([{ opens: 1 }]);
    await expectClean();
  });
});
