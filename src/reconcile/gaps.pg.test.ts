import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { testDatabase, type TestDatabase } from "../../test/database.ts";
import { seedEvent, seedGap, seedMessage, seedRepair, seedSource } from "../../test/seed.ts";
import { lookAgain } from "./gaps.ts";

const DAY = "2026-03-09";
const AT = new Date(`${DAY}T12:00:00Z`);
const URL = "https://example.com/a";
const ITEM = { event: "click", timestamp: AT.getTime() / 1000, email: "a@example.com", sg_message_id: "m.1" };

describe("a gap whose record has no id, looked at again,", () => {
  let db: TestDatabase;
  let source = 0;
  let message = 0;

  beforeAll(async () => {
    db = await testDatabase();
    source = await seedSource(db.pool, "default");
  });
  beforeEach(async () => {
    await db.pool.query("TRUNCATE messages, events, gaps, repairs");
    message = await seedMessage(db.pool, { source, messageId: "m.1" });
  });
  afterAll(async () => db.drop());

  async function gap(item: Record<string, unknown>): Promise<number> {
    return seedGap(db.pool, {
      day: DAY,
      source,
      message,
      message_id: "m.1",
      event_id: null,
      occurred_at: AT,
      identity: "event:m.1:click:1:1",
      kind: "click",
      rule: "messages",
      confidence: "confirmed",
      state: "repaired",
      item,
      evidence: { copy: 1 },
    });
  }

  async function stateAgain(): Promise<string | undefined> {
    await lookAgain(db.pool, { account: "", fromDay: DAY, toDay: DAY });
    const { rows } = await db.pool.query<{ state: string }>("SELECT state FROM gaps");
    return rows[0]?.state;
  }

  async function event(eventId: string, origin: string, detail: Record<string, unknown>): Promise<void> {
    await seedEvent(db.pool, { message, source, eventId, type: "click", occurredAt: AT, detail });
    await db.pool.query("UPDATE events SET origin = $2 WHERE event_id = $1", [eventId, origin]);
  }

  it("is repaired when a record with an id took the place of the one without", async () => {
    const id = await gap({ ...ITEM, url: URL });
    await event("own-id", "logs", { url: URL });
    await seedRepair(db.pool, { gap: id, message, event_id: "fp:1", replaced_at: AT, replaced_by: "own-id" });
    expect(await stateAgain()).toBe("repaired");
  });

  it("has arrived when a webhook's event took its place", async () => {
    const id = await gap({ ...ITEM, url: URL });
    await event("own-id", "webhook", { url: URL });
    const by = { replaced_at: AT, replaced_by: "own-id", replaced_by_receipt: 7 };
    await seedRepair(db.pool, { gap: id, message, event_id: "fp:1", ...by });
    expect(await stateAgain()).toBe("arrived");
  });

  it("has arrived when the ledger held it already, though only one of the two tells the url", async () => {
    const id = await gap(ITEM);
    await event("own-id", "webhook", { url: URL });
    await seedRepair(db.pool, { gap: id, message, event_id: "own-id", outcome: "held" });
    expect(await stateAgain()).toBe("arrived");
  });
});
