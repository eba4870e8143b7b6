import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { API_ROWS_MAX, API_WAIT_SECONDS_DEFAULT, API_WAIT_SECONDS_MAX } from "../limits.ts";
import { readList, readSingle, type RawResponse } from "./responses.ts";

function response(status: number, body: unknown, headers: RawResponse["headers"] = {}): RawResponse {
  return { status, headers, body: typeof body === "string" ? body : JSON.stringify(body) };
}

const ROW = {
  from_email: "shop@example.com",
  msg_id: "abc.1",
  subject: "Your invoice",
  to_email: "jo@example.com",
  status: "delivered",
  opens_count: 2,
  clicks_count: 0,
  last_event_time: "2026-03-01T09:00:00Z",
};

describe("an answer of SendGrid's API", () => {
  it("gives the messages of a list with what it knows of each", () => {
    expect(readList("messages", response(200, { messages: [ROW] }))).toEqual({
      kind: "ok",
      waitSeconds: undefined,
      value: {
        full: false,
        unreadable: 0,
        messages: [
          {
            messageId: "abc.1",
            status: "delivered",
            subject: "Your invoice",
            sender: "shop@example.com",
            recipient: "jo@example.com",
            opens: 2,
            clicks: 0,
            template: undefined,
            listedAt: new Date("2026-03-01T09:00:00Z"),
          },
        ],
      },
    });
  });

  it("keeps a row that lacks all but its id, and counts one without", () => {
    const answer = readList("messages", response(200, { messages: [{ msg_id: "abc.1" }, { subject: "x" }, null, 7] }));
    expect(answer).toMatchObject({
      kind: "ok",
      value: { unreadable: 3, messages: [{ messageId: "abc.1", subject: undefined }] },
    });
  });

  it("takes no count, text or time of another type", () => {
    const odd = { ...ROW, opens_count: "2", clicks_count: -1, subject: 5, last_event_time: "yesterday" };
    expect(readList("messages", response(200, { messages: [odd] }))).toMatchObject({
      value: { messages: [{ opens: undefined, clicks: undefined, subject: undefined, listedAt: undefined }] },
    });
  });

  it("cleans texts that PostgreSQL could not store", () => {
    const answer = readSingle("messages", response(200, '{"msg_id":"a","subject":"a\\u0000b\\ud800"}'));
    expect(answer).toMatchObject({ value: { subject: "a\uFFFDb\uFFFD" } });
  });

  it("reads a time without a zone as UTC", () => {
    const row = { sg_message_id: "a", sg_message_id_created_at: "2026-03-01T09:00:00.5" };
    expect(readList("logs", response(200, { messages: [row] }))).toMatchObject({
      value: { messages: [{ listedAt: new Date("2026-03-01T09:00:00.500Z") }] },
    });
  });

  it("calls a list full when it holds as many rows as it can", () => {
    const rows = Array.from({ length: API_ROWS_MAX }, (_, index) => ({ ...ROW, msg_id: `m${index}` }));
    expect(readList("messages", response(200, { messages: rows }))).toMatchObject({ value: { full: true } });
    expect(readList("messages", response(200, { messages: rows.slice(1) }))).toMatchObject({ value: { full: false } });
  });

  it("counts opens and clicks of a single message from its events, in either API's words", () => {
    const detail = { events: [{ event_name: "opened" }, { event_name: "clicked" }, { event_name: "opened" }, null] };
    expect(readSingle("messages", response(200, { msg_id: "a", ...detail }))).toMatchObject({
      value: { opens: 2, clicks: 1 },
    });
    const log = { events: [{ event: "open" }, { event: "delivered" }] };
    expect(readSingle("logs", response(200, { sg_message_id: "a", ...log }))).toMatchObject({
      value: { opens: 1, clicks: 0 },
    });
  });

  it("counts nothing from events that may be only the newest", () => {
    const events = Array.from({ length: 100 }, () => ({ event: "open" }));
    expect(readSingle("logs", response(200, { sg_message_id: "a", events }))).toMatchObject({
      value: { opens: undefined },
    });
  });

  it.each([
    ["not JSON", "<html></html>"],
    ["half of it", '{"messages":[{"msg_id":"a'],
    ["another shape", { results: [] }],
    ["a list of something else", { messages: [{ id: 1 }, { id: 2 }] }],
    ["null", "null"],
  ])("is no use when it is %s", (_, body) => {
    expect(readList("messages", response(200, body)).kind).toBe("unavailable");
  });

  it("is an empty list when nothing matches", () => {
    expect(readList("logs", response(200, { messages: [] }))).toMatchObject({
      kind: "ok",
      value: { messages: [], full: false },
    });
  });

  it.each([
    [400, "bad_request"],
    [401, "forbidden"],
    [403, "forbidden"],
    [404, "not_found"],
    [413, "bad_request"],
    [408, "unavailable"],
    [302, "unavailable"],
    [500, "unavailable"],
    [503, "unavailable"],
  ])("with status %i is %s", (status, kind) => {
    expect(readSingle("logs", response(status, { errors: [{ message: "why" }] })).kind).toBe(kind);
  });

  it("tells the API's reason, and only the status when a proxy answers in its own words", () => {
    expect(readSingle("logs", response(403, { errors: [{ message: "access forbidden" }] }))).toEqual({
      kind: "forbidden",
      reason: "HTTP 403: access forbidden",
    });
    expect(readSingle("logs", response(403, "<html>blocked</html>"))).toEqual({
      kind: "forbidden",
      reason: "HTTP 403",
    });
  });

  it("measures the wait of a 429 by the API's own clock", () => {
    const headers = { "x-ratelimit-reset": "1772355642", date: "Sun, 01 Mar 2026 09:00:00 GMT" };
    expect(readList("logs", response(429, {}, headers))).toEqual({ kind: "rate_limited", waitSeconds: 42 });
  });

  it.each([
    ["no header", {}, API_WAIT_SECONDS_DEFAULT],
    ["Retry-After", { "retry-after": "7" }, 7],
    ["a reset in the past", { "x-ratelimit-reset": "1000" }, 1],
    ["a reset in a hundred years", { "x-ratelimit-reset": "4928000000" }, API_WAIT_SECONDS_MAX],
    ["nonsense", { "x-ratelimit-reset": "soon" }, API_WAIT_SECONDS_DEFAULT],
  ])("waits after a 429 with %s", (_, headers, waitSeconds) => {
    expect(readList("logs", response(429, {}, headers))).toEqual({ kind: "rate_limited", waitSeconds });
  });

  it("says so when it was the last that is allowed for now", () => {
    const headers = {
      "x-ratelimit-remaining": "0",
      "x-ratelimit-reset": "1772355630",
      date: "Sun, 01 Mar 2026 09:00:00 GMT",
    };
    expect(readList("logs", response(200, { messages: [] }, headers))).toMatchObject({ kind: "ok", waitSeconds: 30 });
    const more = { ...headers, "x-ratelimit-remaining": "1" };
    expect(readList("logs", response(200, { messages: [] }, more))).toMatchObject({
      kind: "ok",
      waitSeconds: undefined,
    });
  });

  it("never throws, whatever comes", () => {
    fc.assert(
      fc.property(fc.constantFrom(200, 400, 429, 500), fc.oneof(fc.json(), fc.string()), (status, body) => {
        expect(readList("messages", response(status, body)).kind).toBeTypeOf("string");
        expect(readSingle("logs", response(status, body)).kind).toBeTypeOf("string");
      }),
    );
  });
});
