import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { expect, test } from "vitest";
import { ClientError } from "../errors.ts";
import { BODY_BYTES_MAX } from "../limits.ts";
import { readBody } from "./body.ts";

/** A request that brings its body in these parts. */
function request(parts: Iterable<Buffer>, headers: IncomingHttpHeaders = {}): IncomingMessage {
  return Object.assign(Readable.from(parts, { objectMode: false }), { headers }) as IncomingMessage;
}

function filled(bytes: number, value: number): Buffer {
  return Buffer.alloc(bytes, value);
}

test.each([[[]], [[5]], [[1, 100_000, 7, 65_536, 0, 40_000]]])(
  "A body that came in parts of %j bytes is whole, and stands behind what is signed with it",
  async (sizes) => {
    const parts = sizes.map((bytes, index) => filled(bytes, index + 1));
    const whole = Buffer.concat(parts);
    const { bytes, signed } = await readBody(request(parts, { "content-length": String(whole.length) }), "1764511327");
    expect(bytes.equals(whole)).toBe(true);
    expect(signed.equals(Buffer.concat([Buffer.from("1764511327"), whole]))).toBe(true);
    // One piece of memory, so that nothing is copied to check the signature.
    expect(bytes.buffer).toBe(signed.buffer);
  },
);

test("A body whose length nobody announced is read up to the limit and not beyond", async () => {
  const parts = (more: number): Buffer[] => [filled(BODY_BYTES_MAX - 1, 1), filled(1 + more, 2)];
  expect((await readBody(request(parts(0)), "")).bytes).toHaveLength(BODY_BYTES_MAX);
  await expect(readBody(request(parts(1)), "")).rejects.toThrow(new ClientError("body_too_large"));
});

test("A body that announces more than the limit is refused before it is read", async () => {
  const announcing = request([filled(1, 1)], { "content-length": String(BODY_BYTES_MAX + 1) });
  await expect(readBody(announcing, "")).rejects.toThrow(new ClientError("body_too_large"));
  expect(announcing.readableFlowing).toBeNull();
});

test.each([4, 6])("A body of 5 bytes that announced %d is incomplete", async (announced) => {
  const wrong = request([filled(5, 1)], { "content-length": String(announced) });
  await expect(readBody(wrong, "")).rejects.toThrow(new ClientError("body_incomplete"));
});

test("A body whose sender goes away is incomplete", async () => {
  const broken = request(
    (function* () {
      yield filled(5, 1);
      throw new Error("aborted");
    })(),
  );
  await expect(readBody(broken, "")).rejects.toThrow(new ClientError("body_incomplete"));
});
