import { once } from "node:events";
import { createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { type Connection, createConnection, targetOf } from "./connection.ts";

let server: Server | undefined;
let connection: Connection | undefined;
const sockets = new Set<Socket>();

afterEach(() => {
  connection?.close();
  for (const socket of sockets) socket.destroy();
  sockets.clear();
  server?.close();
});

const HEAD = "content-length: 3\r\n";
const BODY = Buffer.from("abc");

/** A receiver that does what it is told with each whole request it has read, and how many connections were made to it. */
async function receiver(answer: (socket: Socket, request: string) => void): Promise<{ made(): number }> {
  let made = 0;
  server = createServer((socket) => {
    made += 1;
    sockets.add(socket);
    let text = "";
    socket.on("error", () => undefined).setEncoding("latin1");
    socket.on("data", (chunk: string) => {
      text += chunk;
      const length = Number(/content-length: (\d+)/.exec(text)?.[1] ?? Number.NaN);
      const end = text.indexOf("\r\n\r\n") + 4 + length;
      if (text.length < end) return;
      const request = text.slice(0, end);
      text = text.slice(end);
      answer(socket, request);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  connection = createConnection(targetOf(`http://127.0.0.1:${port}/hook`));
  return { made: () => made };
}

const post = async (head = HEAD, body: Buffer = BODY): Promise<number> =>
  new Promise((resolve) => {
    connection?.post(head, body, resolve);
  });

describe("A connection of the load generator", () => {
  test("sends the head, the given header lines and the body, whatever the body's length, on one connection", async () => {
    const seen: string[] = [];
    const { made } = await receiver((socket, request) => {
      seen.push(request);
      socket.write("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}");
    });
    const bodies = [0, 1, 16_384, 16_385, 700_000].map((length) => Buffer.alloc(length, "x"));
    for (const body of bodies) expect(await post(`content-length: ${body.length}\r\nx-a: b\r\n`, body)).toBe(200);
    for (const [index, body] of bodies.entries()) {
      const [head = "", sent] = seen[index]?.split("\r\n\r\n") ?? [];
      const [line, host, ...others] = head.split("\r\n");
      expect(line).toBe("POST /hook HTTP/1.1");
      expect(host).toMatch(/^host: 127\.0\.0\.1:\d+$/);
      expect(others).toEqual([`content-length: ${body.length}`, "x-a: b"]);
      expect(sent).toBe(body.toString());
    }
    expect(made()).toBe(1);
  });

  test.each([
    ["with a length", ["HTTP/1.1 202 Accepted\r\nContent-Length: 5\r\n\r\nhello"]],
    ["without a body", ["HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n"]],
    ["in chunks", ["HTTP/1.1 202 Accepted\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"]],
    ["byte by byte", "HTTP/1.1 202 Accepted\r\ncontent-length: 5\r\n\r\nhello".split("")],
    [
      "longer than what is read at once",
      [`HTTP/1.1 202 Accepted\r\ncontent-length: 99999\r\n\r\n${"x".repeat(99_999)}`],
    ],
  ])("takes an answer %s, and the next one on the same connection", async (_how, pieces) => {
    const { made } = await receiver((socket) => {
      socket.setNoDelay(true);
      const next = (index: number): void => {
        const piece = pieces[index];
        if (piece !== undefined) socket.write(piece, () => setImmediate(next, index + 1));
      };
      next(0);
    });
    expect([await post(), await post(), await post()]).toEqual([202, 202, 202]);
    expect(made()).toBe(1);
  });

  test.each([
    ["that says so", "HTTP/1.1 503 Busy\r\nconnection: close\r\ncontent-length: 4\r\n\r\nbusy"],
    ["without a length", "HTTP/1.1 503 Busy\r\n\r\nbusy"],
  ])("takes an answer %s as the last of its connection, and makes another one", async (_how, answer) => {
    const { made } = await receiver((socket) => socket.end(answer));
    expect([await post(), await post()]).toEqual([503, 503]);
    expect(made()).toBe(2);
  });

  test.each([
    ["ends without an answer", (socket: Socket) => socket.end()],
    ["is reset", (socket: Socket) => socket.resetAndDestroy()],
    ["ends within an answer", (socket: Socket) => socket.end("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhel")],
    ["answers no HTTP", (socket: Socket) => socket.write("what?\r\n\r\n")],
  ])("says 0 of a POST whose connection %s, once, and makes another one", async (_how, fail) => {
    let posts = 0;
    const { made } = await receiver((socket) => {
      posts += 1;
      if (posts === 1) fail(socket);
      else socket.write("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
    });
    expect([await post(), await post()]).toEqual([0, 200]);
    expect(made()).toBe(2);
  });

  test("does not send a POST into a connection that its receiver ended while nothing was asked", async () => {
    const { made } = await receiver((socket) => socket.write("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"));
    expect(await post()).toBe(200);
    const [socket] = sockets;
    socket?.end();
    if (socket !== undefined) await once(socket, "close");
    expect(await post()).toBe(200);
    expect(made()).toBe(2);
  });

  test("says 0 where nobody listens", async () => {
    await receiver(() => undefined);
    server?.close();
    if (server !== undefined) await once(server, "close");
    expect(await post()).toBe(0);
  });
});
