import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { testDatabase, type TestDatabase } from "../../test/database.ts";
import { seedSource } from "../../test/seed.ts";
import { viewsApp, type ViewsApp } from "../../test/views-app.ts";
import { SEND_ARGS_BYTES_MAX, SEND_RECIPIENTS_MAX, SENDS_BODY_BYTES_MAX, SENDS_PER_REQUEST_MAX } from "../limits.ts";
import type { ErrorBody } from "./contract.ts";

let db: TestDatabase;
let views: ViewsApp;

beforeAll(async () => {
  db = await testDatabase();
  views = await viewsApp(db);
  await seedSource(db.pool, "default");
  await seedSource(db.pool, "billing");
  await seedSource(db.pool, "simulation", true);
});
afterAll(async () => {
  await views.close();
  await db.drop();
});
beforeEach(async () => {
  await db.pool.query("TRUNCATE sends");
});

async function post(payload: unknown, role: "support" | "compliance" | "admin" = "compliance") {
  return views.as(role, { method: "POST", url: "/v1/sends", payload: payload as object });
}

async function refusal(payload: unknown): Promise<[number, string]> {
  const answer = await post(payload);
  return [answer.statusCode, answer.json<ErrorBody>().error.message];
}

async function rows(columns: string): Promise<unknown[]> {
  return (await db.pool.query<object>(`SELECT ${columns} FROM sends ORDER BY message_id`)).rows;
}

