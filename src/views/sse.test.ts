import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { connect, type AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { createSseReader, type SseReader } from "./sse.ts";

let server: Server | undefined;

afterEach(async () => {
  server?.closeAllConnections();
  await new Promise((resolve) => (server === undefined ? resolve(undefined) : server.close(resolve)));
  server = undefined;
});

/** A server whose only answer is a stream; gives the stream once somebody has asked. */
async function serve(options: {
  bytesMax: number;
  onCutOff: () => void;
}): Promise<{ port: number; reader: Promise<SseReader> }> {
  let answer: (reader: SseReader) => void = () => undefined;
  const reader = new Promise<SseReader>((resolve) => (answer = resolve));
  server = createServer((_request, response) => {
    const made = createSseReader({ response, ...options });
    made.body.pipe(response);
    answer(made);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { port: (server.address() as AddressInfo).port, reader };
}

describe("a reader of the stream", () => {
  it("is cut off when it does not read, after a bounded amount", async () => {
    let cutOff = 0;
    const { port, reader } = await serve({ bytesMax: 100_000, onCutOff: () => (cutOff += 1) });
    const socket = connect(port, "127.0.0.1");
    socket.pause();
    socket.on("error", () => undefined);
    socket.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
    const sse = await reader;
    const text = "x".repeat(50_000);
    let waiting = 0;
    while (cutOff === 0) {
      sse.send("events", text);
      waiting = Math.max(waiting, sse.body.readableLength);
      // Lets the socket take what it can; what piles up is what the reader leaves.
      await new Promise((resolve) => setImmediate(resolve));
    }
    await sse.closed;
    expect(waiting).toBeLessThan(100_000 + 2 * 50_100);
    expect(sse.body.destroyed).toBe(true);
    sse.send("events", text);
    expect(cutOff).toBe(1);
    socket.destroy();
  });

  it("gets messages whose data is one line of JSON, and comments as heartbeat, until the end", async () => {
    const { port, reader } = await serve({ bytesMax: 1000, onCutOff: () => undefined });
    const response = await fetch(`http://127.0.0.1:${port}/`);
    const sse = await reader;
    sse.send("events", { text: "a\nb\r\u2028" }, "i-1");
    sse.heartbeat();
    sse.end();
    sse.send("late", {});
    expect(await response.text()).toBe(
      `retry: 2000\n\nid: i-1\nevent: events\ndata: {"text":"a\\nb\\r\u2028"}\n\n:\n\n`,
    );
    await sse.closed;
  });
});
