import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseReceipt, type ParsedReceipt } from "./parse.ts";

// Inputs named "case N" are public reports of what SendGrid really sends or what broke receivers of it.

const good = {
  email: "customer@example.com",
  timestamp: 1764511327,
  event: "delivered",
  sg_event_id: "ev1",
  sg_message_id: "msg1.recvd-1.0",
};

function parse(...items: unknown[]): ParsedReceipt {
  return parseReceipt(Buffer.from(JSON.stringify(items)));
}

function parseText(text: string): ParsedReceipt {
  return parseReceipt(Buffer.from(text));
}

function only(parsed: ParsedReceipt): ParsedReceipt["events"][number] {
  expect(parsed.quarantined).toEqual([]);
  const [event] = parsed.events;
  if (event === undefined || parsed.events.length !== 1)
    throw new Error(`expected one event, got ${parsed.events.length}`);
  return event;
}

describe("a body", () => {
  test.each([
    ["", "empty"],
    ["\r\n", "empty"],
    ["hello", "not_json"],
    ["1", "not_array"],
    ["null", "not_array"],
    ['"x"', "not_array"],
    ["{}", "not_array"],
    ['[[{"Key":"email","Value":"a@example.com"},{"Key":"event","Value":"open"}]]', "no_events"],
    ['[{"Key":"email","Value":"a@example.com"},{"Key":"event","Value":"open"}]', "no_events"],
    ["[1,2,3]", "no_events"],
    ["[{]", "not_json"],
  ])("%j is quarantined whole as %s (case 9)", (text, reason) => {
    const parsed = parseText(text);
    expect(parsed).toMatchObject({ accepted: 1, events: [], quarantined: [{ ordinal: -1, reason }] });
    expect(parsed.quarantined[0]?.bytes.toString()).toBe(text);
  });

  test("of no items has nothing to account for", () => {
    expect(parseText("[]")).toEqual({ accepted: 0, events: [], quarantined: [], sanitised: 0 });
  });

  test("in SendGrid's own form, with CRLF between and after the items, is read whole (cases 2, 3 and 50)", () => {
    const parsed = parseText(`[${JSON.stringify(good)},\r\n${JSON.stringify({ ...good, sg_event_id: "ev2" })}]\r\n`);
    expect(parsed.accepted).toBe(2);
    expect(parsed.events.map(({ eventId }) => eventId)).toEqual(["ev1", "ev2"]);
  });

  test("with a byte order mark is read", () => {
    expect(only(parseText(`\uFEFF[${JSON.stringify(good)}]`)).eventId).toBe("ev1");
  });

  test("with one syntactically broken item keeps its bytes and files the others", () => {
    const broken = '{"event":"open" "email":1}';
    const parsed = parseText(
      `[${JSON.stringify(good)},\r\n${broken},\r\n${JSON.stringify({ ...good, sg_event_id: "ev2" })}]\r\n`,
    );
    expect(parsed.accepted).toBe(3);
    expect(parsed.events.map(({ eventId, ordinal }) => [eventId, ordinal])).toEqual([
      ["ev1", 0],
      ["ev2", 2],
    ]);
    expect(parsed.quarantined.map(({ ordinal, reason, bytes }) => [ordinal, reason, bytes.toString()])).toEqual([
      [1, "item_not_json", broken],
    ]);
  });

  test.each([
    ["an unclosed string", '{"event":"open","reason":"he said "no}'],
    ["an unclosed brace", '{"event":"open","pool":{"id":1}'],
    ["a brace too many", '{"event":"open"}}'],
    ["nothing but a brace", "}"],
  ])("with an item that has %s does not swallow its neighbours", (_what, broken) => {
    const parsed = parseText(
      `[${JSON.stringify(good)},\r\n${broken},\r\n${JSON.stringify({ ...good, sg_event_id: "ev2" })}]\r\n`,
    );
    expect(parsed.events.map(({ eventId }) => eventId)).toContain("ev1");
    expect(parsed.quarantined.map(({ bytes }) => bytes.toString()).join("")).toContain(broken.slice(0, 10));
    expect(parsed.accepted).toBe(parsed.events.length + parsed.quarantined.length);
  });

  test("that was cut off in the middle files what is whole", () => {
    const parsed = parseText(`[${JSON.stringify(good)},\r\n{"event":"open","em`);
    expect(parsed.events).toHaveLength(1);
    expect(parsed.quarantined[0]?.bytes.toString()).toBe('{"event":"open","em');
  });

  test("nested 10,000 deep in one item quarantines that item only", () => {
    const deep = `{"event":"open","timestamp":1764511327,"x":${"[".repeat(10_000)}${"]".repeat(10_000)}}`;
    const parsed = parseText(`[${deep},\r\n${JSON.stringify(good)}]\r\n`);
    expect(parsed.events).toHaveLength(1);
    expect(parsed.quarantined).toMatchObject([{ ordinal: 0, reason: "too_deep" }]);
    expect(parsed.quarantined[0]?.bytes.toString()).toBe(deep);
  });

  test("of five million opening brackets is answered", () => {
    expect(parseReceipt(Buffer.alloc(5_000_000, "["))).toMatchObject({ accepted: 1, events: [] });
  });
});

