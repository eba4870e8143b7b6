import sendgridClient from "@sendgrid/client";
import { request } from "undici";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { ApiDoubleOptions } from "./api-context.ts";
import { DEFAULT_API_KEY, startApiDouble, type ApiDouble } from "./api-double.ts";
import { simulateMessages } from "./traffic.ts";
import type { WireEvent } from "./truth.ts";

/** Every test has its own double and its own clock; nothing here waits. */
const T0 = Date.parse("2026-03-04T10:00:00Z") / 1000;

const doubles: ApiDouble[] = [];
afterEach(async () => {
  for (const double of doubles.splice(0)) await double.stop();
});

async function start(options: ApiDoubleOptions = {}): Promise<{ double: ApiDouble; clock: { ms: number } }> {
  const clock = { ms: (T0 + 100_000) * 1000 };
  const double = await startApiDouble({ now: () => clock.ms, visibleAfterSeconds: 0, ...options });
  doubles.push(double);
  return { double, clock };
}

function event(id: string, type: string, secondsLater: number, fields: WireEvent = {}): WireEvent {
  const wire = {
    email: `${id}@example.com`,
    event: type,
    timestamp: T0 + secondsLater,
    sg_message_id: `${id}.recvd-1.0`,
    sg_event_id: `${type}-${id}-${secondsLater}`,
  };
  return { ...wire, category: ["invoice"], mail_kind: "invoice", order_id: `SO-${id}`, ...fields };
}

const AUTHORIZED: Record<string, string> = { authorization: `Bearer ${DEFAULT_API_KEY}` };

async function get(double: ApiDouble, path: string, headers = AUTHORIZED) {
  const response = await request(`${double.url}${path}`, { headers });
  return {
    status: response.statusCode,
    headers: response.headers,
    body: (await response.body.json()) as Record<string, never>,
  };
}

