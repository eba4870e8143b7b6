import type { KeyObject } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { createRandom, type Random } from "../src/simulator/random.ts";
import type { WireEvent } from "../src/simulator/truth.ts";
import type { History } from "./history.ts";
import { createPostClient, type Answer } from "./post-client.ts";
import type { PostSource, TorturePost } from "./posts.ts";

/** Where POSTs go: one of the services, by name. */
export interface Target {
  name: string;
  /** Its origin. */
  url: string;
}

export interface LoadOptions {
  posts: PostSource;
  targets: readonly Target[];
  privateKey: KeyObject;
  history: History;
  seed: string;
  /** POSTs under way at once. */
  senders: number;
  /** POSTs a second of all senders together; what an outage held up is not caught up with. */
  postsPerSecond: number;
  /** Told of each new fact just before it is posted for the first time. */
  onNews?: (event: WireEvent) => void;
}

/** A POST that was answered by 2xx, without its bytes. */
export interface Acknowledged extends Pick<TorturePost, "id" | "broken" | "sample" | "sha256"> {
  receipt: string;
}

export interface Load {
  start(): void;
  /** Makes no new POSTs, and waits until those that are to be acknowledged are. @returns how many were not in time. */
  finish(msMax: number): Promise<number>;
  /** Sends a POST made by hand until it is acknowledged, or once if it is a last try. To `target`, or round all of them. */
  send(post: TorturePost, options?: { target?: number; process?: number }): Promise<Answer>;
  /** Resolves when so many more answers of any kind have come. */
  answers(count: number, matching?: (answer: Answer) => boolean): Promise<void>;
  /** What was answered by 2xx, in order. */
  readonly acknowledged: readonly Acknowledged[];
  readonly forgedAccepted: number;
  stop(): Promise<void>;
}

const RETRY_MS_FIRST = 150;
const RETRY_MS_MAX = 2_000;
const DOUBLED_SHARE = 0.05;
/** Above the senders' own numbers: POSTs made by hand. */
const PROCESS_BY_HAND = 1_000;
const BY_HAND_CONNECTIONS = 64;

/** Posts as SendGrid does: signed, over several connections, now and then the same POST twice at once, and again until it hears 2xx. */
export function createLoad(options: LoadOptions): Load {
  const { targets, privateKey, history, senders, onNews } = options;
  const random = createRandom(`${options.seed} load`);
  const clients = targets.map(({ url }) => createPostClient(url, privateKey, senders * 2 + BY_HAND_CONNECTIONS));
  const acknowledged: Acknowledged[] = [];
  const answers = createAnswers();
  const stopping = new AbortController();
  let forgedAccepted = 0;
  let unacknowledged = 0;
  let isOver = false;
  let work: Promise<unknown> = Promise.resolve();

  async function attempt(post: TorturePost, process: number, target: number): Promise<Answer> {
    const common = { process, f: "post", post: post.id, target: targets[target]?.name ?? "" } as const;
    history.note({ type: "invoke", ...common });
    const client = clients[target];
    if (client === undefined) throw new Error(`there is no target ${target}`);
    const answer = await client.post(post, stopping.signal);
    if (answer.type === "ok" && answer.receipt !== undefined) {
      if (post.forged) forgedAccepted += 1;
      const { id, broken, sample, sha256 } = post;
      acknowledged.push({ id, broken, sample, sha256, receipt: answer.receipt });
    }
    history.note({ ...common, ...answer });
    answers.tell(answer);
    return answer;
  }

  async function send(post: TorturePost, process: number, only?: number): Promise<Answer> {
    for (const event of post.news) onNews?.(event);
    for (let retry = 0; ; retry += 1) {
      const answer = await attempt(post, process, only ?? (process + retry) % targets.length);
      if (answer.type === "ok" || post.forged || post.isLastTry) return answer;
      if (stopping.signal.aborted) {
        unacknowledged += 1;
        return answer;
      }
      await untilRetry(retry, stopping.signal);
    }
  }

  return {
    start() {
      work = Promise.all(
        Array.from({ length: senders }, (_sender, process) =>
          runSender(process, { ...options, random, send, stopping: stopping.signal, isOver: () => isOver }),
        ),
      );
    },
    async finish(msMax) {
      isOver = true;
      const timer = setTimeout(() => stopping.abort(), msMax);
      await work;
      clearTimeout(timer);
      return unacknowledged;
    },
    send: (post, { target, process = PROCESS_BY_HAND } = {}) => send(post, process, target),
    answers: answers.until,
    acknowledged,
    get forgedAccepted() {
      return forgedAccepted;
    },
    async stop() {
      isOver = true;
      stopping.abort();
      await work;
      await Promise.all(clients.map((client) => client.close()));
    },
  };
}

async function untilRetry(retry: number, signal: AbortSignal): Promise<void> {
  const waitMs = Math.min(RETRY_MS_FIRST * 2 ** Math.min(retry, 10), RETRY_MS_MAX);
  await delay(waitMs, undefined, { signal }).catch(() => undefined);
}

interface SenderOptions extends LoadOptions {
  random: Random;
  send: (post: TorturePost, process: number) => Promise<Answer>;
  stopping: AbortSignal;
  isOver: () => boolean;
}

/** Sends one POST after the other in its own rhythm until the load is over. */
async function runSender(process: number, options: SenderOptions): Promise<void> {
  const { posts, senders, postsPerSecond, random, send, stopping, isOver } = options;
  const intervalMs = (senders * 1000) / postsPerSecond;
  let dueMs = performance.now() + (intervalMs * process) / senders;
  for (;;) {
    const waitMs = dueMs - performance.now();
    if (waitMs > 0) await delay(waitMs, undefined, { signal: stopping }).catch(() => undefined);
    if (isOver()) return;
    dueMs = Math.max(dueMs + intervalMs, performance.now());
    const post = posts.next();
    if (post === undefined) return;
    const isDoubled = random.chance(DOUBLED_SHARE) && !post.forged && !post.isLastTry;
    await Promise.all(isDoubled ? [send(post, process), send(post, process + senders)] : [send(post, process)]);
  }
}

/** Tells those who wait for so many answers of a kind. */
function createAnswers(): { tell(answer: Answer): void; until: Load["answers"] } {
  const listeners = new Set<(answer: Answer) => void>();
  return {
    tell(answer) {
      for (const listener of listeners) listener(answer);
    },
    async until(count, matching = () => true) {
      let left = count;
      await new Promise<void>((resolve) => {
        const listener = (answer: Answer): void => {
          if (matching(answer)) left -= 1;
          if (left > 0) return;
          listeners.delete(listener);
          resolve();
        };
        listeners.add(listener);
      });
    },
  };
}
