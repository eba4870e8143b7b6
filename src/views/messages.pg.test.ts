import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { testDatabase, type TestDatabase } from "../../test/database.ts";
import { seedEnrichment, seedEvent, seedMessage, seedReceipt, seedSource, type SeedMessage } from "../../test/seed.ts";
import { viewsApp, type ViewsApp } from "../../test/views-app.ts";
import { SEARCH_HITS_MAX } from "../limits.ts";
import { MESSAGE_KINDS, type MessageList } from "./contract.ts";

let db: TestDatabase;
let views: ViewsApp;
let source = 0;
let simulation = 0;

beforeAll(async () => {
  db = await testDatabase();
  views = await viewsApp(db, { config: { SENDGRID_API_KEY: "SG.test" } });
  source = await seedSource(db.pool, "default");
  simulation = await seedSource(db.pool, "simulation", true);
});
afterAll(async () => {
  await views.close();
  await db.drop();
});
beforeEach(async () => {
  await db.pool.query(
    "TRUNCATE messages, events, receipts, inbox, enrichments, enrichment_orders, arg_keys, tallies, access_log",
  );
  await db.pool.query("INSERT INTO tallies (hour, source, receipts) VALUES ('2026-03-01T09:00:00Z', $1, 1)", [source]);
});

async function seed(messageId: string, message: Partial<SeedMessage> = {}): Promise<number> {
  return seedMessage(db.pool, { source, messageId, ...message });
}

async function list(query: string): Promise<MessageList> {
  const answer = await views.get(`/api/messages?${query}`);
  expect(answer.statusCode, answer.body).toBe(200);
  return answer.json<MessageList>();
}

async function idsFor(query: string): Promise<string[]> {
  return (await list(query)).messages.map(({ id }) => id);
}

describe("searching messages by one field", () => {
  it("finds an address by its beginning, in any case, the newest first", async () => {
    await seed("m1", { recipient: "Customer@Example.com" });
    await seed("m2", { recipient: "customer@example.com" });
    await seed("m3", { recipient: "custom@example.com" });
    await seed("m4", { recipient: "other@example.com" });
    expect(await idsFor("q=customer%40example.com")).toEqual(["m2", "m1"]);
    expect(await idsFor("q=CUSTOMER")).toEqual(["m2", "m1"]);
    expect(await idsFor("q=custom")).toEqual(["m3", "m2", "m1"]);
  });

  it("finds all addresses of a domain, and takes % and _ as they are", async () => {
    await seed("m1", { recipient: "a@shop.example" });
    await seed("m2", { recipient: "b@SHOP.example" });
    await seed("m3", { recipient: "c@shopXexample" });
    expect(await idsFor("q=%40shop.example")).toEqual(["m2", "m1"]);
    expect(await idsFor("q=%40shop_example")).toEqual([]);
    expect(await idsFor("q=%40%25")).toEqual([]);
  });

  it("finds a message by its id and a send by its X-Message-Id", async () => {
    await seed("Ab-1_xyz.recvd-7f-1.0");
    await seed("Ab-1_xyz.recvd-7f-1.1");
    await seed("ab-1_xyz.recvd-7f-1.0");
    expect(await idsFor("q=Ab-1_xyz.recvd-7f-1.0")).toEqual(["Ab-1_xyz.recvd-7f-1.0"]);
    expect(await idsFor("q=Ab-1_xyz")).toEqual(["Ab-1_xyz.recvd-7f-1.1", "Ab-1_xyz.recvd-7f-1.0"]);
  });

  it("finds an order number without being told the key, and with it", async () => {
    await seed("m1", { args: { order_id: "4711", shop: "nord" } });
    await seed("m2", { args: { customer: "4711" } });
    await seed("m3", { args: { order_id: "47110" } });
    expect(await idsFor("q=4711")).toEqual(["m2", "m1"]);
    expect(await idsFor("q=order_id%3A4711")).toEqual(["m1"]);
    expect(await idsFor("q=order_id%3A%204711")).toEqual(["m1"]);
    expect(await idsFor("q=order_id%3A47")).toEqual([]);
  });

  it("finds a value that itself holds a colon", async () => {
    await seed("m1", { args: { link: "https://shop.example/4711" } });
    expect(await idsFor("q=https%3A%2F%2Fshop.example%2F4711")).toEqual(["m1"]);
  });

  it("finds words of the subject", async () => {
    const message = await seed("m1");
    await seedEnrichment(db.pool, message, { subject: "Your invoice 2026-17 is ready", state: "enriched" });
    expect(await idsFor("q=invoice+ready")).toEqual(["m1"]);
    expect(await idsFor("q=invoice+overdue")).toEqual([]);
    expect((await list("q=invoice")).messages[0]?.subject).toBe("Your invoice 2026-17 is ready");
  });

  it("shows the source's nameless message when one of its events is about the address, and else never", async () => {
    const nameless = await seedMessage(db.pool, { source, messageId: null });
    await seedEvent(db.pool, {
      message: nameless,
      source,
      eventId: "e1",
      type: "bounce",
      recipient: "Late@example.com",
      nameless: true,
    });
    expect(await idsFor("q=late%40example.com")).toEqual(["nameless:default"]);
    expect(await idsFor("")).toEqual([]);
  });

  it("gives each message once, however many ways lead to it", async () => {
    const message = await seed("4711.x", { recipient: "4711@example.com", args: { order_id: "4711", other: "4711" } });
    await seedEnrichment(db.pool, message, { subject: "Order 4711", state: "enriched" });
    expect(await idsFor("q=4711")).toEqual(["4711.x"]);
  });

  it("combines the field with the other conditions", async () => {
    await seed("m1", { args: { order_id: "4711" }, delivery: "bounced" });
    await seed("m2", { args: { order_id: "4711" }, delivery: "delivered" });
    expect(await idsFor("q=4711&state=bounced")).toEqual(["m1"]);
  });

  it("shows everything for an empty field", async () => {
    await seed("m1");
    expect(await idsFor("q=")).toEqual(["m1"]);
    expect(await idsFor("q=+++")).toEqual(["m1"]);
  });
});

