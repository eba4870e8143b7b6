import { describe, expect, it } from "vitest";
import { LOGS_LANGUAGE } from "./logs-api.ts";
import { MESSAGES_LANGUAGE } from "./messages-api.ts";
import { exactValues, matchesQuery, parseQuery, timeBounds, type FieldReader } from "./query.ts";

const MESSAGE: Record<string, string | number | string[]> = {
  msg_id: "abc.recvd-1.0",
  to_email: "anna@example.com",
  subject: 'Say "hello"',
  status: "delivered",
  clicks: 2,
  last_event_time: Date.parse("2026-01-02T00:00:00Z"),
  events: ["processed", "delivered"],
  categories: ["invoice"],
  "unique_args.order_id": "SO-1",
};
const read: FieldReader = (field, key) => MESSAGE[key === undefined ? field : `${field}.${key}`];

function found(text: string): boolean | string {
  const parsed = parseQuery(text, MESSAGES_LANGUAGE);
  return parsed.ok ? matchesQuery(parsed.query, read) : parsed.message;
}

describe("the query language of the Messages API", () => {
  it.each([
    ['to_email="anna@example.com"', true],
    ["to_email='anna@example.com'", true],
    ['to_email="ben@example.com"', false],
    ['status!="delivered"', false],
    ['to_email="anna@example.com" AND status="processed"', false],
    ['to_email="anna@example.com" OR status="processed"', true],
    ['status="processed" AND status="x" OR to_email="anna@example.com"', true],
    ['status="processed" AND (status="x" OR to_email="anna@example.com")', false],
    ['NOT status="processed"', true],
    ['not (status="delivered")', false],
    ['status IN ("processed","delivered")', true],
    ['status NOT IN ("processed","delivered")', false],
    ['msg_id LIKE "abc.%"', true],
    ['msg_id LIKE "abc"', false],
    ['to_email LIKE "_nna@%"', true],
    ["clicks>1", true],
    ["clicks <= 1", false],
    ['Contains(events,"delivered")', true],
    ['(Contains(categories,"welcome"))', false],
    ['unique_args["order_id"]="SO-1"', true],
    ['(unique_args["order_id"]="SO-2")', false],
    ['unique_args["other"]="SO-1"', false],
    [String.raw`subject="Say \"hello\""`, true],
    ['last_event_time BETWEEN TIMESTAMP "2026-01-01T00:00:00Z" AND TIMESTAMP "2026-01-02T00:00:00Z"', true],
    [
      'last_event_time BETWEEN TIMESTAMP "2026-01-01T00:00:00Z" AND TIMESTAMP "2026-01-01T23:59:59Z" AND status="delivered"',
      false,
    ],
    ['last_event_time > TIMESTAMP "2026-01-01T00:00:00.000Z"', true],
  ])("answers %s", (text, expected) => {
    expect(found(text)).toBe(expected);
  });

  it.each([
    ['bad_field="x"', "invalid syntax: 'bad_field' is not a known field"],
    ['__proto__="x"', "invalid syntax: '__proto__' is not a known field"],
    ['last_event_time="2026-01-01T00:00:00Z"', "operator = is incompatible with DATETIME, STRING"],
    [
      'last_event_time BETWEEN "2026-01-01T00:00:00Z" AND "2026-01-02T00:00:00Z"',
      "operator >= is incompatible with DATETIME, STRING",
    ],
    ['last_event_time > TIMESTAMP "yesterday"', "invalid timestamp: yesterday"],
    ['events="bounced"', "operator = is incompatible with ARRAY<STRING>, STRING"],
    ['clicks="0"', "operator = is incompatible with NUMBER, STRING"],
    ["to_email=5", "operator = is incompatible with STRING, NUMBER"],
    ["to_email%3D%22a%22", "syntax error: unexpected character at position 8"],
    ["to_email anna", "syntax error: unexpected IDENTIFIER"],
    ['unique_args.order_id="x"', "invalid syntax: 'unique_args.order_id' is not a known field"],
    ['(status="x"', "syntax error: unexpected END, expecting )"],
    ['status="x" status="y"', "syntax error: unexpected IDENTIFIER"],
    ['status="x', "syntax error: unexpected character at position 7"],
  ])("refuses %s", (text, message) => {
    expect(found(text)).toBe(message);
  });

  it("refuses a query that is nested without end, instead of exhausting the stack", () => {
    expect(found(`${"(".repeat(10_000)}status="x"`)).toBe("syntax error: nested too deeply");
    expect(found(`${"NOT ".repeat(10_001)}status="x"`)).toBe(true);
  });

  it("knows the span and the ids outside of which nothing can match", () => {
    const parsed = parseQuery(
      'last_event_time >= TIMESTAMP "2026-01-01T00:00:00Z" AND msg_id IN ("a","b") AND (last_event_time < TIMESTAMP "2026-01-02T00:00:00Z")',
      MESSAGES_LANGUAGE,
    );
    if (!parsed.ok) throw new Error(parsed.message);
    expect(timeBounds(parsed.query, "last_event_time")).toEqual({
      fromMs: Date.parse("2026-01-01T00:00:00Z"),
      toMs: Date.parse("2026-01-02T00:00:00Z"),
    });
    expect(exactValues(parsed.query, "msg_id")).toEqual(["a", "b"]);
    const either = parseQuery('msg_id="a" OR last_event_time > TIMESTAMP "2026-01-01T00:00:00Z"', MESSAGES_LANGUAGE);
    if (!either.ok) throw new Error(either.message);
    expect(timeBounds(either.query, "last_event_time")).toEqual({ fromMs: -Infinity, toMs: Infinity });
    expect(exactValues(either.query, "msg_id")).toBeUndefined();
  });
});

describe("the query language of the Email Logs API", () => {
  const fault = (text: string): string | undefined => {
    const parsed = parseQuery(text, LOGS_LANGUAGE);
    return parsed.ok ? undefined : parsed.message;
  };

  it("takes conditions joined by AND", () => {
    const text = `sg_message_id_created_at > TIMESTAMP "2026-01-01T00:00:00Z" AND sg_message_id_created_at <= TIMESTAMP "2026-02-01T00:00:00Z" AND status IN ('delivered', 'processed') AND categories IN ('invoice')`;
    expect(fault(text)).toBeUndefined();
  });

  it.each([
    ['to_email="a" OR to_email="b"', "syntax error: unexpected IDENTIFIER"],
    ['(to_email="a")', "syntax error: nesting is not allowed"],
    ['to_email LIKE "a%"', "operator LIKE is not allowed for to_email"],
    ['status="bounced"', "operator = is not allowed for status"],
    [
      'sg_message_id_created_at BETWEEN TIMESTAMP "2026-01-01T00:00:00Z" AND TIMESTAMP "2026-01-02T00:00:00Z"',
      "operator BETWEEN is not allowed for sg_message_id_created_at",
    ],
    ['Contains(categories,"x")', "function Contains is incompatible with ARRAY<STRING>, STRING"],
    ['msg_id="a"', "invalid syntax: 'msg_id' is not a known field"],
  ])("refuses %s", (text, message) => {
    expect(fault(text)).toBe(message);
  });
});