describe("POST /v1/sends", () => {
  it("is for compliance and admins", async () => {
    const sends = [{ messageId: "a" }];
    const refused = await post({ sends }, "support");
    expect([refused.statusCode, refused.json<ErrorBody>().error.code]).toEqual([403, "role_too_low"]);
    const unknown = await views.app.inject({ method: "POST", url: "/v1/sends", payload: { sends } });
    expect([unknown.statusCode, unknown.json<ErrorBody>().error.code]).toEqual([401, "token_missing"]);
    expect(await rows("*")).toEqual([]);
    expect((await post({ sends }, "admin")).json()).toEqual({ registered: 1, known: 0 });
  });

  it("writes down each send with when, how many, for whom it is alone, and who says so", async () => {
    const answer = await post({
      source: "billing",
      sends: [
        { messageId: "one", at: "2026-03-01T09:00:00+01:00", recipients: ["Ann@example.com"], args: { order: "4711" } },
        {
          messageId: "two",
          at: "2026-03-01T09:00:00Z",
          recipients: ["a@example.com", "A@example.com", "b@example.com"],
        },
        { messageId: "three", at: "2026-03-01T09:00:00Z", recipients: 40 },
      ],
    });
    expect([answer.statusCode, answer.json()]).toEqual([200, { registered: 3, known: 0 }]);
    const at = (hour: number): Date => new Date(Date.UTC(2026, 2, 1, hour));
    const common = { name: "test compliance", source: "billing", seen_at: null };
    const read =
      "message_id, sent_at, next_look_at, recipients, recipient, args, name, seen_at, (SELECT s.name FROM sources AS s WHERE s.id = source) AS source";
    expect(await rows(read)).toEqual([
      {
        message_id: "one",
        sent_at: at(8),
        next_look_at: at(9),
        recipients: 1,
        recipient: "Ann@example.com",
        args: { order: "4711" },
        ...common,
      },
      {
        message_id: "three",
        sent_at: at(9),
        next_look_at: at(10),
        recipients: 40,
        recipient: null,
        args: {},
        ...common,
      },
      { message_id: "two", sent_at: at(9), next_look_at: at(10), recipients: 2, recipient: null, args: {}, ...common },
    ]);
  });

  it("takes now for a send without a time or with one to come", async () => {
    await post({ sends: [{ messageId: "a" }, { messageId: "b", at: "2999-01-01T00:00:00Z" }] });
    expect(await rows("sent_at = registered_at AS now")).toEqual([{ now: true }, { now: true }]);
  });

  it("registers a send once, however often and by however many it is told, and keeps what was said first", async () => {
    const ids = Array.from({ length: 200 }, (_, index) => `send-${index}`);
    const tell = async (order: readonly string[]) => post({ sends: order.map((messageId) => ({ messageId })) });
    const answers = await Promise.all([tell(ids), tell(ids.toReversed()), tell(ids), tell(ids.toReversed())]);
    const counts = answers.map((answer) => answer.json<{ registered: number; known: number }>());
    expect(counts.reduce((sum, { registered }) => sum + registered, 0)).toBe(200);
    expect(counts.every(({ registered, known }) => registered + known === 200)).toBe(true);
    const again = await post({
      sends: [
        { messageId: "send-0", recipients: 7 },
        { messageId: "new", recipients: 2 },
        { messageId: "new", recipients: 3 },
      ],
    });
    expect(again.json()).toEqual({ registered: 1, known: 2 });
    const found = await db.pool.query(
      "SELECT message_id, recipients FROM sends WHERE message_id IN ('new', 'send-0') ORDER BY 1",
    );
    expect(found.rows).toEqual([
      { message_id: "new", recipients: 2 },
      { message_id: "send-0", recipients: 1 },
    ]);
  });

  it("takes up to its limits and refuses beyond them", async () => {
    const many = (count: number): object => ({
      sends: Array.from({ length: count }, (_, index) => ({ messageId: `m${index}` })),
    });
    expect((await post(many(SENDS_PER_REQUEST_MAX))).json()).toEqual({ registered: SENDS_PER_REQUEST_MAX, known: 0 });
    expect((await refusal(many(SENDS_PER_REQUEST_MAX + 1)))[1]).toContain("sends must NOT have more than 1000 items");
    const of = (recipients: unknown): object => ({ sends: [{ messageId: "of", recipients }] });
    expect((await post(of(SEND_RECIPIENTS_MAX))).statusCode).toBe(200);
    for (const recipients of [
      0,
      SEND_RECIPIENTS_MAX + 1,
      [],
      Array.from({ length: SEND_RECIPIENTS_MAX + 1 }, () => "a@example.com"),
    ]) {
      expect((await refusal(of(recipients)))[0]).toBe(400);
    }
    const args = (bytes: number): object => ({
      sends: [{ messageId: "args", args: { a: "x".repeat(bytes - '{"a":""}'.length) } }],
    });
    expect(await refusal(args(SEND_ARGS_BYTES_MAX + 1))).toEqual([
      400,
      "sends.0.args must not have more than 1000 bytes as JSON",
    ]);
    expect((await post(args(SEND_ARGS_BYTES_MAX))).statusCode).toBe(200);
    expect((await post({ sends: [{ messageId: "i".repeat(100) }] })).statusCode).toBe(200);
    expect((await refusal({ sends: [{ messageId: "i".repeat(101) }] }))[0]).toBe(400);
    const large = await refusal({ sends: [{ messageId: "a", args: { a: "x".repeat(SENDS_BODY_BYTES_MAX) } }] });
    expect(large).toEqual([413, "The body is larger than 2048 KiB."]);
  });

  it.each<[unknown, string]>([
    [{}, "sends"],
    [{ sends: [] }, "sends"],
    [{ sends: [{}] }, "sends.0"],
    [{ sends: [{ messageId: "abc.recvd-1.0" }] }, "sends.0.messageId"],
    [{ sends: [{ messageId: "a" }, { messageId: "" }] }, "sends.1.messageId"],
    [{ sends: [{ messageId: "a", at: "yesterday" }] }, "sends.0.at"],
    [{ sends: [{ messageId: "a", at: "2026-02-30T00:00:00Z" }] }, "sends.0.at"],
    [{ sends: [{ messageId: "a", recipients: "many" }] }, "sends.0.recipients"],
    [{ sends: [{ messageId: "a" }], source: "nowhere" }, "source"],
    [{ sends: [{ messageId: "a" }], source: "simulation" }, "source"],
    [{ sends: [{ messageId: "a", args: { "a\0": "b" } }] }, "sends.0"],
    [{ sends: [{ messageId: "a", recipients: ["a\uD800@example.com"] }] }, "sends.0"],
  ])("refuses %j and names what is wrong with it", async (payload, name) => {
    const [status, message] = await refusal(payload);
    expect([status, message]).toEqual([400, expect.stringContaining(name)]);
    expect(await rows("*")).toEqual([]);
  });

  it("stands in the description of the interface", async () => {
    const { paths } = (await views.app.inject({ url: "/openapi.json" })).json<{
      paths: Record<string, { post?: unknown }>;
    }>();
    expect(paths["/v1/sends"]?.post).toMatchObject({ tags: ["completeness"] });
  });
});
