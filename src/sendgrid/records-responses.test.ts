import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { RECORD_TEXT_CHARS_MAX, SUPPRESSION_ROWS_MAX } from "../limits.ts";
import { STATS_METRICS } from "./record-types.ts";
import { readRecordedMessage, readStats, readSubuserId, readSuppressions } from "./records-responses.ts";
import type { RawResponse } from "./responses.ts";

function response(status: number, body: unknown): RawResponse {
  return { status, headers: {}, body: typeof body === "string" ? body : JSON.stringify(body) };
}

const AT = Date.parse("2026-03-04T10:00:00Z");

describe("SendGrid's totals", () => {
  it("are read day by day, and a metric that is not there is 0", () => {
    const body = [{ date: "2026-03-04", stats: [{ metrics: { delivered: 5, opens: 2, new_metric: 9 } }] }];
    const zeros = Object.fromEntries(STATS_METRICS.map((name) => [name, 0]));
    expect(readStats(response(200, body))).toEqual({
      kind: "ok",
      waitSeconds: undefined,
      value: [{ day: "2026-03-04", metrics: { ...zeros, delivered: 5, opens: 2 } }],
    });
  });

  it.each([
    ["a day without a date", [{ stats: [] }]],
    ["a total that is no number", [{ date: "2026-03-04", stats: [{ metrics: { opens: "2" } }] }]],
    ["a total below 0", [{ date: "2026-03-04", stats: [{ metrics: { opens: -2 } }] }]],
    ["no metrics", [{ date: "2026-03-04", stats: [{}] }]],
    ["no list", { date: "2026-03-04" }],
  ])("are not believed in part: %s", (_, body) => {
    expect(readStats(response(200, body))).toMatchObject({ kind: "unavailable" });
  });
});

describe("a page of a suppression list", () => {
  const row = { created: AT / 1000, email: "jo@example.com", reason: "550 no", status: "5.1.1" };

  it("gives each address with its time, and counts the rows that name neither", () => {
    const body = [row, { created: AT / 1000, email: "al@example.com" }, { email: "x@example.com" }, 7];
    expect(readSuppressions("bounces", response(200, body))).toMatchObject({
      kind: "ok",
      value: {
        full: false,
        unreadable: 2,
        entries: [
          { list: "bounces", email: "jo@example.com", createdAt: new Date(AT), reason: "550 no", status: "5.1.1" },
          { list: "bounces", email: "al@example.com", reason: undefined, status: undefined },
        ],
      },
    });
  });

  it("is full when it holds as many rows as it can", () => {
    const rows = Array.from({ length: SUPPRESSION_ROWS_MAX }, () => row);
    expect(readSuppressions("blocks", response(200, rows))).toMatchObject({ value: { full: true } });
    expect(readSuppressions("blocks", response(200, []))).toMatchObject({ kind: "ok", value: { full: false } });
  });
});

describe("a message of the Email Logs API", () => {
  it("gives its events as the webhook would have posted them, and leaves out what it never posts", () => {
    const body = {
      sg_message_id: "abc.1",
      to_email: "jo@example.com",
      status: "bounced",
      category: ["invoice"],
      custom_args: { order_id: "7", event: "processed", sg_event_id: "forged" },
      asm_group_id: 5,
      events: [
        {
          event: "bounce",
          email: "jo@example.com",
          sg_event_id: "e2",
          sg_message_id: "abc.1",
          timestamp: AT / 1000,
          type: "blocked",
          reason: "554 no",
          custom_args: { order_id: "7", event: "processed" },
        },
        { event: "received", email: "jo@example.com", timestamp: AT / 1000, sg_event_id: "e0" },
        { event: "open", email: "jo@example.com", timestamp: "soon", sg_event_id: "e3" },
      ],
    };
    const answer = readRecordedMessage("logs", response(200, body));
    expect(answer).toMatchObject({ kind: "ok", value: { messageId: "abc.1", truncated: false, unreadable: 1 } });
    expect(answer.kind === "ok" && answer.value.events).toEqual([
      {
        type: "bounce",
        occurredAtMs: AT,
        eventId: "e2",
        item: {
          asm_group_id: 5,
          category: ["invoice"],
          email: "jo@example.com",
          event: "bounce",
          order_id: "7",
          reason: "554 no",
          sg_event_id: "e2",
          sg_message_id: "abc.1",
          timestamp: AT / 1000,
          type: "blocked",
        },
      },
    ]);
  });

  it("says that older events may be missing when it comes with a hundred", () => {
    const events = Array.from({ length: 100 }, (_, place) => ({
      event: "open",
      timestamp: AT / 1000,
      sg_event_id: `${place}`,
    }));
    expect(readRecordedMessage("logs", response(200, { sg_message_id: "a", events }))).toMatchObject({
      value: { truncated: true },
    });
    expect(readRecordedMessage("logs", response(200, { sg_message_id: "a", events: events.slice(1) }))).toMatchObject({
      value: { truncated: false },
    });
  });

  it("cannot fill the ledger with what PostgreSQL refuses, nor with endless texts", () => {
    const url = "x".repeat(RECORD_TEXT_CHARS_MAX + 1);
    const event = `{"event":"click","timestamp":${AT / 1000},"url":"${url}","nested":{"a\\u0000":{"b":{"c":{"d":{"e":1}}}}}}`;
    const args = JSON.stringify({ small: "1", large: "y".repeat(100_000), more: "z".repeat(15_000) });
    const answer = readRecordedMessage(
      "logs",
      response(200, `{"sg_message_id":"a","custom_args":${args},"events":[${event}]}`),
    );
    const item = answer.kind === "ok" ? answer.value.events[0]?.item : undefined;
    expect(item).toMatchObject({ small: "1", nested: { "a\uFFFD": { b: { c: { d: null } } } } });
    // Cut, and the rest of the custom args is over what a mail may have.
    expect(String(item?.["large"])).toHaveLength(RECORD_TEXT_CHARS_MAX);
    expect(Object.keys(item ?? {})).not.toContain("more");
    expect(String(item?.["url"])).toHaveLength(RECORD_TEXT_CHARS_MAX);
  });
});