describe("filtering messages", () => {
  it("by a whole address, not by its beginning", async () => {
    await seed("m1", { recipient: "Customer@example.com" });
    await seed("m2", { recipient: "customer@example.community" });
    expect(await idsFor("recipient=customer%40example.com")).toEqual(["m1"]);
  });

  it("by one state, by several, and by what stands beside the delivery", async () => {
    await seed("m1", { delivery: "delivered", columns: { first_open_at: new Date() } });
    await seed("m2", { delivery: "bounced" });
    await seed("m3", { delivery: "dropped", columns: { first_complaint_at: new Date() } });
    await seed("m4", {
      columns: { last_unsubscribe_at: new Date("2026-03-02"), last_resubscribe_at: new Date("2026-03-03") },
    });
    await seed("m5", {
      columns: { last_unsubscribe_at: new Date("2026-03-04"), last_resubscribe_at: new Date("2026-03-03") },
    });
    expect(await idsFor("state=bounced")).toEqual(["m2"]);
    expect(await idsFor("state=bounced,dropped")).toEqual(["m3", "m2"]);
    expect(await idsFor("state=opened")).toEqual(["m1"]);
    expect(await idsFor("state=bounced,complaint")).toEqual(["m3", "m2"]);
    expect(await idsFor("state=unsubscribed")).toEqual(["m5"]);
  });

  it("by what ever happened to them, with what SendGrid calls a bounce taken apart", async () => {
    const event = async (id: string, type: string, detail: Record<string, unknown> = {}): Promise<void> => {
      const message = await seed(id, { columns: { failed_at: new Date() } });
      await seedEvent(db.pool, { message, source, eventId: id, type, detail });
    };
    await event("m1", "bounce", { type: "bounce" });
    await event("m2", "bounce", { type: "blocked" });
    await event("m3", "bounce", { type: "expired" });
    await event("m4", "dropped");
    await event("m5", "bounce");
    await seed("m6", { columns: { deferred_at: new Date(), first_machine_open_at: new Date() } });
    expect(await idsFor("kind=bounce")).toEqual(["m5", "m1"]);
    expect(await idsFor("kind=blocked")).toEqual(["m3", "m2"]);
    expect(await idsFor("kind=dropped")).toEqual(["m4"]);
    // It was delivered in the end, and still it was delayed.
    expect(await idsFor("kind=deferred&state=delivered")).toEqual(["m6"]);
    expect(await idsFor("kind=machine_open")).toEqual(["m6"]);
    expect(await idsFor("kind=open")).toEqual([]);
    for (const kind of MESSAGE_KINDS) expect((await views.get(`/api/messages?kind=${kind}&q=m`)).statusCode).toBe(200);
  });

  it("by category, by custom args all of which must be there, and by time", async () => {
    await seed("m1", {
      categories: ["invoice", "b"],
      args: { a: "1", b: "2" },
      firstEventAt: new Date("2026-03-01T10:00:00Z"),
    });
    await seed("m2", { categories: ["welcome"], args: { a: "1" }, firstEventAt: new Date("2026-03-02T10:00:00Z") });
    expect(await idsFor("category=invoice")).toEqual(["m1"]);
    expect(await idsFor("arg.a=1")).toEqual(["m2", "m1"]);
    expect(await idsFor("arg.a=1&arg.b=2")).toEqual(["m1"]);
    expect(await idsFor("arg.__proto__=1")).toEqual([]);
    expect(await idsFor("from=2026-03-02")).toEqual(["m2"]);
    expect(await idsFor("to=2026-03-02")).toEqual(["m1"]);
    expect(await idsFor("from=2026-03-01T10:00:00Z&to=2026-03-02T12:00:00%2B02:00")).toEqual(["m1"]);
  });

  it("keeps simulated traffic apart from real traffic", async () => {
    await seed("real");
    await seed("simulated", { source: simulation });
    expect(await idsFor("")).toEqual(["real"]);
    expect(await idsFor("simulated=true")).toEqual(["simulated"]);
    expect(await idsFor("simulated=all")).toEqual(["simulated", "real"]);
    expect(await idsFor("source=simulation")).toEqual(["simulated"]);
    expect((await list("simulated=true")).messages[0]).toMatchObject({ source: "simulation", simulated: true });
  });

  it("shows simulated traffic as long as no real source has received anything", async () => {
    await db.pool.query("TRUNCATE tallies");
    await seed("simulated", { source: simulation });
    expect(await idsFor("")).toEqual(["simulated"]);
    await seedReceipt(db.pool, { id: 1, source, pending: true });
    expect(await idsFor("")).toEqual([]);
  });

  it("gives every arg, even under names that JavaScript treats specially", async () => {
    await db.pool.query(
      `INSERT INTO messages (source, message_id, args) VALUES ($1, 'm1', '{"__proto__": "x", "constructor": "y", "line\\nbreak": "z"}')`,
      [source],
    );
    const { messages } = await list("");
    const args = new Map(Object.entries(messages[0]?.args ?? {}));
    expect(args).toEqual(
      new Map([
        ["__proto__", "x"],
        ["constructor", "y"],
        ["line\nbreak", "z"],
      ]),
    );
  });
});

