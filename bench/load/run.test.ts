import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import type { LoadReport, RunOrder } from "./orders.ts";
import { runLoad } from "./run.ts";

let server: Server | undefined;
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

interface Seen {
  /** Bodies in the order of their arrival. */
  bodies: string[];
  /** The most that were open at once. */
  openMax: number;
}

/** A receiver that answers with `statusOf` the body, some turns of the event loop later. */
async function startReceiver(statusOf: (body: string) => number): Promise<{ url: string; seen: Seen }> {
  const seen: Seen = { bodies: [], openMax: 0 };
  let open = 0;
  server = createServer((request, response) => {
    open += 1;
    seen.openMax = Math.max(seen.openMax, open);
    let body = "";
    request.on("data", (chunk: Buffer) => (body += chunk.toString()));
    request.on("end", () => {
      seen.bodies.push(body);
      setTimeout(() => {
        open -= 1;
        const status = statusOf(body);
        if (status === 0) request.socket.destroy();
        else response.writeHead(status).end("{}");
      }, 5);
    });
  });
  await new Promise<void>((resolve) => server?.listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`, seen };
}

async function run(order: Partial<RunOrder> & { url: string }, doubledOneIn = 0): Promise<LoadReport> {
  const whole: RunOrder = { kind: "run", connections: 4, warmUpMs: 0, measureMs: Infinity, ...order };
  return runLoad({
    order: whole,
    doubledOneIn,
    postAt: (number) => ({
      body: Buffer.from(`${number}`),
      events: 10,
      head: `content-length: ${`${number}`.length}\r\n`,
    }),
  });
}

describe("the load generator", () => {
  it("sends every POST once on as many connections as it was told, and counts what was answered", async () => {
    const { url, seen } = await startReceiver(() => 200);
    const report = await run({ url, postsMax: 20 });
    expect(seen.bodies.map(Number).sort((a, b) => a - b)).toEqual(
      Array.from({ length: 20 }, (_post, number) => number),
    );
    expect(seen.openMax).toBe(4);
    expect(report).toMatchObject({ answered: 20, eventsAcknowledged: 200, refused: {}, nextPost: 20 });
    expect(report.seconds).toBeGreaterThan(0);
    expect(report.p99Ms).toBeGreaterThanOrEqual(report.p50Ms);
  });

  it("sends one of ten twice at once, and counts its events once", async () => {
    const { url, seen } = await startReceiver(() => 200);
    const report = await run({ url, postsMax: 20 }, 10);
    expect(seen.bodies).toHaveLength(22);
    expect(seen.bodies.filter((body) => body === "9")).toHaveLength(2);
    expect(report).toMatchObject({ answered: 22, eventsAcknowledged: 200 });
  });

  it("counts refusals and broken connections apart, and goes on", async () => {
    const { url } = await startReceiver((body) => ({ "3": 503, "5": 0 })[body] ?? 200);
    const report = await run({ url, postsMax: 10 });
    expect(report.refused).toEqual({ "503": 1, broken: 1 });
    expect(report.acknowledged.sort((a, b) => a - b)).toEqual([0, 1, 2, 4, 6, 7, 8, 9]);
  });

  it("goes on where another run ended", async () => {
    const { url, seen } = await startReceiver(() => 200);
    const first = await run({ url, postsMax: 3 });
    await run({ url, postsFrom: first.nextPost, postsMax: 5 });
    expect(seen.bodies.map(Number).sort((a, b) => a - b)).toEqual([0, 1, 2, 3, 4]);
  });

  it("sends by the clock however long the answers take, and counts their waiting", async () => {
    const { url, seen } = await startReceiver(() => 200);
    const report = await run({ url, connections: 1, postsPerSecond: 10_000, postsMax: 30 });
    expect(seen.bodies.map(Number)).toEqual(Array.from({ length: 30 }, (_post, number) => number));
    // All were due within 3 ms, and each of the single connection's answers takes 5.
    expect(report.maxMs).toBeGreaterThan(100);
    expect(report.posts).toBe(30);
  });

  it("says how long it did not run itself", async () => {
    const { url } = await startReceiver(() => 200);
    setTimeout(() => {
      const endMs = performance.now() + 60;
      while (performance.now() < endMs);
    }, 20);
    const report = await run({ url, postsPerSecond: 100, postsMax: 20 });
    expect(report.pausedMs).toBeGreaterThanOrEqual(60);
  });
});