describe("an item", () => {
  test.each([
    ["has no type", { ...good, event: undefined }, "no_type"],
    ["has an empty type", { ...good, event: "" }, "no_type"],
    ["has a type that is no text", { ...good, event: 7 }, "bad_type"],
    ["has no timestamp (case 32)", { ...good, timestamp: undefined }, "no_timestamp"],
    ["has a timestamp that is no time", { ...good, timestamp: "soon" }, "bad_timestamp"],
    ["has a timestamp beyond any calendar", { ...good, timestamp: 1e20 }, "bad_timestamp"],
    ["is a number", 5, "not_object"],
    ["is a list", [], "not_object"],
    ["is null", null, "not_object"],
  ])("that %s is quarantined with its bytes, beside a good one", (_what, item, reason) => {
    const parsed = parse(item, good);
    expect(parsed.events.map(({ eventId }) => eventId)).toEqual(["ev1"]);
    expect(parsed.quarantined.map((entry) => [entry.ordinal, entry.reason, entry.bytes.toString()])).toEqual([
      [0, reason, JSON.stringify(item)],
    ]);
  });

  test.each([
    [1764511327, 1764511327000],
    [1764511327123, 1764511327123],
    ["1764511327", 1764511327000],
    [1764511327.5, 1764511327500],
  ])("with the timestamp %j happened at %d ms", (timestamp, expected) => {
    expect(only(parse({ ...good, timestamp })).occurredAtMs).toBe(expected);
  });

  test.each([
    ["welcome", ["welcome"]],
    [
      ["welcome", "b2b"],
      ["b2b", "welcome"],
    ],
    [[], []],
    [undefined, []],
    [null, []],
  ])("with the category %j has the categories %j (case 18)", (category, categories) => {
    expect(only(parse({ ...good, category })).categories).toEqual(categories);
  });

  test("with categories of other types keeps them in its detail", () => {
    const event = only(parse({ ...good, category: ["a", 5] }));
    expect(event.categories).toEqual(["a"]);
    expect(event.detail["category"]).toEqual(["a", 5]);
  });

  test.each([[undefined], [null], [""], [{}]])("with the message id %j names no message (case 53)", (id) => {
    expect(only(parse({ ...good, sg_message_id: id })).messageId).toBeNull();
  });

  test("without an event id has one made of its content, equal for equal items only (case 47)", () => {
    const { sg_event_id: _id, ...anonymous } = good;
    const reordered = Object.fromEntries(Object.entries(anonymous).toReversed());
    const [first, again, other] = [anonymous, reordered, { ...anonymous, timestamp: 1764511328 }].map(
      (item) => only(parse(item)).eventId,
    );
    expect(first).toMatch(/^fp:/);
    expect(again).toBe(first);
    expect(other).not.toBe(first);
  });

  test("with an id longer than an index entry may be has its hash, and the id in its detail", () => {
    const long = "x".repeat(4_000_000);
    const event = only(parse({ ...good, sg_event_id: long, sg_message_id: `${long}.1` }));
    expect(event.eventId).toMatch(/^sha256:.{43}$/);
    expect(event.messageId).toMatch(/^sha256:.{43}$/);
    expect(event.detail["sg_event_id"]).toBe(long);
  });

  test("keeps ids as they are written, and types in lower case (cases 63 and 64)", () => {
    expect(only(parse({ ...good, sg_event_id: "AbC_-=", event: "Processed" }))).toMatchObject({
      eventId: "AbC_-=",
      type: "processed",
    });
  });

  test("of an unknown type with unknown fields is filed, everything kept", () => {
    const event = only(parse({ ...good, event: "teleported", warp: { factor: 9 } }));
    expect(event.type).toBe("teleported");
    expect(event.args).toEqual({ warp: '{"factor":9}' });
  });

  test.each([
    ["ip", "unknown"],
    ["ip", "000.000.000.000"],
    ["status", "550"],
    ["status", "5.1.10"],
    ["asm_group_id", 123456],
    ["url_offset", { index: 0, type: "html" }],
    ["pool", { name: "main", id: 210 }],
    ["pool", { name: "main", id: "210" }],
    ["tls", 1],
    ["tls", "1"],
    ["bounce_classification", "A class of next year"],
    ["attempt", "3"],
    ["send_at", 0],
  ])("keeps %s %j in its detail as it came (cases 20 to 28)", (key, value) => {
    expect(only(parse({ ...good, [key]: value })).detail[key]).toEqual(value);
  });

  test.each(["not an address", "", "x".repeat(1000)])("with the address %j is filed (case 22)", (email) => {
    const event = only(parse({ ...good, email }));
    expect(event.recipient ?? "").toBe(email.slice(0, 320));
    expect(event.detail["email"]).toBe(email.length > 320 ? email : undefined);
  });

  test("has its custom args as text, whatever their names and types (cases 29 and 30)", () => {
    const event = only(parse({ ...good, order_id: 4711, "with space": "a", flag: true, none: null, list: [1, "b"] }));
    expect(event.args).toEqual({ order_id: "4711", "with space": "a", flag: "true", none: "null", list: '[1,"b"]' });
    expect(event.detail).not.toHaveProperty("order_id");
  });

  test("that names a key twice is filed with the last value, and says which keys it repeats (case 29)", () => {
    const twice =
      '{"email":"a@example.com","event":"open","timestamp":1764511327,"x":{"email":"no"},"y":"\\"email\\":","email":"b@example.com"}';
    const parsed = parseText(
      `[${JSON.stringify(good)},${twice},${JSON.stringify({ ...good, about: { email: 1, event: 2 } })}]`,
    );
    expect(parsed.events.map(({ recipient, detail }) => [recipient, detail["holdfast_repeated_keys"]])).toEqual([
      ["customer@example.com", undefined],
      ["b@example.com", ["email"]],
      ["customer@example.com", undefined],
    ]);
  });

  test("with a custom arg named __proto__ changes nobody's prototype", () => {
    const event = only(parseText(`[{"event":"open","timestamp":1764511327,"__proto__":{"polluted":true}}]`));
    expect(Object.keys(event.args)).toEqual(["__proto__"]);
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  });

  test("keeps every digit of numbers that a double cannot hold", () => {
    const event = only(
      parseText('[{"event":"open","timestamp":1764511327,"big":12345678901234567890,"pool":{"id":1e400}}]'),
    );
    expect(event.args["big"]).toBe("12345678901234567890");
    expect(event.detail["pool"]).toEqual({ id: "1e400" });
  });

  test.each([
    '"n":N',
    '"n" :N',
    '"n"\t:\n N',
    '"n": [N]',
    '"n":[1, N]',
    String.raw`"n\"":N`,
    '"n":[[N]]',
    '"n":[{"m":N}]',
  ])("keeps them wherever they stand: %s", (place) => {
    for (const number of [
      "12345678901234567890",
      "-12345678901234567890",
      "1e400",
      "-1.5E-400",
      "0.12345678901234567890",
    ]) {
      const member = place.replace("N", () => number);
      const event = only(parseText(`[{"event":"open","timestamp":1764511327,"ip":"2001:db8::3e5",${member}}]`));
      expect(JSON.stringify([event.args, event.detail])).toContain(number);
    }
  });

  test("with NUL and lone surrogates is made fit for PostgreSQL, and counted (cases 38 and 39)", () => {
    const parsed = parseText(
      String.raw`[{"event":"bounce","timestamp":1764511327,"reason":"bad\u0000byte \ud83d","k\u0000":"\udc00"}]`,
    );
    const event = only(parsed);
    expect(event.detail["reason"]).toBe("bad\uFFFDbyte \uFFFD");
    expect(event.args).toEqual({ "k\uFFFD": "\uFFFD" });
    expect(parsed.sanitised).toBe(1);
  });

  test("with bytes that are not UTF-8 is filed, and counted", () => {
    const parsed = parseReceipt(
      Buffer.concat([
        Buffer.from('[{"event":"open","timestamp":1764511327,"name":"'),
        Buffer.from([0xff, 0xfe]),
        Buffer.from('"}]'),
      ]),
    );
    expect(only(parsed).args).toEqual({ name: "\uFFFD\uFFFD" });
    expect(parsed.sanitised).toBe(1);
  });

  test("in other scripts stays as it is (case 5)", () => {
    const parsed = parse({ ...good, name: "Zoë 日本 😀" });
    expect(only(parsed).args).toEqual({ name: "Zoë 日本 😀" });
    expect(parsed.sanitised).toBe(0);
  });

  test("about the account names no message and no recipient (case 43)", () => {
    const event = only(
      parse({ event: "account_status_change", sg_event_id: "a", timestamp: 1709142428, type: "compliance_suspend" }),
    );
    expect(event).toMatchObject({ messageId: null, recipient: null, detail: { type: "compliance_suspend" }, args: {} });
  });

  test("with custom args beyond SendGrid's own limit keeps the rest in its detail", () => {
    const event = only(parse({ ...good, small: "a", large: "x".repeat(30_000) }));
    expect(event.args).toEqual({ small: "a" });
    expect(event.detail["large"]).toHaveLength(30_000);
  });
});

