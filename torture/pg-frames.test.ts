import { describe, expect, test } from "vitest";
import { createFrameReader, statementOf } from "./pg-frames.ts";

function frame(type: string, payload: string): Buffer {
  const body = Buffer.from(payload);
  const head = Buffer.alloc(type.length + 4);
  head.write(type);
  head.writeUInt32BE(body.length + 4, type.length);
  return Buffer.concat([head, body]);
}

describe("the frames of PostgreSQL's protocol", () => {
  test("come whole, however the bytes are cut", () => {
    const bytes = Buffer.concat([frame("", "startup"), frame("Q", "COMMIT\0"), frame("X", "")]);
    for (let size = 1; size <= bytes.length; size += 1) {
      const read = createFrameReader(1);
      const frames = [];
      for (let at = 0; at < bytes.length; at += size) frames.push(...read(bytes.subarray(at, at + size)));
      expect(frames.map(({ type, payload }) => [type, payload.toString()])).toEqual([
        ["", "startup"],
        ["Q", "COMMIT\0"],
        ["X", ""],
      ]);
    }
  });

  test("say which statement they run: a query's text, or the name that a Bind binds", () => {
    const read = createFrameReader(0);
    const [query, bind, sync] = read(
      Buffer.concat([frame("Q", "COMMIT\0"), frame("B", "\0append 4\0rest"), frame("S", "")]),
    );
    expect(query && statementOf(query)).toBe("COMMIT");
    expect(bind && statementOf(bind)).toBe("append 4");
    expect(sync && statementOf(sync)).toBeUndefined();
  });
});
