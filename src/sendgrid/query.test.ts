import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LOGS_LANGUAGE } from "../simulator/logs-api.ts";
import { MESSAGES_LANGUAGE } from "../simulator/messages-api.ts";
import { exactValues, parseQuery } from "../simulator/query.ts";
import { idQuery, quote, rangeQuery, timestamp } from "./query.ts";

const NINE = Date.UTC(2026, 2, 1, 9);

describe("a query", () => {
  it("escapes quotes and backslashes with a backslash", () => {
    expect(quote(String.raw`say "hi" \ there`)).toBe(String.raw`"say \"hi\" \\ there"`);
  });

  it("writes times as TIMESTAMP literals, with a fraction only where there is one", () => {
    expect(timestamp(NINE)).toBe('TIMESTAMP "2026-03-01T09:00:00Z"');
    expect(timestamp(NINE + 250)).toBe('TIMESTAMP "2026-03-01T09:00:00.250Z"');
  });

  it("asks Email Logs for a half-open range by conditions that are only joined by AND", () => {
    expect(rangeQuery("logs", { fromMs: NINE, toMs: NINE + 60_000 })).toBe(
      'sg_message_id_created_at >= TIMESTAMP "2026-03-01T09:00:00Z" AND sg_message_id_created_at < TIMESTAMP "2026-03-01T09:01:00Z"',
    );
  });

  it("asks the Messages API BETWEEN the first and the last second of the range, both included", () => {
    expect(rangeQuery("messages", { fromMs: NINE, toMs: NINE + 60_000 })).toBe(
      'last_event_time BETWEEN TIMESTAMP "2026-03-01T09:00:00Z" AND TIMESTAMP "2026-03-01T09:00:59Z"',
    );
  });

  it("narrows by status and category in Email Logs", () => {
    const range = { fromMs: NINE, toMs: NINE + 1000 };
    const query = rangeQuery("logs", range, {
      by: "status",
      statuses: ["delivered"],
      categories: ["invoice", 'a "b"'],
    });
    expect(query).toContain(String.raw` AND status IN ("delivered") AND categories IN ("invoice", "a \"b\"")`);
  });

  it("narrows by the beginnings of ids in the Messages API", () => {
    const range = { fromMs: NINE, toMs: NINE + 1000 };
    const patterns = [
      { text: "ab", exact: false },
      { text: "cd.1", exact: true },
    ];
    expect(rangeQuery("messages", range, { by: "id", patterns })).toContain(
      ' AND (msg_id LIKE "ab%" OR msg_id = "cd.1")',
    );
  });

  it("is understood by the API whatever the id is", () => {
    fc.assert(
      fc.property(
        fc.string({
          unit: fc.constantFrom("a", '"', "'", "\\", "%", "_", " ", "\n", "\u0000", "é", "😀"),
          minLength: 1,
        }),
        (id) => {
          for (const [api, language, field] of [
            ["logs", LOGS_LANGUAGE, "sg_message_id"],
            ["messages", MESSAGES_LANGUAGE, "msg_id"],
          ] as const) {
            const parsed = parseQuery(idQuery(api, id), language);
            expect(parsed.ok && exactValues(parsed.query, field)).toEqual([id]);
          }
        },
      ),
    );
  });
});
