import { describe, expect, test } from "vitest";
import {
  apiQuery,
  isNarrowed,
  messageIdOf,
  messagePath,
  messagesPath,
  NO_FILTERS,
  periodStart,
  readFilters,
  recipientOf,
  recipientPath,
  safeNext,
} from "./message-filters.ts";

const NOW = Date.parse("2026-03-30T10:00:00Z");

describe("the address of the list of messages", () => {
  test("what is written into an address is read out of it again", () => {
    const filters = {
      q: "order:4711 & 100% + ü",
      recipient: "a+b@example.com",
      state: "failed",
      kind: "machine_open",
      source: "billing",
      category: "in voice",
      period: "week",
      columns: "state,source",
    } as const;
    expect(readFilters(messagesPath(filters).split("?")[1] ?? "")).toEqual(filters);
  });

  test("nothing set leaves a clean address", () => {
    expect(messagesPath(NO_FILTERS)).toBe("/messages");
    expect(readFilters("")).toEqual(NO_FILTERS);
  });

  test("what is not understood counts as not set, and what is too long is cut", () => {
    expect(readFilters("?state=gone&kind=gone&period=century&columns=a,b&x=1")).toEqual(NO_FILTERS);
    expect(readFilters(`?q=${"a".repeat(600)}`).q).toHaveLength(500);
  });

  test("columns are how the list is shown and not what it is asked for", () => {
    const shown = { ...NO_FILTERS, columns: "state" };
    expect(isNarrowed(shown)).toBe(false);
    expect(isNarrowed({ ...shown, kind: "open" })).toBe(true);
    expect(apiQuery(shown, NOW).toString()).toBe("");
  });

  test("not delivered means all three of the API's states", () => {
    expect(apiQuery({ ...NO_FILTERS, state: "failed" }, NOW).get("state")).toBe("bounced,blocked,dropped");
  });

  test("the API is asked for what is set only", () => {
    expect(apiQuery({ ...NO_FILTERS, q: "4711" }, NOW).toString()).toBe("q=4711");
  });

  test("a period begins at midnight here, by the calendar even when the clocks change", () => {
    for (const [period, days] of [
      ["today", 0],
      ["week", 6],
      ["month", 29],
    ] as const) {
      const start = new Date(periodStart(period, NOW));
      const today = new Date(NOW);
      expect(start.getHours()).toBe(0);
      expect(start).toEqual(new Date(today.getFullYear(), today.getMonth(), today.getDate() - days));
    }
  });
});

describe("the address of a message", () => {
  test.each(["abc.recvd-1-2.0", "nameless:default", "a/b?c#d", "100%25", "%", "ü 😀"])("%s survives", (id) => {
    const path = messagePath(id);
    expect(path).toMatch(/^\/messages\/[^/?#]+$/);
    expect(messageIdOf(path)).toBe(id);
  });

  test("what is no message's address names none", () => {
    expect(messageIdOf("/messages")).toBeUndefined();
    expect(messageIdOf("/messages/%zz")).toBeUndefined();
    expect(messageIdOf("/messages/a/b")).toBeUndefined();
  });
});

describe("the address of a person", () => {
  test.each(["a@example.com", "a/b?c#d@x", "100%25", "ü 😀@x", "\u202Ea@b"])("%s survives", (address) => {
    expect(recipientOf(recipientPath(address))).toBe(address);
  });

  test("what is no person's address names nobody", () => {
    for (const path of ["/recipients", "/recipients/", "/recipients/%zz", "/recipients/a/b", "/messages/a"])
      expect(recipientOf(path)).toBeUndefined();
  });
});

describe("where to go after signing in", () => {
  test("a page of ours", () => {
    expect(safeNext("/messages?q=4711")).toBe("/messages?q=4711");
  });

  test.each([
    null,
    "",
    "https://evil.example",
    "//evil.example",
    "/\\evil.example",
    "/\t/evil.example",
    "/a\\b",
    "/login#x",
    "javascript:alert(1)",
  ])("never %s", (next) => {
    expect(safeNext(next)).toBe("/");
  });
});
