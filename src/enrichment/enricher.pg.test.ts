import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { enrichmentWorld, mails, type EnrichmentWorld } from "../../test/enrichment-world.ts";
import { ENRICH_GATHER_SECONDS, ENRICH_RETRY_SECONDS } from "../limits.ts";

const HOUR = 3_600;

describe("enrichment", () => {
  let world: EnrichmentWorld;

  beforeAll(async () => {
    world = await enrichmentWorld();
  });

  beforeEach(async () => {
    await world.reset();
  });

  afterAll(async () => {
    await world.end();
  });

  it("adds what Email Logs knows of a message", async () => {
    await world.file([{ id: "abc.1", at: 0 }]);
    expect(await world.enricher().tick()).toBe(true);
    const [row] = await world.rows();
    expect(row).toMatchObject({
      id: "abc.1",
      state: "enriched",
      api: "logs",
      status: "delivered",
      error: null,
      attempts: 0,
    });
    expect(row?.subject).not.toBeNull();
    expect(row?.sender).toContain("@");
    expect(world.api.calls).toMatchObject({ logs: 1, messages: 0, log: 0 });
  });

  it("adds what the Messages API knows of a message, with its counts", async () => {
    await world.file([{ id: "abc.1", at: 0, lastAt: 60 }]);
    await world.enricher({ api: "messages" }).tick();
    expect(await world.rows()).toMatchObject([
      { state: "enriched", api: "messages", status: "delivered", opens: 0, clicks: 0 },
    ]);
  });

  it.each(["logs", "messages"] as const)("asks the %s API once for 900 messages", async (api) => {
    await world.file(mails(900, (index) => index * 7));
    await world.run(world.enricher({ api }), 5);
    expect(await world.states()).toEqual({ enriched: 900 });
    expect(world.calls()).toBe(1);
  });

  it.each([
    ["logs", "three minutes", (index: number) => index / 111],
    ["messages", "a day", (index: number) => index * 4.3],
  ] as const)(
    "enriches 20,000 messages of the %s API over %s with at most 24 calls, none of them refused",
    async (api, _, spread) => {
      await world.file(mails(20_000, (index) => Math.floor(spread(index))));
      await world.run(world.enricher({ api }), HOUR, { until: world.isSettled });
      expect(await world.states()).toEqual({ enriched: 20_000 });
      expect(world.calls()).toBeLessThanOrEqual(24);
      expect(world.calls()).toBeGreaterThanOrEqual(20);
      expect(world.api.calls.refused).toBe(0);
    },
  );

  it.each([
    ["logs", 7],
    ["messages", 4],
  ] as const)(
    "enriches 2,000 messages of a single second in the %s API with at most %i calls",
    async (api, callsMax) => {
      await world.file(mails(2000, () => 0));
      await world.run(world.enricher({ api }), HOUR, { until: world.isSettled });
      expect(await world.states()).toEqual({ enriched: 2000 });
      expect(world.calls()).toBeLessThanOrEqual(callsMax);
    },
  );

  it("splits a window that comes back full because SendGrid holds other mail too", async () => {
    await world.file(mails(3000, (index) => index, { unknownTo: "ledger" }));
    await world.file(mails(100, (index) => index * 30));
    await world.run(world.enricher(), HOUR, { until: world.isSettled });
    expect(await world.states()).toEqual({ enriched: 100 });
    expect(world.calls()).toBeLessThanOrEqual(8);
  });

  it("writes to waiting messages of the answer that were not planned for", async () => {
    await world.file(mails(10, (index) => index));
    await world.db.pool.query(
      "UPDATE enrichments SET next_attempt_at = $1 WHERE message IN (SELECT id FROM messages ORDER BY first_event_at OFFSET 3 LIMIT 4)",
      [new Date(world.now().getTime() + 80_000)],
    );
    world.advance(ENRICH_GATHER_SECONDS);
    await world.enricher().tick();
    expect(await world.states()).toEqual({ enriched: 10 });
    expect(world.calls()).toBe(1);
  });

  it("never asks about what is not committed", async () => {
    const other = await world.db.pool.connect();
    try {
      await other.query("BEGIN");
      await other.query(
        "INSERT INTO messages (id, message_id, source) OVERRIDING SYSTEM VALUE VALUES (1000000, 'abc.1', 1)",
      );
      await other.query("INSERT INTO enrichments (message, next_attempt_at) VALUES (1000000, $1)", [new Date(0)]);
      expect(await world.enricher().tick()).toBe(false);
      await other.query("ROLLBACK");
    } finally {
      other.release();
    }
    expect(await world.enricher().tick()).toBe(false);
    expect(world.calls()).toBe(0);
  });

  it("does not ask before a message is due", async () => {
    await world.file([{ id: "abc.1", at: 0 }]);
    await world.db.pool.query("UPDATE enrichments SET next_attempt_at = $1", [
      new Date(world.now().getTime() + 90_000),
    ]);
    const enricher = world.enricher();
    await world.run(enricher, 90);
    expect(world.calls()).toBe(0);
    await world.run(enricher, 5);
    expect(world.calls()).toBe(1);
  });

  it("lets a trickle of messages share calls: about two a minute", async () => {
    const enricher = world.enricher();
    for (const mail of mails(300, (second) => second)) {
      await world.file([mail]);
      await world.db.pool.query(
        `UPDATE enrichments SET next_attempt_at = $1 FROM messages WHERE messages.id = message AND message_id = $2`,
        [world.now(), mail.id],
      );
      await world.run(enricher, 1);
    }
    await world.run(enricher, 2 * ENRICH_GATHER_SECONDS);
    expect(await world.states()).toEqual({ enriched: 300 });
    expect(world.calls()).toBeLessThanOrEqual(12);
  });

  it("finds at a retry what SendGrid shows late", async () => {
    await world.reset({ visibleAfterSeconds: 45 });
    await world.file(mails(20, (index) => index));
    const enricher = world.enricher();
    await world.run(enricher, 5);
    expect(await world.states()).toEqual({ pending: 20 });
    expect(await world.rows()).toMatchObject(Array.from({ length: 20 }, () => ({ attempts: 1 })));
    await world.run(enricher, 100, { until: world.isSettled });
    expect(await world.states()).toEqual({ enriched: 20 });
    expect(world.calls()).toBe(3);
  });

  it("gives up on a message after three retries, 30 seconds apart, and says why", async () => {
    await world.file(mails(20, (index) => index, { unknownTo: "sendgrid" }));
    const enricher = world.enricher();
    await world.run(enricher, 3 * ENRICH_RETRY_SECONDS - 5);
    expect(await world.states()).toEqual({ pending: 20 });
    expect(world.calls()).toBe(3);
    await world.run(enricher, 20);
    expect(await world.states()).toEqual({ failed: 20 });
    const [row] = await world.rows();
    expect(row).toMatchObject({ attempts: 4, error: "not found in Email Logs" });
    // The last try asks for one of them by its id first.
    expect(world.calls()).toBe(5);
    await world.run(enricher, 300);
    expect(world.calls()).toBe(5);
  });

  it("finds scheduled mail, which Email Logs lists hours before its first event, by asking for one of it", async () => {
    const scheduled = mails(2500, (index) => 7 * HOUR + Math.floor(index / 50));
    await world.file(scheduled.map((mail) => ({ ...mail, unknownTo: "sendgrid" as const })));
    // SendGrid took it in one go, before the ledger heard of it.
    for (const { id } of scheduled) {
      const timestamp = Date.UTC(2026, 2, 1, 9) / 1000 + (Number(/1-(\d+)-7/.exec(id)?.[1]) % 40);
      world.api.record({ event: "processed", timestamp, sg_message_id: id, email: "a@example.com", sg_event_id: id });
    }
    await world.run(world.enricher(), HOUR, { until: world.isSettled });
    expect(await world.states()).toEqual({ enriched: 2500 });
    expect(world.calls()).toBeLessThanOrEqual(30);
  });

  it("leaves simulated messages alone unless it is told to ask about them", async () => {
    await world.file([{ id: "sim.1", at: 0, simulated: true }]);
    await world.run(world.enricher(), 5);
    expect(await world.states()).toEqual({});
    await world.file([{ id: "sim.2", at: 0, simulated: true }]);
    await world.run(world.enricher({ enrichSimulated: true }), 5);
    expect(await world.states()).toEqual({ enriched: 1 });
  });

  it("asks nothing without a key, or when it is off", async () => {
    await world.file([{ id: "abc.1", at: 0 }]);
    expect(await world.enricher({ apiKey: undefined }).tick()).toBe(false);
    expect(await world.enricher({ api: "off" }).tick()).toBe(false);
    expect(world.calls()).toBe(0);
  });

  it("shares the work and the budget among instances without asking twice", async () => {
    await world.file(mails(4500, (index) => index));
    const instances = [world.enricher(), world.enricher(), world.enricher()];
    for (let second = 0; second < 300 && !(await world.isSettled()); second += 1) {
      await Promise.all(instances.map((instance) => instance.tick()));
      world.advance(1);
    }
    expect(await world.states()).toEqual({ enriched: 4500 });
    expect(world.calls()).toBeLessThanOrEqual(6);
    expect(world.api.calls.refused).toBe(0);
  });

  it("runs by itself once it is started, and stops", async () => {
    await world.file([{ id: "abc.1", at: 0 }]);
    const enricher = world.enricher();
    enricher.start();
    await expect.poll(() => world.isSettled(), { timeout: 30_000 }).toBe(true);
    await enricher.stop();
    expect(await enricher.tick()).toBe(false);
  });
});
