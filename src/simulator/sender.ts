import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { Pool } from "undici";
import { UsageError } from "../errors.ts";
import { SIMULATED_REQUEST_MS_MAX, SIMULATED_RETRIES_MAX, SIMULATED_RETRY_MS_MAX } from "../limits.ts";
import type { Manifest } from "./manifest.ts";
import type { Post } from "./posts.ts";
import { createRandom, type Random } from "./random.ts";
import type { WireEvent } from "./truth.ts";
import { webhookHeaders } from "./wire.ts";

export interface SendOptions {
  posts: Iterable<Post>;
  /** The webhook's whole address. */
  url: string;
  privateKey: KeyObject;
  manifest: Manifest;
  /** POSTs under way at once, each on a connection of its own. */
  concurrency: number;
  /** Events a second; 0 is as fast as it goes. */
  rate: number;
  seed: string;
  /** Told of each new fact just before it is posted for the first time. */
  onNews?: (event: WireEvent) => void;
  onProgress?: (sent: Sent) => void;
  /** Ends the sending; what is under way is finished or given up. */
  signal?: AbortSignal;
  /** Milliseconds since 1970. */
  now?: () => number;
  wait?: (ms: number) => Promise<unknown>;
}

export interface Sent {
  posts: number;
  /** Items of acknowledged POSTs, duplicates and broken ones included. */
  items: number;
  /** POSTs that had to be made again. */
  retries: number;
  /** POSTs that were made twice at the same time, on purpose. */
  doubled: number;
  /** POSTs never acknowledged, after all retries. */
  givenUp: number;
  /** Forged POSTs that were refused, and those that were not. */
  forgedRefused: number;
  forgedAccepted: number;
}

const RETRY_MS_FIRST = 250;
const DOUBLED_SHARE = 0.02;
/** Answers that no repetition changes: somebody gave the wrong address or key. */
const HOPELESS = new Map([
  [401, "does not accept the signature: give the key it knows with --key-file, or the data folder it runs on"],
  [403, "refuses"],
  [404, "has nothing at this address"],
  [405, "takes no POST at this address"],
]);

/**
 * Posts as SendGrid does: signed, over several connections, sometimes the same POST twice at once, and again whatever
 * is not answered by a 2xx, after growing waits. SendGrid goes on for 24 hours; this gives up a little earlier.
 *
 * @throws UsageError when the very first answers show that the address or the key is wrong.
 */
export async function sendPosts(options: SendOptions): Promise<Sent> {
  const { posts, concurrency, now = Date.now, seed } = options;
  const target = new URL(options.url);
  const pool = new Pool(target.origin, { connections: concurrency * 2, pipelining: 1 });
  const sent: Sent = { posts: 0, items: 0, retries: 0, doubled: 0, givenUp: 0, forgedRefused: 0, forgedAccepted: 0 };
  const run: Run = {
    ...options,
    pool,
    path: target.pathname + target.search,
    sent,
    now,
    wait: options.wait ?? delay,
    random: createRandom(`${seed} sender`),
    forger: generateKeyPairSync("ec", { namedCurve: "prime256v1" }).privateKey,
    startedMs: now(),
    eventsStarted: 0,
    failure: undefined,
  };
  const iterator = posts[Symbol.iterator]();
  try {
    await Promise.all(Array.from({ length: concurrency }, () => work(run, iterator)));
  } finally {
    await pool.destroy();
  }
  if (run.failure !== undefined) throw run.failure;
  return sent;
}

interface Run extends SendOptions {
  pool: Pool;
  path: string;
  sent: Sent;
  now: () => number;
  wait: (ms: number) => Promise<unknown>;
  random: Random;
  /** Made for this run and known to nobody. */
  forger: KeyObject;
  startedMs: number;
  eventsStarted: number;
  failure: UsageError | undefined;
}

