import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { enrichmentWorld, mails, type EnrichmentWorld } from "../../test/enrichment-world.ts";
import { ENRICH_ORDERS_SINGLY_MAX } from "../limits.ts";

describe("a person's order", () => {
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

  async function stateOf(id: string): Promise<string | undefined> {
    return (await world.rows()).find((row) => row.id === id)?.state;
  }

  async function setFailed(): Promise<void> {
    await world.db.pool.query(
      "UPDATE enrichments SET state = 'failed', attempts = 4, error = 'not found', asked_at = $1",
      [new Date(world.now().getTime() - 86_400_000)],
    );
  }

  it("goes before everything else that waits", async () => {
    await world.file(mails(950, (index) => index));
    await world.file([{ id: "open.1", at: 5000, category: "invoice" }]);
    await world.order("open.1");
    await world.enricher().tick();
    expect(world.api.calls).toMatchObject({ log: 1, logs: 0 });
    expect(await stateOf("open.1")).toBe("enriched");
    expect(await world.orders()).toBe(0);
  });

  it("brings what a list does not hold: the template", async () => {
    await world.file([{ id: "open.1", at: 0, category: "invoice" }]);
    await world.order("open.1");
    await world.enricher({ api: "messages" }).tick();
    expect(await world.rows()).toMatchObject([
      { state: "enriched", api: "messages", template: expect.any(String) as unknown, opens: 0 },
    ]);
  });

  it("asks again for a message that had failed", async () => {
    await world.file([{ id: "open.1", at: 0 }]);
    await setFailed();
    await world.run(world.enricher(), 5);
    expect(world.calls()).toBe(0);
    await world.order("open.1");
    await world.run(world.enricher(), 5);
    expect(await world.rows()).toMatchObject([{ state: "enriched", error: null }]);
  });

  it("leaves a failed message failed when SendGrid still does not know it, and is done", async () => {
    await world.file([{ id: "open.1", at: 0, unknownTo: "sendgrid" }]);
    await setFailed();
    await world.order("open.1");
    await world.run(world.enricher(), 5);
    expect(await world.rows()).toMatchObject([{ state: "failed", error: "SendGrid does not know this message" }]);
    expect(await world.orders()).toBe(0);
    expect(world.calls()).toBe(1);
  });

  it("does not use up a try of a message that SendGrid does not show yet", async () => {
    await world.reset({ visibleAfterSeconds: 60 });
    await world.file([{ id: "open.1", at: 0 }]);
    await world.db.pool.query("UPDATE enrichments SET next_attempt_at = $1", [
      new Date(world.now().getTime() + 90_000),
    ]);
    await world.order("open.1");
    const enricher = world.enricher();
    await world.run(enricher, 5);
    expect(await world.rows()).toMatchObject([{ state: "pending", attempts: 0 }]);
    await world.run(enricher, 120);
    expect(await world.rows()).toMatchObject([{ state: "enriched", attempts: 0, error: null }]);
  });

  it("costs no call when there is nothing to ask, or it has just been asked", async () => {
    await world.file([
      { id: "known.1", at: 0 },
      { id: "sim.1", at: 0, simulated: true },
    ]);
    const enricher = world.enricher();
    await world.run(enricher, 5);
    const calls = world.calls();
    await world.order("known.1", "sim.1");
    await world.db.pool.query("INSERT INTO enrichment_orders (message) VALUES (999999)");
    await world.run(enricher, 5);
    expect(world.calls()).toBe(calls);
    expect(await world.orders()).toBe(0);
  });

  it("for many failed messages is answered by windows, not one by one", async () => {
    const mail = mails(800, (index) => index);
    await world.file(mail);
    await setFailed();
    await world.order(...mail.map(({ id }) => id));
    await world.run(world.enricher(), 600, {
      until: async () => (await world.isSettled()) && (await world.orders()) === 0,
    });
    expect(await world.states()).toEqual({ enriched: 800 });
    expect(world.calls()).toBeLessThanOrEqual(ENRICH_ORDERS_SINGLY_MAX + 2);
  });

  it("cannot stop the windows by coming again and again", async () => {
    await world.file(mails(1800, (index) => index));
    const clicked = mails(500, (index) => 10_000 + index);
    await world.file(clicked);
    await world.db.pool.query(
      "UPDATE enrichments SET next_attempt_at = $1 FROM messages WHERE messages.id = message AND first_event_at > $2",
      [new Date(world.now().getTime() + 86_400_000), new Date(Date.UTC(2026, 2, 1, 11))],
    );
    const enricher = world.enricher();
    for (let second = 0; second < 240; second += 1) {
      await world.order(clicked[second]?.id ?? "");
      await world.run(enricher, 1);
    }
    const windows = await world.db.pool.query(
      "SELECT FROM enrichments WHERE state = 'enriched' AND template IS NULL LIMIT 1",
    );
    expect(windows.rowCount).toBe(1);
    expect(world.api.calls.logs).toBeGreaterThanOrEqual(2);
    expect(world.api.calls.log).toBeGreaterThanOrEqual(10);
  });

  it("gives way after some calls without an answer", async () => {
    await world.file([{ id: "open.1", at: 0 }]);
    await setFailed();
    await world.order("open.1");
    world.api.fault("500");
    await world.run(world.enricher(), 600);
    expect(await world.orders()).toBe(0);
    expect(await stateOf("open.1")).toBe("failed");
  });

  it("waits as a pending message while no API may be asked", async () => {
    await world.reset({ logsAllowed: false, messagesAllowed: false });
    await world.file([{ id: "open.1", at: 0 }]);
    await setFailed();
    await world.order("open.1");
    await world.run(world.enricher(), 30);
    expect(await world.orders()).toBe(0);
    expect(await world.rows()).toMatchObject([{ state: "pending", attempts: 0 }]);
  });
});
