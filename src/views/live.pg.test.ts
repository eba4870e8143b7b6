import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { testDatabase, type TestDatabase } from "../../test/database.ts";
import { seedEvent, seedMessage, seedSource, seedTally } from "../../test/seed.ts";
import { openSse, type SseClient } from "../../test/sse-client.ts";
import { viewsApp, type ViewsApp } from "../../test/views-app.ts";
import type { LiveEvents } from "./contract-live.ts";
import type { Balance } from "./contract.ts";
import { createToken, revokeToken } from "./tokens.ts";

let db: TestDatabase;
let views: ViewsApp;
let url: string;
let source = 0;
let simulation = 0;
let events = 0;
/** Sees everything that is filed. */
let witness: SseClient;
const open: SseClient[] = [];

beforeAll(async () => {
  db = await testDatabase();
  source = await seedSource(db.pool, "default");
  simulation = await seedSource(db.pool, "simulation", true);
  await seedTally(db.pool, { hour: new Date("2026-03-01T09:00:00Z"), source, receipts: 1 });
  views = await viewsApp(db);
  url = `${await views.listen()}/api/live`;
  await listening();
  witness = await live("?simulated=all");
});
afterAll(async () => {
  for (const client of open) client.close();
  await views.close();
  await db.drop();
});

async function live(
  query = "",
  headers: Record<string, string> = {},
  token = views.tokens.support,
): Promise<SseClient> {
  const client = await openSse(`${url}${query}`, { authorization: `Bearer ${token}`, ...headers });
  open.push(client);
  return client;
}

/** Waits until a server process of this database has run LISTEN, and gives its number. */
async function listening(not = 0): Promise<number> {
  for (;;) {
    const found = await db.pool.query<{ pid: number }>(
      `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> $1
         AND application_name = 'holdfast listen holdfast_filed' AND query LIKE 'LISTEN%' AND state = 'idle'`,
      [not],
    );
    const [row] = found.rows;
    if (row !== undefined) return row.pid;
    await db.pool.query("SELECT pg_sleep(0.02)");
  }
}

/**
 * Files one event as the projector does, announces it, and waits until the pages that are open have it: whoever comes later would
 * else be told of it once more.
 */
async function file(
  options: { source?: number; skipped?: number; detail?: Record<string, unknown> } = {},
): Promise<string> {
  events += 1;
  const eventId = `event-${events}`;
  const of = options.source ?? source;
  const message = await seedMessage(db.pool, { source: of, messageId: `message-${events}`, recipient: "a@b.example" });
  await seedEvent(db.pool, {
    message,
    source: of,
    eventId,
    type: "delivered",
    recipient: "a@b.example",
    detail: options.detail ?? { response: "250 ok" },
  });
  await announce({ filed: 1 + (options.skipped ?? 0), events: [[message, eventId]] });
  while (!(await idsOf(witness)).includes(eventId));
  return eventId;
}

async function announce(payload: unknown): Promise<void> {
  await db.pool.query("SELECT pg_notify('holdfast_filed', $1)", [
    typeof payload === "string" ? payload : JSON.stringify(payload),
  ]);
}

async function nextEvents(client: SseClient): Promise<{ id: string | undefined; data: LiveEvents }> {
  const { id, data } = await client.next("events");
  return { id, data: data as LiveEvents };
}

async function nextBalance(client: SseClient): Promise<Balance> {
  return (await client.next("balance")).data as Balance;
}

async function idsOf(client: SseClient): Promise<string[]> {
  return (await nextEvents(client)).data.events.map(({ eventId }) => eventId);
}