describe("parsing any bytes", () => {
  const itemsInSomeForm = fc.oneof(
    fc.json({ maxDepth: 4 }),
    fc
      .array(fc.oneof(fc.constant(JSON.stringify(good)), fc.json(), fc.string()), { maxLength: 8 })
      .map((items) => `[${items.join(",\r\n")}]\r\n`),
    fc.string({ unit: "binary" }),
  );

  test("never throws and loses no item: accepted = events + quarantined", () => {
    fc.assert(
      fc.property(
        fc.oneof(
          itemsInSomeForm.map((text) => Buffer.from(text)),
          fc.uint8Array().map((bytes) => Buffer.from(bytes)),
        ),
        (body) => {
          const parsed = parseReceipt(body);
          expect(parsed.events.length + parsed.quarantined.length).toBe(parsed.accepted);
          const ordinals = [...parsed.events, ...parsed.quarantined].map(({ ordinal }) => ordinal);
          expect(new Set(ordinals).size).toBe(ordinals.length);
        },
      ),
      { numRuns: 2_000 },
    );
  });

  test("keeps every good item of an array whatever stands between them", () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(fc.constant("good" as const), fc.json({ maxDepth: 3 })), { minLength: 1, maxLength: 10 }),
        (slots) => {
          const text = slots.map((slot, index) =>
            slot === "good" ? JSON.stringify({ ...good, sg_event_id: `ev${index}` }) : slot,
          );
          const parsed = parseText(`[${text.join(",\r\n")}]\r\n`);
          const expected = slots.flatMap((slot, index) => (slot === "good" ? [`ev${index}`] : []));
          expect(parsed.events.filter(({ type }) => type === "delivered").map(({ eventId }) => eventId)).toEqual(
            expected,
          );
        },
      ),
    );
  });
});