async function logs(double: ApiDouble, body: unknown) {
  const response = await request(`${double.url}/v3/logs`, {
    method: "POST",
    headers: { authorization: `Bearer ${DEFAULT_API_KEY}`, "content-type": "application/json" },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
  return {
    status: response.statusCode,
    body: (await response.body.json()) as { messages: Record<string, unknown>[]; errors: unknown },
  };
}

function list(query: string, limit?: number): string {
  return `/v3/messages?query=${encodeURIComponent(query)}${limit === undefined ? "" : `&limit=${limit}`}`;
}

describe("the Messages API of the double", () => {
  it("lists and shows a message in the published form", async () => {
    const { double } = await start();
    double.record(event("a", "processed", 0));
    double.record(event("a", "deferred", 5, { response: "450 4.2.0 later", attempt: "0" }));
    double.record(event("a", "delivered", 70, { response: "250 OK" }));
    double.record(event("a", "open", 100, { useragent: "Mozilla/5.0" }));
    double.record(event("a", "open", 100, { useragent: "Mozilla/5.0" }));
    const { body } = await get(double, list('to_email="a@example.com"'));
    expect(body).toEqual({
      messages: [
        {
          from_email: "billing@market.example.com",
          msg_id: "a.recvd-1.0",
          subject: "Invoice for your order SO-a",
          to_email: "a@example.com",
          status: "delivered",
          opens_count: 1,
          clicks_count: 0,
          last_event_time: "2026-03-04T10:01:40Z",
        },
      ],
    });
    const detail = await get(double, "/v3/messages/a.recvd-1.0");
    expect(detail.body).toMatchObject({
      unique_args: '{"mail_kind":"invoice","order_id":"SO-a"}',
      events: [
        { event_name: "processed", processed: "2026-03-04T10:00:00Z" },
        { event_name: "deferred", reason: "450 4.2.0 later", attempt_num: 1 },
        { event_name: "delivered" },
        { event_name: "opened", http_user_agent: "Mozilla/5.0" },
      ],
    });
  });

  it.each([
    [[["processed", {}]], "processed", "processed"],
    [
      [
        ["processed", {}],
        ["deferred", {}],
      ],
      "processed",
      "deferred",
    ],
    [
      [
        ["processed", {}],
        ["delivered", {}],
      ],
      "delivered",
      "delivered",
    ],
    [[["dropped", { reason: "Bounced Address" }]], "not_delivered", "dropped"],
    [
      [
        ["delivered", {}],
        ["bounce", { type: "bounce" }],
      ],
      "not_delivered",
      "bounced",
    ],
    [[["bounce", { type: "blocked" }]], "not_delivered", "blocked"],
  ] as const)("calls %j %s, and %s in the Email Logs API", async (events, messageStatus, logStatus) => {
    const { double } = await start();
    for (const [place, [type, fields]] of events.entries()) double.record(event("a", type, place, fields));
    expect((await get(double, "/v3/messages/a.recvd-1.0")).body["status"]).toBe(messageStatus);
    expect((await get(double, "/v3/logs/a.recvd-1.0")).body["status"]).toBe(logStatus);
  });

  it("gives 10 rows unless asked for more, never over 1,000, the newest first, and has no pages", async () => {
    const { double } = await start({ callsPerMinute: Infinity });
    for (let index = 0; index < 1_200; index += 1) double.record(event(`m${index}`, "processed", index));
    expect((await get(double, "/v3/messages")).body["messages"]).toHaveLength(10);
    const { body } = await get(double, list(`last_event_time > TIMESTAMP "2026-03-04T10:00:00Z"`, 1_000));
    expect(body["messages"]).toHaveLength(1_000);
    expect(body["messages"]).toMatchObject({ 0: { msg_id: "m1199.recvd-1.0" }, 999: { msg_id: "m200.recvd-1.0" } });
    for (const limit of ["0", "1001", "-1", "x"])
      expect((await get(double, `/v3/messages?limit=${limit}`)).status).toBe(400);
  });

  it("moves a message in time with its last event", async () => {
    const { double } = await start();
    double.record(event("a", "processed", 0));
    const early = list('last_event_time BETWEEN TIMESTAMP "2026-03-04T10:00:00Z" AND TIMESTAMP "2026-03-04T10:00:30Z"');
    expect((await get(double, early)).body["messages"]).toHaveLength(1);
    double.record(event("a", "open", 60));
    expect((await get(double, early)).body["messages"]).toHaveLength(0);
  });

  it("answers a wrong query as SendGrid does", async () => {
    const { double } = await start();
    const { status, body } = await get(double, list('events="bounced"'));
    expect({ status, body }).toEqual({
      status: 400,
      body: { errors: [{ field: "query", message: "operator = is incompatible with ARRAY<STRING>, STRING" }] },
    });
  });
});

describe("the Email Logs API of the double", () => {
  it("finds messages by when their ids were made, which later events do not move", async () => {
    const { double } = await start();
    for (const [id, later] of [
      ["a", 0],
      ["b", 60],
      ["c", 120],
    ] as const)
      double.record(event(id, "processed", later));
    double.record(event("a", "click", 5_000, { url: "https://example.com/" }));
    const query =
      'sg_message_id_created_at >= TIMESTAMP "2026-03-04T09:59:00Z" AND sg_message_id_created_at < TIMESTAMP "2026-03-04T10:01:30Z"';
    const { body } = await logs(double, { query, limit: 1_000 });
    expect(body.messages.map((message) => message["sg_message_id"])).toEqual(["b.recvd-1.0", "a.recvd-1.0"]);
    expect(body.messages[1]).toEqual({
      from_email: "billing@market.example.com",
      sg_message_id: "a.recvd-1.0",
      subject: "Invoice for your order SO-a",
      to_email: "a@example.com",
      status: "delivered",
      sg_message_id_created_at: "2026-03-04T09:59:59Z",
    });
  });

  it("shows the events with their ids, and custom args apart", async () => {
    const { double } = await start();
    double.record(event("a", "processed", 0));
    const { body } = await get(double, "/v3/logs/a.recvd-1.0");
    expect(body).toMatchObject({
      custom_args: { order_id: "SO-a" },
      events: [
        { event: "processed", sg_event_id: "processed-a-0", custom_args: { order_id: "SO-a" } },
        { event: "received", recv_msgid: "a" },
      ],
    });
    expect(body["events"]?.[0]).not.toHaveProperty("order_id");
  });

  it("refuses what is no request", async () => {
    const { double } = await start({ callsPerMinute: Infinity });
    expect((await logs(double, "not json")).status).toBe(400);
    expect((await logs(double, { query: 5 })).status).toBe(400);
    expect((await logs(double, { query: 'to_email="a" OR to_email="b"' })).status).toBe(400);
    expect((await logs(double, { limit: 1_001 })).status).toBe(400);
    expect((await get(double, "/v3/logs/unknown")).body).toEqual({
      errors: [{ field: "sg_message_id", message: "not found" }],
    });
  });
});

describe("the double's statistics", () => {
  it("counts each day's events from its own truth, days without any included", async () => {
    const { double } = await start();
    const day = 86_400;
    double.record(event("a", "processed", 0));
    double.record(event("a", "delivered", 1));
    double.record(event("a", "open", 2));
    double.record(event("a", "open", 3));
    double.record(event("b", "dropped", 4, { reason: "Bounced Address" }));
    double.record({
      email: "x@example.com",
      event: "bounce",
      type: "blocked",
      timestamp: T0 + 2 * day,
      sg_event_id: "nameless",
    });
    const { body } = await get(double, "/v3/stats?start_date=2026-03-04&end_date=2026-03-06");
    const days = body as unknown as { date: string; stats: { metrics: Record<string, number> }[] }[];
    expect(days.map(({ date }) => date)).toEqual(["2026-03-04", "2026-03-05", "2026-03-06"]);
    expect(days[0]?.stats[0]?.metrics).toMatchObject({
      requests: 2,
      processed: 1,
      delivered: 1,
      opens: 2,
      unique_opens: 1,
      bounce_drops: 1,
      bounces: 0,
    });
    expect(days[1]?.stats[0]?.metrics).toMatchObject({ requests: 0, opens: 0 });
    expect(days[2]?.stats[0]?.metrics).toMatchObject({ blocks: 1, bounces: 0 });
    expect((await get(double, "/v3/stats")).status).toBe(400);
  });
});

describe("the double's limits", () => {
  it("allows six calls a minute to each API and says when the next is possible", async () => {
    const { double, clock } = await start();
    for (let call = 0; call < 6; call += 1) expect((await get(double, "/v3/messages")).status).toBe(200);
    const refused = await get(double, "/v3/messages");
    expect(refused.status).toBe(429);
    expect(refused.body).toEqual({ errors: [{ field: null, message: "too many requests" }] });
    expect(refused.headers).toMatchObject({
      "x-ratelimit-limit": "6",
      "x-ratelimit-remaining": "0",
      "x-ratelimit-reset": String(clock.ms / 1000 + 60),
    });
    expect((await logs(double, {})).status).toBe(200);
    clock.ms += 59_999;
    expect((await get(double, "/v3/messages/a")).status).toBe(429);
    clock.ms += 1;
    expect((await get(double, "/v3/messages")).headers["x-ratelimit-remaining"]).toBe("5");
    expect(double.calls).toMatchObject({ messages: 7, logs: 1, message: 0, refused: 2 });
  });

  it("does not know a message until some time after it first heard of it", async () => {
    const { double, clock } = await start({ visibleAfterSeconds: 60, callsPerMinute: Infinity });
    double.record(event("a", "processed", 0));
    clock.ms += 30_000;
    double.record(event("a", "delivered", 5));
    clock.ms += 29_999;
    expect((await get(double, list('msg_id="a.recvd-1.0"'))).body).toEqual({ messages: [] });
    expect((await get(double, "/v3/messages/a.recvd-1.0")).body).toEqual({
      errors: [{ field: "message_id", message: "not found" }],
    });
    clock.ms += 1;
    expect((await get(double, list('msg_id="a.recvd-1.0"'))).body["messages"]).toHaveLength(1);
    expect((await get(double, "/v3/logs/a.recvd-1.0")).status).toBe(200);
  });

  it("refuses a call without or with a wrong key, and an API that the account has not bought", async () => {
    const { double } = await start({ messagesAllowed: false });
    expect((await get(double, "/v3/messages", {})).status).toBe(401);
    expect((await get(double, "/v3/messages", { authorization: "Bearer SG.other" })).status).toBe(401);
    expect((await get(double, "/v3/messages")).status).toBe(403);
    expect((await logs(double, {})).status).toBe(200);
    expect((await get(double, "/v3/user/profile")).status).toBe(404);
  });

  it("can be broken in every way, and mended", async () => {
    const { double } = await start({ callsPerMinute: Infinity });
    double.record(event("a", "processed", 0));
    double.fault("500");
    expect((await get(double, "/v3/messages")).status).toBe(500);
    double.fault("429");
    expect((await get(double, "/v3/messages")).status).toBe(429);
    double.fault("garbage");
    await expect(get(double, "/v3/messages")).rejects.toThrow(SyntaxError);
    double.fault("half");
    await expect(get(double, "/v3/messages")).rejects.toThrow(/terminated|closed/);
    double.fault("hang");
    const hanging = get(double, "/v3/messages").then(
      () => "answered",
      () => "broken off",
    );
    await vi.waitFor(() => expect(double.calls.messages).toBe(4));
    double.fault(undefined);
    expect((await get(double, "/v3/messages")).status).toBe(200);
    await double.stop();
    expect(await hanging).toBe("broken off");
  });
});

describe("the official @sendgrid/client", () => {
  function client(double: ApiDouble, key = DEFAULT_API_KEY): typeof sendgridClient {
    sendgridClient.setApiKey(key);
    sendgridClient.setDefaultRequest("baseUrl", `${double.url}/`);
    return sendgridClient;
  }

  it("lists, shows, reads logs and statistics, and gets 429 and 403 as it does from SendGrid", async () => {
    const { double } = await start({ callsPerMinute: 2 });
    double.record(event("a", "processed", 0));
    const sendgrid = client(double);
    const [listed] = await sendgrid.request({
      method: "GET",
      url: "/v3/messages",
      qs: { query: 'msg_id="a.recvd-1.0"', limit: 10 },
    });
    expect(listed.body).toMatchObject({ messages: [{ msg_id: "a.recvd-1.0" }] });
    const [shown] = await sendgrid.request({ method: "GET", url: "/v3/messages/a.recvd-1.0" });
    expect(shown.body).toMatchObject({ subject: "Invoice for your order SO-a" });
    await expect(sendgrid.request({ method: "GET", url: "/v3/messages" })).rejects.toMatchObject({
      code: 429,
      response: { body: { errors: [{ message: "too many requests" }] } },
    });
    const [logged] = await sendgrid.request({
      method: "POST",
      url: "/v3/logs",
      body: { query: 'sg_message_id="a.recvd-1.0"' },
    });
    expect(logged.body).toMatchObject({ messages: [{ sg_message_id: "a.recvd-1.0" }] });
    const [log] = await sendgrid.request({ method: "GET", url: "/v3/logs/a.recvd-1.0" });
    expect(log.body).toMatchObject({ status: "processed" });
    const [stats] = await sendgrid.request({
      method: "GET",
      url: "/v3/stats",
      qs: { start_date: "2026-03-04", end_date: "2026-03-04" },
    });
    expect(stats.body).toMatchObject([{ date: "2026-03-04" }]);
    const { double: poor } = await start({ messagesAllowed: false, logsAllowed: false });
    await expect(client(poor).request({ method: "GET", url: "/v3/messages" })).rejects.toMatchObject({ code: 403 });
    await expect(client(poor).request({ method: "POST", url: "/v3/logs", body: {} })).rejects.toMatchObject({
      code: 403,
    });
    await expect(client(poor, "SG.wrong").request({ method: "GET", url: "/v3/messages" })).rejects.toMatchObject({
      code: 401,
    });
  });
});

describe("the double and the traffic", () => {
  it("know the same subject and sender, whichever event is heard of first", async () => {
    const { double } = await start({ callsPerMinute: Infinity });
    const options = {
      seed: "subjects",
      startSeconds: T0,
      periodSeconds: 7_200,
      events: 600,
      twins: false,
      missingIds: false,
      poison: false,
    };
    const messages = [...simulateMessages(options)];
    for (const { events } of messages)
      for (const { truth } of events.toReversed()) if (truth !== undefined) double.record(truth);
    expect(double.messageCount()).toBe(messages.length);
    const { body } = await get(double, "/v3/messages?limit=1000");
    const subjects = new Set(
      (body["messages"] as unknown as { subject: string }[]).map(({ subject }) => subject.replace(/ SO-\d+$/, "")),
    );
    expect([...subjects].sort()).toEqual([
      "Confirm your registration",
      "Invoice for your order",
      "Reset your password",
    ]);
  });
});