describe("walking from page to page", () => {
  it("sees every message exactly once while others are added", async () => {
    for (let number = 0; number < 25; number += 1) await seed(`old${number}`);
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const page: MessageList = await list(`limit=4${cursor === null ? "" : `&cursor=${cursor}`}`);
      expect(page.messages.length).toBeLessThanOrEqual(4);
      seen.push(...page.messages.map(({ id }) => id));
      cursor = page.nextCursor;
      await seed(`new${seen.length}`);
    } while (cursor !== null);
    expect(seen).toEqual(Array.from({ length: 25 }, (_each, index) => `old${24 - index}`));
  });

  it.each(["q=premium", "q=newsletter", "category=all", "arg.plan=premium", "from=2026-03-01"])(
    "sees every message exactly once for %s, of which there are more than are collected",
    async (query) => {
      const count = SEARCH_HITS_MAX + 100;
      await db.pool.query("INSERT INTO arg_keys (key) VALUES ('plan'), ('tier')");
      await db.pool.query(
        `INSERT INTO messages (source, message_id, args, categories, first_event_at)
         SELECT $1, 'm' || n, '{"plan": "premium", "tier": "premium"}', '{all}', '2026-03-01T09:00:00Z' FROM generate_series(1, $2) n`,
        [source, count],
      );
      await db.pool.query(
        "INSERT INTO enrichments (message, next_attempt_at, subject) SELECT id, now(), 'The newsletter' FROM messages",
      );
      const seen: string[] = [];
      let cursor: string | null = null;
      do {
        const page: MessageList = await list(`${query}&limit=200${cursor === null ? "" : `&cursor=${cursor}`}`);
        seen.push(...page.messages.map(({ id }) => id));
        cursor = page.nextCursor;
      } while (cursor !== null);
      expect(seen).toEqual(Array.from({ length: count }, (_each, index) => `m${count - index}`));
    },
  );

  it("loses no row where a message is found by several of its args", async () => {
    for (let number = 0; number < 6; number += 1) await seed(`m${number}`, { args: { a: "x", b: "x", c: "x" } });
    const first = await list("q=x&limit=5");
    expect(first.messages.map(({ id }) => id)).toEqual(["m5", "m4", "m3", "m2", "m1"]);
    expect(await idsFor(`q=x&limit=5&cursor=${String(first.nextCursor)}`)).toEqual(["m0"]);
  });

  it("ends with the last full page", async () => {
    await seed("m1");
    await seed("m2");
    expect((await list("limit=2")).nextCursor).toBeNull();
    expect((await list("limit=1")).nextCursor).not.toBeNull();
  });

  it("keeps to the search", async () => {
    for (let number = 0; number < 6; number += 1)
      await seed(`m${number}`, { recipient: number % 2 === 0 ? "a@b.example" : "c@d.example" });
    const first = await list("q=a%40b&limit=2");
    expect(first.messages.map(({ id }) => id)).toEqual(["m4", "m2"]);
    expect(await idsFor(`q=a%40b&limit=2&cursor=${String(first.nextCursor)}`)).toEqual(["m0"]);
  });
});
