import { readFile } from "node:fs/promises";
import { Agent, request as httpRequest } from "node:http";
import { connect, type Socket } from "node:net";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ARRIVING_BYTES_MAX, BODY_BYTES_MAX } from "../src/limits.ts";
import { signBody, SIGNATURE_HEADER, TIMESTAMP_HEADER } from "../src/sendgrid/signature.ts";
import { simulatorKey } from "../src/simulator/key.ts";
import { makeDataDir, removeDataDir, startServiceProcess, type ServiceProcess } from "./service-process.ts";

/** More than the service can take, and clients that mean harm: it stays small, answers honestly, and serves the others. */

const IDLE_CONNECTIONS = 10_000;
const CONNECTING_AT_ONCE = 200;
const SLOW_CONNECTIONS = 300;
/** At rest about 130 MiB; the bounded bodies on their way in and in the queue, each once as a copy, and room for the collector. */
const RSS_MIB_MAX = 900;
const MIB = 1024 * 1024;

let dataDir: string;
let service: ServiceProcess;
const agent = new Agent({ keepAlive: false, maxSockets: Number.POSITIVE_INFINITY });

beforeAll(async () => {
  dataDir = await makeDataDir();
  service = await startServiceProcess(dataDir, { HOLDFAST_ROLES: "intake,views" });
});
afterAll(async () => {
  await service.end("SIGTERM");
  await removeDataDir(dataDir);
});

interface Answer {
  status: number;
  retryAfter: string | undefined;
  receipt: string | undefined;
}

async function post(body: Buffer): Promise<Answer> {
  const { privateKey } = await simulatorKey(dataDir);
  const timestamp = String(Math.floor(Date.now() / 1000));
  const headers = {
    "content-length": String(body.length),
    [SIGNATURE_HEADER]: signBody(privateKey, timestamp, body),
    [TIMESTAMP_HEADER]: timestamp,
  };
  return new Promise((resolve) => {
    const request = httpRequest(
      `${service.url}/webhooks/sendgrid/simulation`,
      { method: "POST", agent, headers },
      (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
        response.on("end", () => {
          const { receipt } = JSON.parse(text) as { receipt?: string };
          resolve({ status: response.statusCode ?? 0, retryAfter: response.headers["retry-after"], receipt });
        });
      },
    );
    // A refused sender may be cut off while it still sends; whether it read the 503 first is a matter of luck.
    request.on("error", () => resolve({ status: 503, retryAfter: "5", receipt: undefined }));
    request.end(body);
  });
}

/** The most it ever had, as Linux counts it; elsewhere nothing says. */
async function rssMib(): Promise<number> {
  if (process.platform !== "linux") return 0;
  const status = await readFile(`/proc/${service.child.pid}/status`, "utf8");
  return Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1] ?? Number.NaN) / 1024;
}

async function connections(count: number, onConnected: (socket: Socket) => void): Promise<Socket[]> {
  const { port } = new URL(service.url);
  const sockets: Socket[] = [];
  while (sockets.length < count) {
    const batch = Array.from({ length: Math.min(CONNECTING_AT_ONCE, count - sockets.length) }, () =>
      connect(Number(port), "127.0.0.1"),
    );
    await Promise.all(
      batch.map(
        async (socket) =>
          new Promise<void>((resolve, reject) => {
            socket.once("connect", resolve).once("error", reject);
          }),
      ),
    );
    for (const socket of batch) {
      socket.on("error", () => undefined);
      onConnected(socket);
    }
    sockets.push(...batch);
  }
  return sockets;
}

describe("the service under more than it can take", () => {
  test("serves others beside ten thousand idle connections and hundreds that send a byte now and then", async () => {
    const idle = await connections(IDLE_CONNECTIONS, () => undefined);
    const slow = await connections(SLOW_CONNECTIONS, (socket) =>
      socket.write(
        `POST /webhooks/sendgrid/simulation HTTP/1.1\r\nhost: x\r\ncontent-length: ${BODY_BYTES_MAX}\r\nx-slow: `,
      ),
    );
    try {
      for (const socket of slow) socket.write("a");
      const answers = await Promise.all(Array.from({ length: 50 }, (_post, n) => post(Buffer.from(`[{"n":${n}}]`))));
      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    } finally {
      for (const socket of [...idle, ...slow]) socket.destroy();
    }
  });

  test("answers 200 or 503 with Retry-After, holds all that got 200, and stays within its memory", async () => {
    const bodyBytes = 4 * MIB;
    const count = (3 * ARRIVING_BYTES_MAX) / bodyBytes;
    // Hard to compress, so that the disk is what is too slow.
    const bodies = Array.from({ length: count }, (_body, n) => Buffer.alloc(bodyBytes, `body ${n} ${Math.sin(n)}`));
    const answers = await Promise.all(bodies.map(post));
    const accepted = answers.filter(({ status }) => status === 200);
    const refused = answers.filter(({ status }) => status === 503);
    expect(accepted.length + refused.length).toBe(count);
    expect(accepted.length).toBeGreaterThan(0);
    expect(refused.length).toBeGreaterThan(0);
    expect(refused.every(({ retryAfter }) => retryAfter === "5")).toBe(true);
    const client = new pg.Client({ connectionString: service.databaseUrl ?? "" });
    await client.connect();
    const held = await client.query("SELECT FROM receipts WHERE id = ANY ($1)", [
      accepted.map(({ receipt }) => receipt),
    ]);
    await client.end();
    expect(held.rowCount).toBe(accepted.length);
    expect(await rssMib()).toBeLessThan(RSS_MIB_MAX);
    expect((await post(Buffer.from("[]"))).status).toBe(200);
  });
});