describe("a message of the Messages API", () => {
  function read(event: Record<string, unknown>, rest: Record<string, unknown> = {}) {
    const body = { msg_id: "abc.1", to_email: "jo@example.com", events: [event], ...rest };
    const answer = readRecordedMessage("messages", response(200, body));
    return answer.kind === "ok" ? answer.value.events[0] : answer;
  }
  const processed = "2026-03-04T10:00:00Z";

  it.each([
    [
      { event_name: "bounced", bounce_type: "soft", reason: "554" },
      { event: "bounce", type: "blocked", reason: "554" },
    ],
    [
      { event_name: "bounced", bounce_type: "hard" },
      { event: "bounce", type: "bounce" },
    ],
    [
      { event_name: "opened", http_user_agent: "M" },
      { event: "open", useragent: "M" },
    ],
    [
      { event_name: "clicked", url: "https://a.example/" },
      { event: "click", url: "https://a.example/" },
    ],
    [{ event_name: "spam_report" }, { event: "spamreport" }],
    [
      { event_name: "deferred", reason: "450", attempt_num: 3 },
      { event: "deferred", response: "450", attempt: "2" },
    ],
    [
      { event_name: "delivered", server_response: "250 OK" },
      { event: "delivered", response: "250 OK" },
    ],
    [
      { event_name: "dropped", reason: "Bounced Address" },
      { event: "dropped", reason: "Bounced Address" },
    ],
    [{ event_name: "group_unsubscribe" }, { event: "group_unsubscribe" }],
  ])("turns %j into the webhook's words", (told, item) => {
    const event = read({ ...told, processed });
    expect(event).toEqual({
      type: item.event,
      occurredAtMs: AT,
      eventId: undefined,
      item: { email: "jo@example.com", sg_message_id: "abc.1", timestamp: AT / 1000, ...item },
    });
  });

  it("takes categories and custom args from the message", () => {
    const rest = { categories: ["invoice"], unique_args: '{"order_id":"7"}' };
    expect(read({ event_name: "opened", processed }, rest)).toMatchObject({
      item: { category: ["invoice"], order_id: "7" },
    });
    expect(read({ event_name: "opened", processed }, { categories: [], unique_args: "Null" })).toMatchObject({
      item: { email: "jo@example.com" },
    });
  });

  it("counts an event that cannot be understood", () => {
    const body = { msg_id: "a", events: [{ event_name: "opened", processed: "soon" }, null, { processed }] };
    expect(readRecordedMessage("messages", response(200, body))).toMatchObject({
      value: { events: [], unreadable: 3 },
    });
  });
});

describe("a subuser's number", () => {
  it("is that of the whole name", () => {
    const body = [
      { id: 7, username: "shop-2" },
      { id: 8, username: "shop" },
    ];
    expect(readSubuserId("shop", response(200, body))).toMatchObject({ kind: "ok", value: "8" });
    expect(readSubuserId("sho", response(200, body))).toMatchObject({ kind: "ok", value: undefined });
    expect(readSubuserId("shop", response(200, [{ id: "x", username: "shop" }]))).toMatchObject({
      kind: "unavailable",
    });
  });
});

describe("whatever comes", () => {
  /** Bodies that look like the real ones, with anything in any place. */
  const anything = fc.jsonValue({ maxDepth: 3 });
  const event = fc.record(
    {
      event: fc.oneof(fc.constantFrom("open", "bounce", "received", "__proto__"), anything),
      event_name: fc.oneof(fc.constantFrom("opened", "bounced"), anything),
      timestamp: fc.oneof(fc.constant(AT / 1000), anything),
      processed: fc.oneof(fc.constant("2026-03-04T10:00:00Z"), anything),
      custom_args: anything,
      attempt_num: anything,
      type: anything,
    },
    { requiredKeys: [] },
  );
  const message = fc.record(
    {
      msg_id: fc.constant("a"),
      sg_message_id: fc.constant("a"),
      events: fc.oneof(fc.array(fc.oneof(event, anything)), anything),
      unique_args: anything,
      custom_args: anything,
      categories: anything,
      category: anything,
    },
    { requiredKeys: ["msg_id", "sg_message_id"] },
  );
  const rows = fc.array(
    fc.oneof(
      fc.record({ date: fc.constant("2026-03-04"), stats: anything }),
      fc.record({ email: fc.string(), created: fc.oneof(fc.integer(), anything), username: fc.string() }),
      anything,
    ),
  );

  it("is an answer, never an exception, and each event in it could be stored", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(200, 400, 403, 404, 429, 500),
        fc.oneof(
          message.map((value) => JSON.stringify(value)),
          rows.map((value) => JSON.stringify(value)),
          fc.string(),
        ),
        (status, body) => {
          const raw = response(status, body);
          expect(readStats(raw).kind).toBeTypeOf("string");
          expect(readSuppressions("blocks", raw).kind).toBeTypeOf("string");
          expect(readSubuserId("x", raw).kind).toBeTypeOf("string");
          for (const api of ["logs", "messages"] as const) {
            const answer = readRecordedMessage(api, raw);
            for (const { item, type } of answer.kind === "ok" ? answer.value.events : []) {
              expect(item).toMatchObject({ event: type, sg_message_id: "a" });
              expect(JSON.stringify(item)).not.toMatch(/\\u0000|\\ud[89a-f]/);
            }
          }
        },
      ),
      { numRuns: 500 },
    );
  });
});