describe("the live stream", () => {
  it("begins with balance, status and the latest events", async () => {
    const eventId = await file();
    const client = await live();
    expect(client.response.status).toBe(200);
    expect(client.response.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
    expect(client.response.headers.get("cache-control")).toContain("no-store");
    const { data, id } = await nextEvents(client);
    expect(data).toMatchObject({ reset: true, skipped: 0 });
    expect(data.events.at(-1)).toEqual({
      message: `message-${events}`,
      eventId,
      type: "delivered",
      occurredAt: "2026-03-01T09:00:00.000Z",
      recipient: "a@b.example",
      subject: null,
      source: "default",
      simulated: false,
      twin: false,
      detail: { response: "250 ok" },
    });
    expect(id).toMatch(/^test-\d+$/);
    const second = await live();
    expect((await nextBalance(second)).events.lost).toBe(0);
    expect((await second.next("status")).data).toMatchObject({ instance: "test" });
  });

  it("tells events as they are filed, and how many it leaves out", async () => {
    const client = await live();
    await client.next("events");
    const eventId = await file({ skipped: 40 });
    const { data } = await nextEvents(client);
    expect(data).toMatchObject({ reset: false, skipped: 40, events: [{ eventId }] });
  });

  it("sends the balance again when it changes", async () => {
    const client = await live("?from=2026-03-01T09:00:00Z");
    expect((await nextBalance(client)).events.accepted).toBe(0);
    await db.pool.query("UPDATE tallies SET accepted = 7, stored = 6");
    expect((await nextBalance(client)).events).toMatchObject({ accepted: 7, stored: 6, lost: 1 });
  });

  it("gives a page that comes back what it missed, and only that", async () => {
    const first = await live();
    await first.next("events");
    await file();
    const { id } = await nextEvents(first);
    first.close();
    const missed = [await file(), await file()];
    const second = await live("", { "last-event-id": id ?? "" });
    const got: string[] = [];
    while (got.length < missed.length) {
      const { data } = await nextEvents(second);
      expect(data.reset).toBe(false);
      got.push(...data.events.map(({ eventId }) => eventId));
    }
    expect(got).toEqual(missed);
  });

  it.each(["other-1", "test-99999999", "test-", "test-1e1", "x".repeat(5000)])(
    "starts a page afresh whose Last-Event-ID %s it does not know",
    async (id) => {
      const eventId = await file();
      const { data } = await nextEvents(await live("", { "last-event-id": id }));
      expect(data.reset).toBe(true);
      expect(data.events.map((event) => event.eventId)).toContain(eventId);
    },
  );

  it("shows real traffic only, unless the simulated is asked for", async () => {
    const [real, simulated] = [await live(), await live("?simulated=true")];
    const both = await live("?simulated=all");
    await Promise.all([real.next("events"), simulated.next("events"), both.next("events")]);
    const fake = await file({ source: simulation });
    const true_ = await file();
    expect(await idsOf(real)).toEqual([true_]);
    expect(await idsOf(simulated)).toEqual([fake]);
    expect(await idsOf(both)).toContain(fake);
  });

  it("leaves a large detail out", async () => {
    const client = await live();
    await client.next("events");
    await file({ detail: { reason: "x".repeat(3000) } });
    expect((await nextEvents(client)).data.events[0]?.detail).toEqual({});
  });

  it("passes over announcements that it cannot read, and events that are gone", async () => {
    const client = await live();
    await client.next("events");
    for (const wrong of ["", "{", "null", "[]", '{"filed":"x","events":[]}', '{"filed":1,"events":[[1]]}'])
      await announce(wrong);
    await announce({ filed: 1, events: [[999_999, "gone"]] });
    const eventId = await file();
    expect(await idsOf(client)).toEqual([eventId]);
  });

  it("starts all pages afresh when announcements may have been missed", async () => {
    const client = await live();
    await client.next("events");
    const pid = await listening();
    await db.pool.query("SELECT pg_terminate_backend($1)", [pid]);
    await listening(pid);
    expect((await nextEvents(client)).data.reset).toBe(true);
    const eventId = await file();
    expect(await idsOf(client)).toEqual([eventId]);
  });

  it("ends when its token is revoked", async () => {
    const made = await createToken(db.pool, { name: "leaving", role: "support" });
    if (made.outcome !== "created") throw new Error("not created");
    const client = await live("", {}, made.token);
    await client.next("events");
    await revokeToken(db.pool, made.id);
    expect((await client.ended()).at(-1)).toBe("end");
  });
});

describe("closing the server", () => {
  it("says goodbye to readers, does not wait for one that stalls, and leaves no connection behind", async () => {
    const other = await viewsApp(db, { tokens: views.tokens, instance: "other" });
    const address = new URL(await other.listen());
    const client = await openSse(`${address.href}api/live`, { authorization: `Bearer ${views.tokens.support}` });
    await client.next("status");
    const stalled = await stalledReader(Number(address.port));
    await other.close();
    expect((await client.ended()).at(-1)).toBe("end");
    stalled.destroy();
  });

  async function stalledReader(port: number): Promise<Socket> {
    const socket = connect(port, "127.0.0.1");
    await once(socket, "connect");
    socket.write(`GET /api/live HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${views.tokens.support}\r\n\r\n`);
    await once(socket, "readable");
    // Nothing is ever read from it.
    return socket;
  }
});
