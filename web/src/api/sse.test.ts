import { describe, expect, test } from "vitest";
import { createSseParser, type SseMessage } from "./sse.ts";

function parse(chunks: readonly string[]): SseMessage[] {
  const messages: SseMessage[] = [];
  const push = createSseParser((message) => messages.push(message));
  for (const chunk of chunks) push(chunk);
  return messages;
}

const STREAM = 'retry: 2000\n\n:\n\nevent: balance\ndata: {"a":1}\n\nid: i-7\nevent: events\ndata: [\ndata: ]\n\n';

describe("the stream of events", () => {
  test("messages have their name, their data and their id; comments and retry give none", () => {
    expect(parse([STREAM])).toEqual([
      { event: "balance", data: '{"a":1}', id: undefined },
      { event: "events", data: "[\n]", id: "i-7" },
    ]);
  });

  test("it does not matter where the network cuts it, nor which line ends it has", () => {
    const whole = parse([STREAM]);
    expect(parse(STREAM.split(""))).toEqual(whole);
    expect(parse(STREAM.replaceAll("\n", "\r\n").split(""))).toEqual(whole);
  });

  test("a message without a name is a message", () => {
    expect(parse(["data:x\n\n"])).toEqual([{ event: "message", data: "x", id: undefined }]);
  });

  test("half a message is none", () => {
    expect(parse(["event: balance\ndata: {"])).toEqual([]);
  });

  test("a line that never ends is given up instead of filling the memory", () => {
    const push = createSseParser(() => undefined);
    const megabyte = "x".repeat(1024 * 1024);
    expect(() => {
      for (let count = 0; count < 20; count += 1) push(megabyte);
    }).toThrow(RangeError);
  });
});
