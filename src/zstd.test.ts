import { randomBytes } from "node:crypto";
import { zstdCompressSync, zstdDecompressSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createPacker, createUnpacker } from "./zstd.ts";

const dictionary = Buffer.from(
  '{"email":"a@example.com","event":"delivered","response":"250 OK","timestamp":1767225600}'.repeat(3),
);
const BYTES_MAX = 4096;

const anyBytes = fc.uint8Array({ maxLength: BYTES_MAX }).map((bytes) => Buffer.from(bytes));
const text = fc
  .tuple(fc.json(), fc.integer({ min: 1, max: 40 }))
  .map(([json, times]) => Buffer.from(json.repeat(times)));
const bodies = fc.array(
  fc.oneof(
    anyBytes,
    text.map((bytes) => bytes.subarray(0, BYTES_MAX)),
  ),
  { minLength: 1, maxLength: 8 },
);

describe("a packer", () => {
  it("makes frames of which each can be read by itself, whatever it packed before", () => {
    const pack = createPacker(dictionary, 3);
    fc.assert(
      fc.property(bodies, (all) => {
        const frames = all.map(pack);
        for (const [index, frame] of frames.entries()) {
          expect(zstdDecompressSync(frame, { dictionary }).equals(all[index] ?? Buffer.alloc(0))).toBe(true);
        }
      }),
    );
  });

  it("packs what needs more room than it has at once", () => {
    const pack = createPacker(dictionary, 1);
    const random = randomBytes(300_000);
    expect(zstdDecompressSync(pack(random), { dictionary }).equals(random)).toBe(true);
    expect(zstdDecompressSync(pack(Buffer.from("next")), { dictionary }).toString()).toBe("next");
  });
});

describe("an unpacker", () => {
  it("reads frames one after the other", () => {
    const unpack = createUnpacker(dictionary, BYTES_MAX);
    fc.assert(
      fc.property(bodies, (all) => {
        for (const body of all) {
          const unpacked = unpack(zstdCompressSync(body, { dictionary }), body.length);
          expect(unpacked?.equals(body)).toBe(true);
        }
      }),
    );
  });

  it("reads no frame wrongly after a damaged one, and the second at the latest", () => {
    const unpack = createUnpacker(dictionary, BYTES_MAX);
    const frame = zstdCompressSync("an event that was delivered", { dictionary });
    const damage = fc.oneof(
      fc.nat().map((at) => (bytes: Buffer) => bytes.subarray(0, at % bytes.length)),
      fc.tuple(fc.nat(), fc.nat(255)).map(([at, value]) => (bytes: Buffer) => {
        const damaged = Buffer.from(bytes);
        damaged[at % bytes.length] = value;
        return damaged;
      }),
      fc.uint8Array({ minLength: 1 }).map((more) => (bytes: Buffer) => Buffer.concat([bytes, more])),
    );
    fc.assert(
      fc.property(bodies, damage, ([body = Buffer.alloc(0)], harm) => {
        unpack(harm(zstdCompressSync(body, { dictionary })), body.length);
        expect([undefined, "an event that was delivered"]).toContain(unpack(frame, 27)?.toString());
        expect(unpack(frame, 27)?.toString()).toBe("an event that was delivered");
      }),
      { numRuns: 1_000 },
    );
  });

  it("knows a frame of another length, or longer than it unpacks, from a right one", () => {
    const unpack = createUnpacker(dictionary, BYTES_MAX);
    const frame = zstdCompressSync("x".repeat(BYTES_MAX), { dictionary });
    expect(unpack(frame, BYTES_MAX - 1)).toBeUndefined();
    expect(unpack(frame, BYTES_MAX)?.length).toBe(BYTES_MAX);
    expect(unpack(zstdCompressSync("x".repeat(BYTES_MAX + 1), { dictionary }), BYTES_MAX + 1)).toBeUndefined();
    expect(unpack(Buffer.from("not a frame"), 11)).toBeUndefined();
  });
});
