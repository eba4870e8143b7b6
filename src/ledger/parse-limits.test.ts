import { describe, expect, test } from "vitest";
import {
  ARG_KEY_CHARS_MAX,
  ARGS_BYTES_MAX,
  CATEGORIES_MAX,
  CATEGORY_CHARS_MAX,
  EVENT_ID_CHARS_MAX,
  EVENT_TYPE_CHARS_MAX,
  ITEM_DEPTH_MAX,
  MESSAGE_ID_CHARS_MAX,
  RECIPIENT_CHARS_MAX,
} from "../limits.ts";
import type { ParsedEvent } from "./event.ts";
import { parseReceipt, type ParsedReceipt } from "./parse.ts";

/** Each limit of an item at its edge: what fits is kept as it came, and of what is one too many nothing is lost either. */

const good = { event: "open", timestamp: 1764511327, sg_event_id: "e", sg_message_id: "m" };

function parse(item: object): ParsedReceipt {
  return parseReceipt(Buffer.from(JSON.stringify([item])));
}

function eventOf(item: object): ParsedEvent {
  const [event] = parse({ ...good, ...item }).events;
  if (event === undefined) throw new Error("it was quarantined");
  return event;
}

describe("an item at a limit", () => {
  test("is filed at the greatest depth, and quarantined with its bytes one deeper, also where it needs mending", () => {
    for (const text of ["x", "\u0000"]) {
      const nested = (depth: number): string =>
        `[{"event":"open","timestamp":1764511327,"x":${"[".repeat(depth - 1)}${JSON.stringify(text)}${"]".repeat(depth - 1)}}]`;
      const deepest = parseReceipt(Buffer.from(nested(ITEM_DEPTH_MAX)));
      expect([deepest.events.length, deepest.quarantined.length]).toEqual([1, 0]);
      const deeper = parseReceipt(Buffer.from(nested(ITEM_DEPTH_MAX + 1)));
      expect([deeper.events.length, deeper.quarantined.map(({ reason }) => reason)]).toEqual([0, ["too_deep"]]);
      expect(`[${deeper.quarantined[0]?.bytes.toString()}]`).toBe(nested(ITEM_DEPTH_MAX + 1));
    }
  });

  test("of a type is filed, and beyond it quarantined", () => {
    expect(eventOf({ event: "t".repeat(EVENT_TYPE_CHARS_MAX) }).type).toHaveLength(EVENT_TYPE_CHARS_MAX);
    expect(parse({ ...good, event: "t".repeat(EVENT_TYPE_CHARS_MAX + 1) })).toMatchObject({
      events: [],
      quarantined: [{ reason: "bad_type" }],
    });
  });

  test.each([
    ["sg_event_id", "eventId", EVENT_ID_CHARS_MAX],
    ["sg_message_id", "messageId", MESSAGE_ID_CHARS_MAX],
    ["email", "recipient", RECIPIENT_CHARS_MAX],
  ] as const)("of %s is as it came, and beyond it shortened with the whole in its detail", (key, column, charsMax) => {
    const longest = "x".repeat(charsMax);
    const fits = eventOf({ [key]: longest });
    expect([fits[column], fits.detail[key]]).toEqual([longest, undefined]);
    const [tooLong, other] = [`${longest}y`, `${longest}z`].map((text) => eventOf({ [key]: text }));
    expect(tooLong?.detail[key]).toBe(`${longest}y`);
    expect(tooLong?.[column]?.length).toBeLessThanOrEqual(charsMax);
    // Two long ids that begin alike stay two.
    expect(tooLong?.[column] === other?.[column]).toBe(key === "email");
  });

  test("of categories is as it came, and beyond it whole in its detail", () => {
    const most = Array.from({ length: CATEGORIES_MAX }, (_category, n) => String(n + 100));
    expect(eventOf({ category: most })).toMatchObject({ categories: most, detail: {} });
    expect(eventOf({ category: most }).detail["category"]).toBeUndefined();
    const over = [...most, "999"];
    expect(eventOf({ category: over })).toMatchObject({ categories: most, detail: { category: over } });

    const longest = "c".repeat(CATEGORY_CHARS_MAX);
    expect(eventOf({ category: longest }).categories).toEqual([longest]);
    expect(eventOf({ category: `${longest}c` })).toMatchObject({ categories: [], detail: { category: `${longest}c` } });
  });

  test("of custom args has them as args, and beyond it in its detail", () => {
    const value = "v".repeat(ARGS_BYTES_MAX - "key".length);
    expect(eventOf({ key: value })).toMatchObject({ args: { key: value }, detail: {} });
    expect(eventOf({ key: `${value}v` })).toMatchObject({ args: {}, detail: { key: `${value}v` } });
    // Bytes, not characters.
    expect(eventOf({ key: `${value.slice(1)}é` }).args).toEqual({});

    const longest = "k".repeat(ARG_KEY_CHARS_MAX);
    expect(eventOf({ [longest]: "v" }).args).toEqual({ [longest]: "v" });
    expect(eventOf({ [`${longest}k`]: "v" })).toMatchObject({ args: {}, detail: { [`${longest}k`]: "v" } });
  });
});