async function work(run: Run, iterator: Iterator<Post>): Promise<void> {
  for (;;) {
    if (isOver(run)) return;
    const next = iterator.next();
    if (next.done === true) return;
    const post = next.value;
    await pace(run, post);
    for (const event of post.news) run.onNews?.(event);
    if (post.body.length === 0) continue;
    if (run.random.chance(DOUBLED_SHARE) && !post.forged) {
      run.sent.doubled += 1;
      await Promise.all([deliver(run, post), deliver(run, post)]);
    } else {
      await deliver(run, post);
    }
    run.sent.posts += 1;
    run.onProgress?.(run.sent);
  }
}

/** Waits until the rate allows as many events as have been started so far. */
async function pace(run: Run, post: Post): Promise<void> {
  const { rate } = run;
  const dueMs = rate === 0 ? 0 : run.startedMs + (run.eventsStarted / rate) * 1000;
  run.eventsStarted += post.events.length;
  const waitMs = dueMs - run.now();
  if (waitMs > 0) await run.wait(waitMs);
}

async function deliver(run: Run, post: Post): Promise<void> {
  for (let retry = 0; ; retry += 1) {
    const answer = await attempt(run, post);
    if (post.forged) {
      if (answer.outcome === "accepted") run.sent.forgedAccepted += 1;
      if (answer.outcome === "refused" && answer.status === 401) run.sent.forgedRefused += 1;
      // An answer of any other kind says nothing about forgery; the next one will.
      return;
    }
    if (answer.outcome === "accepted") {
      run.sent.items += post.events.length + post.broken;
      await run.manifest.acknowledge(post, answer.receipt);
      return;
    }
    checkHope(run, answer);
    if (isOver(run) || retry === SIMULATED_RETRIES_MAX) {
      run.sent.givenUp += 1;
      return;
    }
    run.sent.retries += 1;
    run.onProgress?.(run.sent);
    await run.wait(Math.min(RETRY_MS_FIRST * 2 ** retry, SIMULATED_RETRY_MS_MAX));
  }
}

/** Whether there is no point in going on: somebody ended the run, or the address or key is wrong. */
function isOver(run: Run): boolean {
  return run.signal?.aborted === true || run.failure !== undefined;
}

type Answer =
  | { outcome: "accepted"; receipt: string | undefined }
  | { outcome: "refused"; status: number }
  | { outcome: "broken" };

async function attempt(run: Run, post: Post): Promise<Answer> {
  const timestamp = String(Math.floor(run.now() / 1000));
  const headers = webhookHeaders(post.forged ? run.forger : run.privateKey, post.body, timestamp);
  try {
    const response = await run.pool.request({
      method: "POST",
      path: run.path,
      headers,
      body: post.body,
      headersTimeout: SIMULATED_REQUEST_MS_MAX,
      bodyTimeout: SIMULATED_REQUEST_MS_MAX,
      ...(run.signal === undefined ? {} : { signal: run.signal }),
    });
    const text = await response.body.text();
    if (response.statusCode < 200 || response.statusCode > 299)
      return { outcome: "refused", status: response.statusCode };
    return { outcome: "accepted", receipt: receiptOf(text) };
  } catch {
    // A broken connection, a time-out, half an answer: SendGrid cannot tell these apart either.
    return { outcome: "broken" };
  }
}

function receiptOf(text: string): string | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const receipt = typeof value === "object" && value !== null && "receipt" in value ? value.receipt : undefined;
    return typeof receipt === "string" ? receipt : undefined;
  } catch {
    return undefined;
  }
}

function checkHope(run: Run, answer: Answer): void {
  if (answer.outcome !== "refused" || run.manifest.eventCount > 0) return;
  const reason =
    HOPELESS.get(answer.status) ??
    (answer.status >= 300 && answer.status < 400 ? "redirects, which SendGrid does not follow" : undefined);
  if (reason !== undefined)
    run.failure ??= new UsageError(`${new URL(run.url).origin} ${reason} (HTTP ${answer.status})`);
}
