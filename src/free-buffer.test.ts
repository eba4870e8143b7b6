import { expect, test } from "vitest";
import { freeBuffer } from "./free-buffer.ts";

test("A large buffer that is freed has no memory any more, nor has any other view of it", () => {
  const buffer = Buffer.allocUnsafeSlow(100_000);
  const part = buffer.subarray(10, 20);
  freeBuffer(part);
  expect([buffer.length, part.length]).toEqual([0, 0]);
});

test("A small buffer stays as it is, and so do its neighbours in the memory that Node shares among them", () => {
  const buffers = Array.from({ length: 10 }, () => Buffer.from("kept"));
  for (const buffer of buffers) freeBuffer(buffer);
  expect(buffers.map(String)).toEqual(buffers.map(() => "kept"));
});

test("A buffer in memory that threads share stays as it is", () => {
  const buffer = Buffer.from(new SharedArrayBuffer(100_000));
  freeBuffer(buffer);
  expect(buffer.length).toBe(100_000);
});
