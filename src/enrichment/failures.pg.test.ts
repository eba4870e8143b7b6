import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { enrichmentWorld, mails, type EnrichmentWorld } from "../../test/enrichment-world.ts";
import { API_FORBIDDEN_SECONDS, ENRICH_LEASE_SECONDS } from "../limits.ts";
import type { Pool } from "../postgres/pool.ts";
import { API_FAULTS } from "../simulator/api-context.ts";

const HOUR = 3_600;
/** For calls that are never answered. */
const HANGING_MS = 50;

/** The pool of a process that dies before it can write what an answer held. */
function dyingPool(pool: Pool): Pool {
  return replaceMethods(pool, {
    connect: async () => {
      const connection = await pool.connect();
      return replaceMethods(connection, {
        query: async (text: string, values: unknown[]) => {
          if (text.includes("jsonb_to_recordset")) throw new Error("the process died here");
          return connection.query(text, values);
        },
      });
    },
  });
}

function replaceMethods<T extends object>(whole: T, methods: Record<string, (...values: never[]) => unknown>): T {
  return new Proxy(whole, {
    get(target, name): unknown {
      const value: unknown = methods[String(name)] ?? Reflect.get(target, name, target);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
}

describe("enrichment when things go wrong", () => {
  let world: EnrichmentWorld;

  beforeAll(async () => {
    world = await enrichmentWorld();
  });

  beforeEach(async () => {
    await world.reset();
  });

  afterEach(async () => {
    await endProxies();
  });

  afterAll(async () => {
    await world.end();
  });

  async function apiRow(name: string): Promise<Record<string, unknown> | undefined> {
    const found = await world.db.pool.query<Record<string, unknown>>("SELECT * FROM provider_apis WHERE name = $1", [
      name,
    ]);
    return found.rows[0];
  }

  it("waits for the reset that a 429 names, and counts no try", async () => {
    await world.file(mails(10, (index) => index));
    world.api.fault("429");
    const enricher = world.enricher();
    await world.run(enricher, 30);
    expect(world.api.calls.refused).toBe(1);
    expect(await world.rows()).toMatchObject(Array.from({ length: 10 }, () => ({ state: "pending", attempts: 0 })));
    world.api.fault(undefined);
    await world.run(enricher, 28);
    expect(world.calls()).toBe(0);
    await world.run(enricher, 10);
    expect(await world.states()).toEqual({ enriched: 10 });
    expect(await apiRow("logs")).toMatchObject({ limited: 1, calls: 2 });
  });

  it("fails nothing however long the API answers 429", async () => {
    await world.file(mails(10, (index) => index));
    world.api.fault("429");
    const enricher = world.enricher();
    await world.run(enricher, HOUR, { stepSeconds: 10 });
    expect(await world.states()).toEqual({ pending: 10 });
    expect(world.api.calls.refused).toBeLessThanOrEqual(61);
  });

  it("stays within the real limit when another program uses the key too", async () => {
    await world.file(mails(3000, (index) => index));
    const other = world.enricher({ apiUrl: world.api.url });
    for (let call = 0; call < 4; call += 1)
      await fetch(`${world.api.url}/v3/logs/none`, { headers: { authorization: `Bearer ${world.api.apiKey}` } });
    await world.run(other, 300, { until: world.isSettled });
    expect(await world.states()).toEqual({ enriched: 3000 });
    expect(world.api.calls.refused).toBeLessThanOrEqual(1);
  });

  it("asks the Messages API when the account has no Email Logs", async () => {
    await world.reset({ logsAllowed: false });
    await world.file(mails(10, (index) => index));
    await world.run(world.enricher(), 5);
    expect(await world.states()).toEqual({ enriched: 10 });
    expect(await world.rows()).toMatchObject(Array.from({ length: 10 }, () => ({ api: "messages", attempts: 0 })));
    expect(await apiRow("logs")).toMatchObject({ state: "forbidden", reason: "HTTP 403: access forbidden", calls: 1 });
    expect(await apiRow("messages")).toMatchObject({ state: "available", calls: 1 });
  });

  it("asks each API once and then none when both are forbidden, and fails nothing", async () => {
    await world.reset({ logsAllowed: false, messagesAllowed: false });
    await world.file(mails(10, (index) => index));
    await world.run(world.enricher(), HOUR, { stepSeconds: 10 });
    expect(await world.states()).toEqual({ pending: 10 });
    expect(await apiRow("logs")).toMatchObject({ state: "forbidden", calls: 1 });
    expect(await apiRow("messages")).toMatchObject({ state: "forbidden", calls: 1 });
  });

  it("heals by itself a day later when the add-on was bought", async () => {
    const enricher = world.enricher();
    await enricher.tick();
    await world.db.pool.query(
      "INSERT INTO provider_apis (name, state, reason, refused_at) VALUES ('logs', 'forbidden', '', $1), ('messages', 'forbidden', '', $1)",
      [world.now()],
    );
    await world.file(mails(10, (index) => index));
    await world.run(enricher, API_FORBIDDEN_SECONDS, { stepSeconds: 3600 });
    expect(world.calls()).toBe(0);
    await world.run(enricher, 5);
    expect(await world.states()).toEqual({ enriched: 10 });
    expect(await apiRow("logs")).toMatchObject({ state: "available", reason: null });
  });

  it("heals with a new start when the key was put right", async () => {
    await world.file(mails(10, (index) => index));
    await world.run(world.enricher({ apiKey: "a wrong key" }), 60);
    expect(await world.states()).toEqual({ pending: 10 });
    expect(await apiRow("logs")).toMatchObject({ state: "forbidden", calls: 1 });
    await world.run(world.enricher(), 5);
    expect(await world.states()).toEqual({ enriched: 10 });
  });

  it("says that the API is not there when its list is not found", async () => {
    await world.file([{ id: "abc.1", at: 0 }]);
    await world.run(world.enricher({ api: "messages", apiUrl: `${world.api.url}/elsewhere` }), 5);
    expect(await apiRow("messages")).toMatchObject({
      state: "forbidden",
      reason: expect.stringContaining("404") as unknown,
    });
  });

  it.each(API_FAULTS.filter((fault) => fault !== "429" && fault !== "hang"))(
    "keeps everything pending through an hour in which the API answers %s, and catches up afterwards",
    async (fault) => {
      await world.file(mails(2000, (index) => index));
      world.api.fault(fault);
      const enricher = world.enricher();
      await world.run(enricher, HOUR, { stepSeconds: 10 });
      expect(await world.states()).toEqual({ pending: 2000 });
      expect(world.calls()).toBeLessThanOrEqual(15);
      const row = await apiRow("logs");
      expect(row).toMatchObject({ state: "available", reason: expect.any(String) as unknown });
      world.api.fault(undefined);
      await world.run(enricher, HOUR, { until: world.isSettled });
      expect(await world.states()).toEqual({ enriched: 2000 });
      expect(await apiRow("logs")).toMatchObject({ reason: null, failures: 0 });
    },
  );

  it("does not hang with an API that hangs", async () => {
    await world.file(mails(10, (index) => index));
    world.api.fault("hang");
    await world.run(world.enricher({ timeoutMs: HANGING_MS }), 120);
    expect(await world.states()).toEqual({ pending: 10 });
    expect(await apiRow("logs")).toMatchObject({ reason: "no answer in time" });
  });

  it("gives claimed messages back when it is stopped in the middle of a call", async () => {
    await world.file(mails(10, (index) => index));
    world.api.fault("hang");
    const enricher = world.enricher();
    const tick = enricher.tick();
    await expect.poll(() => world.calls(), { timeout: 30_000 }).toBe(1);
    await enricher.stop();
    await tick;
    expect(await apiRow("logs")).toMatchObject({ failures: 0, reason: null });
    world.api.fault(undefined);
    await world.run(world.enricher(), 5);
    expect(await world.states()).toEqual({ enriched: 10 });
  });

  it("asks again for what a process that died had asked but not written", async () => {
    await world.file(mails(10, (index) => index));
    const dying = world.enricher({ pool: dyingPool(world.db.pool) });
    await expect(dying.tick()).rejects.toThrow("the process died here");
    const next = world.enricher();
    await world.run(next, ENRICH_LEASE_SECONDS - 5);
    expect(await world.states()).toEqual({ pending: 10 });
    expect(world.calls()).toBe(1);
    await world.run(next, 20);
    expect(await world.states()).toEqual({ enriched: 10 });
    expect(world.calls()).toBe(2);
  });

  it("isolates a question that the API cannot answer while it answers others", async () => {
    await world.file(mails(64, (index) => index * 60));
    const enricher = world.enricher({ apiUrl: await poisonedApi(world, iso(20 * 60 - 1)) });
    await world.run(enricher, 2 * HOUR, { stepSeconds: 10 });
    expect((await world.states())["enriched"]).toBe(63);
  });

  it("asks about other messages while the API has no answer for some", async () => {
    await world.file(mails(2, (index) => index));
    const enricher = world.enricher({ apiUrl: await poisonedApi(world, iso(0)) });
    await world.run(enricher, 120);
    await world.file(mails(20, (index) => 5000 + index));
    await world.run(enricher, 2 * HOUR, { stepSeconds: 10 });
    expect((await world.states())["enriched"]).toBe(20 + 1);
  });

  it("falls back to whole questions when the API refuses narrowed ones", async () => {
    await world.file(mails(1500, () => 0));
    await world.run(world.enricher({ api: "messages", apiUrl: await refusingApi(world, "LIKE") }), 300, {
      until: world.isSettled,
    });
    expect(await world.states()).toEqual({ enriched: 1000, failed: 500 });
    expect(await apiRow("messages")).toMatchObject({ state: "available", failures: 0 });
  });

  it("lists all it can of a moment that is too full for Email Logs, and says why the rest has failed", async () => {
    await world.file(mails(1500, () => 0, { category: "invoice" }));
    await world.run(world.enricher(), HOUR, { until: world.isSettled });
    const states = await world.states();
    expect(states).toEqual({ enriched: 1000, failed: 500 });
    const failed = (await world.rows()).find(({ state }) => state === "failed");
    expect(failed?.error).toContain("ask for this one by itself");
  });
});

function iso(seconds: number): string {
  return new Date(Date.UTC(2026, 2, 1, 9) + seconds * 1000).toISOString().slice(0, 19);
}

/** Stands before the double and answers 500 to every question whose time range holds this moment. */
async function poisonedApi(world: EnrichmentWorld, moment: string): Promise<string> {
  return standBefore(world, (question) => {
    const [from = "", to = ""] = [...question.matchAll(/TIMESTAMP \\"([^Z]+)Z/g)].map((found) => found[1]);
    return from <= moment && moment < to ? 500 : undefined;
  });
}

/** Stands before the double and refuses every question with this word. */
async function refusingApi(world: EnrichmentWorld, word: string): Promise<string> {
  return standBefore(world, (question) => (question.includes(word) ? 400 : undefined));
}

const proxies: Server[] = [];

/** `refuse` gives the status to answer a question with instead of passing it on. */
async function standBefore(world: EnrichmentWorld, refuse: (question: string) => number | undefined): Promise<string> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const body = Buffer.concat(chunks).toString();
      const status = refuse(decodeURIComponent(request.url ?? "") + body);
      if (status !== undefined) {
        response.writeHead(status).end("{}");
        return;
      }
      const { method = "GET" } = request;
      const headers = { authorization: String(request.headers.authorization), "content-type": "application/json" };
      const passedOn = { method, headers, ...(method === "POST" ? { body } : {}) };
      void fetch(`${world.api.url}${request.url}`, passedOn).then(async (answer) =>
        response.writeHead(answer.status).end(await answer.text()),
      );
    });
  });
  proxies.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function endProxies(): Promise<void> {
  for (const server of proxies.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}
