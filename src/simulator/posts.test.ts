import { createHash, generateKeyPairSync } from "node:crypto";
import { EventWebhook } from "@sendgrid/eventwebhook";
import { describe, expect, it } from "vitest";
import { publicKeyText, SIGNATURE_HEADER, TIMESTAMP_HEADER, verifySignature } from "../sendgrid/signature.ts";
import { BROKEN_BODIES, BROKEN_ITEMS, HUGE_NUMBER_MARK, INVALID_UTF8_MARK } from "./poison.ts";
import { simulatePosts, type Post, type PostingOptions } from "./posts.ts";
import type { TrafficOptions } from "./traffic.ts";
import { encodeBody, encodeItem, webhookHeaders } from "./wire.ts";

const TRAFFIC: TrafficOptions = {
  seed: "7",
  startSeconds: 1_770_000_000,
  periodSeconds: 7_200,
  events: 2_000,
  twins: false,
  missingIds: false,
  poison: false,
};
const POSTING: PostingOptions = { batch: 100, duplicates: 0, shuffle: false };
const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" });

function posts(traffic: Partial<TrafficOptions> = {}, posting: Partial<PostingOptions> = {}): Post[] {
  return [...simulatePosts({ ...TRAFFIC, ...traffic }, { ...POSTING, ...posting })];
}

function digest(made: readonly Post[]): string {
  const hash = createHash("sha256");
  for (const post of made) hash.update(post.body);
  return hash.digest("hex");
}

function timesOf(made: readonly Post[]): number[] {
  return made.flatMap((post) =>
    (JSON.parse(post.body.toString()) as { timestamp: number }[]).map(({ timestamp }) => timestamp),
  );
}

describe("POSTs of the simulated traffic", () => {
  it("have the same bytes for the same seed, and others for another", () => {
    const everything = [
      { twins: true, missingIds: true, poison: true },
      { duplicates: 0.2, shuffle: true },
    ] as const;
    expect(digest(posts(...everything))).toBe(digest(posts(...everything)));
    expect(digest(posts({ seed: "8" }))).not.toBe(digest(posts()));
  });

  it("are written as SendGrid writes them: sorted keys, no spaces, < and > as they are, CRLF after each item", () => {
    expect(encodeItem({ timestamp: 1, email: "a", "smtp-id": "<x@y>", pool: { name: "n", id: 2 } })).toBe(
      '{"email":"a","pool":{"id":2,"name":"n"},"smtp-id":"<x@y>","timestamp":1}',
    );
    expect(encodeBody(['{"a":1}', '{"b":2}']).toString()).toBe('[{"a":1},\r\n{"b":2}]\r\n');
    const [first] = posts();
    const text = first?.body.toString() ?? "";
    expect(text.endsWith("}]\r\n")).toBe(true);
    expect(text.split(",\r\n")).toHaveLength(100);
    const { "user-agent": agent, "content-type": type } = webhookHeaders(privateKey, Buffer.from(text), "1");
    expect([agent, type]).toEqual(["SendGrid Event API", "application/json;charset=utf-8"]);
  });

  it("are each accepted by the official @sendgrid/eventwebhook, and no longer when a byte is lost", () => {
    const official = new EventWebhook();
    const key = official.convertPublicKeyToECDSA(publicKeyText(publicKey));
    const made = posts({ events: 300 }, { batch: 20, duplicates: 0.1, shuffle: true });
    for (const { body } of made) {
      const headers = webhookHeaders(privateKey, body, "1770000000");
      const verify = (text: string): boolean =>
        official.verifySignature(key, text, headers[SIGNATURE_HEADER] ?? "", headers[TIMESTAMP_HEADER] ?? "");
      expect(verify(body.toString())).toBe(true);
      expect(verify(body.toString().trimEnd())).toBe(false);
    }
    expect(made.length).toBeGreaterThan(15);
  });

  it("hold every event once, in the order of time, unless they are told to do otherwise", () => {
    const made = posts();
    expect(made.flatMap((post) => post.events).sort((a, b) => a - b)).toEqual(
      Array.from({ length: 2_000 }, (_event, index) => index),
    );
    const times = timesOf(made);
    expect(times).toEqual(times.toSorted((a, b) => a - b));
    const shuffled = timesOf(posts({}, { shuffle: true }));
    expect(shuffled).not.toEqual(times);
    expect(shuffled.toSorted((a, b) => a - b)).toEqual(times);
  });

  it("repeat as large a share of the events as asked for, and tell SendGrid of each once", () => {
    const made = posts({}, { duplicates: 0.25 });
    const copies = made.flatMap((post) => post.events).length - 2_000;
    expect(copies).toBeGreaterThan(400);
    expect(copies).toBeLessThan(600);
    expect(made.flatMap((post) => post.news)).toHaveLength(2_000);
  });

  it("bring twins after what they repeat, not as news", () => {
    const made = posts({ twins: true });
    expect(made.flatMap((post) => post.news)).toHaveLength(2_000);
    const events = made.flatMap((post) => post.events);
    expect(events.length).toBeGreaterThan(2_000);
    expect(new Set(events).size).toBe(events.length);
  });

  it("stay within SendGrid's size, however large the batch", () => {
    for (const { body } of posts({}, { batch: 10_000 })) expect(body.length).toBeLessThan(800 * 1024);
  });
});

describe("poison", () => {
  it("holds every kind at least once, even in a short run, and says how many must be quarantined", () => {
    for (const events of [5, 3_000]) {
      const made = posts({ poison: true, events });
      const text = made.map((post) => post.body.toString()).join("");
      for (const item of BROKEN_ITEMS) expect(text).toContain(item);
      const bodies = new Set(made.map((post) => post.body.toString()));
      expect(BROKEN_BODIES.filter((body) => !bodies.has(body))).toEqual([]);
      expect(made.filter((post) => post.forged).length).toBeGreaterThan(0);
      expect(made.reduce((sum, post) => sum + post.broken, 0)).toBeGreaterThanOrEqual(
        BROKEN_ITEMS.length + BROKEN_BODIES.length,
      );
      expect(new Set(made.flatMap((post) => post.events)).size).toBe(events);
    }
  });

  it("makes good events hard to store: NUL, lone surrogates, invalid UTF-8, huge numbers, __proto__", () => {
    const bytes = Buffer.concat(posts({ poison: true, events: 5_000 }).map((post) => post.body)).toString("latin1");
    const signs = [String.raw`\u0000`, String.raw`\ud83d`, String.raw`k\udc00y`, "\u00FF\u00FE\u00FD"];
    const values = ["123456789012345678901234567890", '"__proto__":{"admin":true}'];
    expect([...signs, ...values].filter((sign) => !bytes.includes(sign))).toEqual([]);
    const marks = [INVALID_UTF8_MARK, HUGE_NUMBER_MARK].map((mark) => Buffer.from(mark).toString("latin1"));
    expect(marks.filter((mark) => bytes.includes(mark))).toEqual([]);
  });

  it("is signed over exactly these bytes", () => {
    const post = posts({ poison: true }).find(({ body }) => body.includes(Buffer.from([0xff, 0xfe, 0xfd])));
    const body = post?.body ?? Buffer.alloc(0);
    const headers = webhookHeaders(privateKey, body, "1770000000");
    expect(verifySignature(publicKey, "1770000000", body, headers[SIGNATURE_HEADER] ?? "")).toBe(true);
  });
});
