import { createHash } from "node:crypto";
import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { SIMULATED_RETRIES_MAX } from "../limits.ts";
import {
  parsePublicKeys,
  SIGNATURE_HEADER,
  TIMESTAMP_HEADER,
  verifySignature,
  type PublicKey,
} from "../sendgrid/signature.ts";
import { simulatorKey, type SimulatorKey } from "./key.ts";
import { createManifest, type Manifest } from "./manifest.ts";
import { simulatePosts, type Post } from "./posts.ts";
import { sendPosts, type SendOptions, type Sent } from "./sender.ts";

interface Received {
  body: Buffer;
  headers: IncomingMessage["headers"];
}
type Answer = (received: Received, response: ServerResponse) => void;

let folder: string;
let key: SimulatorKey;
let publicKey: PublicKey | undefined;
const stops: (() => Promise<void>)[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "holdfast-sender-"));
  key = await simulatorKey(folder);
  [publicKey] = parsePublicKeys(key.publicKeyText);
});
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
  await rm(folder, { recursive: true });
});

/** A receiver that answers as told; by default as a correct one does. */
async function receiver(answer: Answer = accept): Promise<{ url: string; received: Received[] }> {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const post = { body: Buffer.concat(chunks), headers: request.headers };
      received.push(post);
      answer(post, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  stops.push(async () => {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    server.closeAllConnections();
    await closed;
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/webhooks/sendgrid/simulation`, received };
}

function isSigned({ body, headers }: Received): boolean {
  const signature = String(headers[SIGNATURE_HEADER]);
  return publicKey !== undefined && verifySignature(publicKey.key, String(headers[TIMESTAMP_HEADER]), body, signature);
}

function accept(received: Received, response: ServerResponse): void {
  if (!isSigned(received)) status(response, 401);
  else response.end(JSON.stringify({ receipt: createHash("sha256").update(received.body).digest("hex") }));
}

function status(response: ServerResponse, code: number): void {
  response.writeHead(code).end();
}

function traffic(events: number, poison = false): Post[] {
  const content = {
    seed: "1",
    startSeconds: 1_770_000_000,
    periodSeconds: 3_600,
    events,
    twins: false,
    missingIds: false,
    poison,
  };
  return [...simulatePosts(content, { batch: 10, duplicates: 0, shuffle: false })];
}

async function send(
  url: string,
  posts: Post[],
  options: Partial<SendOptions> = {},
): Promise<{ sent: Sent; manifest: Manifest; waits: number[] }> {
  const waits: number[] = [];
  const manifest = options.manifest ?? createManifest();
  const wait = async (ms: number): Promise<void> => {
    waits.push(ms);
  };
  const sent = await sendPosts({
    posts,
    url,
    privateKey: key.privateKey,
    manifest,
    concurrency: 4,
    rate: 0,
    seed: "1",
    wait,
    ...options,
  });
  return { sent, manifest, waits };
}

describe("the sender", () => {
  it("tells SendGrid of what its webhook lost, and posts nothing where nothing is left", async () => {
    const { url, received } = await receiver();
    const news: unknown[] = [];
    const [post] = traffic(1);
    const lost = { ...post, body: Buffer.alloc(0), events: [], ids: [], news: post?.news ?? [] } as Post;
    const { sent, manifest } = await send(url, [lost], { onNews: (event) => news.push(event) });
    expect(news).toEqual(post?.news);
    expect({ received, posts: sent.posts, acknowledged: manifest.eventCount }).toEqual({
      received: [],
      posts: 0,
      acknowledged: 0,
    });
  });

  it("delivers every event, signed, and notes what was acknowledged", async () => {
    const { url, received } = await receiver();
    const news: unknown[] = [];
    const { sent, manifest } = await send(url, traffic(500), { onNews: (event) => news.push(event) });
    expect(received.every(isSigned)).toBe(true);
    expect(received[0]?.headers).toMatchObject({
      "user-agent": "SendGrid Event API",
      "content-type": "application/json;charset=utf-8",
    });
    expect(sent).toMatchObject({ posts: 50, retries: 0, givenUp: 0 });
    expect(manifest.eventCount).toBe(500);
    expect(manifest.isAcknowledged(499)).toBe(true);
    expect(manifest.isAcknowledged(500)).toBe(false);
    expect(news).toHaveLength(500);
  });

  it("sometimes makes the same POST twice at once", async () => {
    const { url, received } = await receiver();
    const { sent } = await send(url, traffic(2_000));
    expect(sent.doubled).toBeGreaterThan(0);
    expect(received).toHaveLength(200 + sent.doubled);
    expect(new Set(received.map(({ body }) => body.toString())).size).toBe(200);
  });

  it("repeats whatever is not answered by a 2xx, after growing waits: errors, broken connections, halves of answers", async () => {
    const faults: Answer[] = [
      (_received, response) => status(response, 500),
      (_received, response) => status(response, 503),
      (_received, response) => response.destroy(),
      (_received, response) => {
        response.writeHead(200, { "content-length": "100" });
        response.write('{"receipt":"', () => response.destroy());
      },
    ];
    let answered = 0;
    const { url, received } = await receiver((post, response) => (faults[answered++] ?? accept)(post, response));
    const { sent, manifest, waits } = await send(url, traffic(10));
    expect(received).toHaveLength(5);
    expect(sent).toMatchObject({ retries: 4, givenUp: 0 });
    expect(waits).toEqual([250, 500, 1_000, 2_000]);
    expect(manifest.eventCount).toBe(10);
  });

  it("gives up at last, and holds the target to nothing it did not acknowledge", async () => {
    const { url, received } = await receiver((_received, response) => status(response, 500));
    const { sent, manifest } = await send(url, traffic(10));
    expect(received).toHaveLength(1 + SIMULATED_RETRIES_MAX);
    expect(sent.givenUp).toBe(1);
    expect(manifest.eventCount).toBe(0);
  });

  it.each([401, 404, 301])(
    "stops at once when the first answer is %i: the address or the key is wrong",
    async (code) => {
      const { url, received } = await receiver((_received, response) => status(response, code));
      await expect(send(url, traffic(1_000), { concurrency: 2 })).rejects.toThrow(`HTTP ${code}`);
      expect(received.length).toBeLessThan(10);
    },
  );

  it("keeps to the rate", async () => {
    const { url } = await receiver();
    let nowMs = 1_770_000_000_000;
    const begunMs = nowMs;
    const wait = async (ms: number): Promise<void> => {
      nowMs += ms;
    };
    await send(url, traffic(100), { rate: 50, concurrency: 1, now: () => nowMs, wait });
    // Ten POSTs of ten events: the last begins when the 90 before it have had their time.
    expect(nowMs - begunMs).toBeCloseTo(1_800, 0);
  });

  it("signs a forged POST with a key that nobody knows, never repeats it, and says when one is accepted", async () => {
    const strict = await receiver();
    const posts = traffic(20, true);
    const forged = posts.filter((post) => post.forged).length;
    const { sent, manifest } = await send(strict.url, posts);
    expect(sent).toMatchObject({ forgedRefused: forged, forgedAccepted: 0, retries: 0 });
    expect(strict.received.filter((post) => !isSigned(post))).toHaveLength(forged);
    expect([...manifest.brokenByReceipt.values()].reduce((sum, broken) => sum + broken, 0)).toBe(
      posts.reduce((sum, post) => sum + post.broken, 0),
    );
    const careless = await receiver((_received, response) => response.end("{}"));
    expect((await send(careless.url, posts)).sent.forgedAccepted).toBe(forged);
  });

  it("writes what was acknowledged into a file of its own", async () => {
    const { url } = await receiver();
    const path = join(folder, "manifest.jsonl");
    const manifest = createManifest(path);
    await send(url, traffic(30), { manifest });
    await manifest.close();
    const lines = (await readFile(path, "utf8")).trimEnd().split("\n");
    const events = lines.flatMap((line) => (JSON.parse(line) as { events: [string, string][] }).events);
    expect(new Set(events.map(([messageId, eventId]) => `${messageId} ${eventId}`)).size).toBe(30);
    expect((await stat(path)).mode % 0o1000).toBe(0o600);
  });
});

describe("the simulator's key", () => {
  it("is made once, for its owner only, and is the same for everybody who asks at once", async () => {
    const other = join(folder, "data");
    const keys = await Promise.all([simulatorKey(other), simulatorKey(other), simulatorKey(other)]);
    expect(new Set(keys.map(({ publicKeyText }) => publicKeyText)).size).toBe(1);
    expect((await stat(join(other, "simulator.key"))).mode % 0o1000).toBe(0o600);
    expect(keys[0]?.publicKeyText).not.toBe(key.publicKeyText);
  });
});
