import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BODY_BYTES_MAX } from "./limits.ts";
import { packBody, unpackBody, unpackDamagedBody, type Unpackers } from "./receipt-body.ts";
import { RECEIPT_DICTIONARY_1 } from "./receipt-dictionary-1.ts";
import { RECEIPT_DICTIONARY_2 } from "./receipt-dictionary-2.ts";

const EVENT =
  '[{"email":"a@example.com","event":"delivered","ip":"192.0.2.1","response":"250 OK","sg_event_id":"abc","sg_message_id":"def.recvd-1.0","timestamp":1767225600,"tls":1}]\r\n';

describe("a body", () => {
  it("comes out as it went in, whatever its bytes are", () => {
    const bodies = fc.oneof(
      fc.uint8Array({ maxLength: 5_000 }).map((bytes) => Buffer.from(bytes)),
      fc.tuple(fc.json(), fc.nat(200)).map(([json, times]) => Buffer.from(`[${`${json},\r\n`.repeat(times)}]`)),
    );
    const unpackers: Unpackers = new WeakMap();
    fc.assert(
      fc.property(bodies, (body) => {
        const packed = packBody(body);
        expect(unpackBody(packed).equals(body)).toBe(true);
        expect(unpackBody(packed, undefined, unpackers).equals(body)).toBe(true);
      }),
    );
  });

  it("of the largest size comes out as it went in", () => {
    const body = Buffer.alloc(BODY_BYTES_MAX, EVENT);
    const packed = packBody(body);
    expect(packed.body.length).toBeLessThan(body.length / 100);
    expect(unpackBody(packed).equals(body)).toBe(true);
    expect(unpackBody(packed, undefined, new WeakMap()).equals(body)).toBe(true);
  });

  it("is read rightly whatever was read before it", () => {
    const packed = packBody(Buffer.from(EVENT));
    // The block is the last one no more: all of it is there, but zstd waits for another.
    const unfinished = { ...packed, body: Buffer.from(packed.body) };
    const blockAt = 4 + 1 + 1;
    unfinished.body[blockAt] = (unfinished.body[blockAt] ?? 0) - 1;
    const unpackers: Unpackers = new WeakMap();
    expect(unpackBody(unfinished, undefined, unpackers).toString()).toBe(EVENT);
    expect(unpackBody(packed, undefined, unpackers).toString()).toBe(EVENT);
  });

  it("that would only grow is kept as it came", () => {
    const body = createHash("sha256").update("random").digest();
    expect(packBody(body)).toEqual({ codec: 0, bytes: null, body });
    expect(packBody(Buffer.alloc(0))).toEqual({ codec: 0, bytes: null, body: Buffer.alloc(0) });
  });

  it("of one event shrinks to less than half, by the dictionary", () => {
    expect(packBody(Buffer.from(EVENT)).body.length).toBeLessThan(EVENT.length / 2);
  });

  it.each([
    [0, EVENT, "latin1"],
    [1, "KLUv/SCp7QEAwFthT0thYmNkZWYxLjA2NzIyNTYwMF0NCgsAjuWC65RoqF82sgOTMVYO7h8brWUJewMN5G+GwcF6ToEhGw==", "base64"],
    [2, "KLUv/SCp5QEA08EF0FYpr43fd761DBGZfQll0iyeQ8OABQEM/MoFlga7EOEMoljgrAgTx9hWyYqMCDaC5UovOLGxl+AB", "base64"],
  ] as const)("that was once kept by codec %i is still read", (codec, kept, encoding) => {
    const packed = { codec, bytes: codec === 0 ? null : EVENT.length, body: Buffer.from(kept, encoding) };
    expect(unpackBody(packed).toString()).toBe(EVENT);
  });

  it("packed with a dictionary of the ledger's own needs that one, and is smaller for it", () => {
    const dictionary = Buffer.concat([RECEIPT_DICTIONARY_2, Buffer.from(EVENT)]);
    const packed = packBody(Buffer.from(EVENT), { number: 7, dictionary });
    expect(packed.codec).toBe(-7);
    expect(packed.body.length).toBeLessThan(packBody(Buffer.from(EVENT)).body.length / 2);
    expect(unpackBody(packed, new Map([[7, dictionary]])).toString()).toBe(EVENT);
    expect(() => unpackBody(packed)).toThrow("is not known");
    expect(unpackDamagedBody(packed)).toBe(packed.body);
  });

  it("that was damaged is refused, and for an audit is what stands there", () => {
    const packed = packBody(Buffer.from(EVENT));
    const damaged = { ...packed, body: packed.body.subarray(0, -3) };
    expect(() => unpackBody(damaged)).toThrow();
    expect(unpackDamagedBody(damaged)).toBe(damaged.body);
    expect(() => unpackBody({ ...packed, bytes: 5 })).toThrow("length");
    expect(() => unpackBody({ ...packed, codec: 9 })).toThrow("is not known");
  });
});

it.each([
  ["first", RECEIPT_DICTIONARY_1, "e43754d280d928c96b6fb72c39e6e2a36cafae656f27859ec58253bbb1c8e2b6"],
  ["second", RECEIPT_DICTIONARY_2, "849fd7829f283cbb818070db3d2c18762bec1409dbf2d00f695b431f920c8fdd"],
])("the %s dictionary is what it always was, or old receipts could not be read", (_which, dictionary, sha256) => {
  expect(createHash("sha256").update(dictionary).digest("hex")).toBe(sha256);
});
