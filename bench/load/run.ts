import { percentile } from "../numbers.ts";
import { type Connection, createConnection, targetOf } from "./connection.ts";
import type { LoadReport, RunOrder } from "./orders.ts";
import { createProbe } from "./probe.ts";

/** A POST ready to be sent: signed before anything is measured. */
export interface SignedPost {
  body: Buffer;
  events: number;
  /** Its header lines but for the host's, each with its line break. */
  head: string;
}

/** One sending of a POST. */
interface Send {
  post: SignedPost;
  number: number;
  /** When it was due; of a run without a rate, when it was sent. */
  dueMs: number;
}

export interface RunOptions {
  order: RunOrder;
  doubledOneIn: number;
  /** POST number n. They are asked for in order. */
  postAt: (number: number) => SignedPost;
}

const SCHEDULE_MS = 1;
const NOTHING = { count: 0, events: 0 };

/**
 * Sends POSTs and measures the answers, until the window is over and everything under way is answered. A broken or refused POST is
 * counted and not repeated.
 */
export async function runLoad(options: RunOptions): Promise<LoadReport> {
  const { order } = options;
  const window = openWindow(order);
  const sends = order.postsPerSecond === undefined ? inTurn(options, window) : onTime(options, window);
  const counts = createCounts(window, order.postsPerSecond !== undefined);
  const probe = order.probe === undefined ? undefined : createProbe(order.probe);
  const target = targetOf(order.url);
  const connections = Array.from({ length: order.connections }, () => createConnection(target));
  const idle = new Set(connections);

  await new Promise<void>((finished) => {
    const pump = (connection: Connection): void => {
      const send = sends.next();
      if (send === undefined) {
        idle.add(connection);
        if (sends.isOver() && idle.size === connections.length) finished();
        return;
      }
      idle.delete(connection);
      connection.post(send.post.head, send.post.body, (status) => {
        counts.answer(send, status);
        if (status >= 200 && status <= 299) probe?.answered(send.post.body);
        pump(connection);
      });
    };
    sends.onDue(() => {
      for (const connection of idle) pump(connection);
    });
    for (const connection of connections) pump(connection);
  });
  window.close();
  for (const connection of connections) connection.close();
  const visibleMs = (await probe?.finish()) ?? [];
  const [nextPost, pausedMs] = [sends.nextPost(), sends.pausedMs()];
  return { ...counts.report(), visibleMs, nextPost, pausedMs, cpuSeconds: window.cpuSeconds() };
}

interface Window {
  startMs: number;
  endMs: number;
  /** Ends it now, when it is not over yet: everything that was to be sent is answered. */
  close(): void;
  cpuSeconds(): number;
}

function openWindow(order: RunOrder): Window {
  const startMs = performance.now() + order.warmUpMs;
  const window = { startMs, endMs: startMs + order.measureMs };
  let atStart: NodeJS.CpuUsage | undefined;
  let used: NodeJS.CpuUsage | undefined;
  const begin = (): void => {
    atStart = process.cpuUsage();
  };
  const end = (): void => {
    used ??= process.cpuUsage(atStart);
  };
  if (order.warmUpMs === 0) begin();
  else setTimeout(begin, order.warmUpMs).unref();
  if (Number.isFinite(order.measureMs)) setTimeout(end, order.warmUpMs + order.measureMs).unref();
  return Object.assign(window, {
    close() {
      window.endMs = Math.min(window.endMs, performance.now());
      end();
    },
    cpuSeconds: () => ((used?.user ?? 0) + (used?.system ?? 0)) / 1e6,
  });
}

interface Sends {
  /** undefined: nothing is to be sent now. */
  next(): Send | undefined;
  /** Whether nothing will ever be sent again. */
  isOver(): boolean;
  onDue(wake: () => void): void;
  nextPost(): number;
  /** The longest that the clock stood still by which POSTs are sent. */
  pausedMs(): number;
}

/** Each connection takes the next POST as soon as its last one is answered. Both sendings of a doubled one follow each other at once. */
function inTurn({ order, doubledOneIn, postAt }: RunOptions, window: Window): Sends {
  const { postsFrom = 0, postsMax = Infinity } = order;
  let number = postsFrom;
  let twin: Send | undefined;
  return {
    next() {
      const now = performance.now();
      if (twin !== undefined) {
        const send = { ...twin, dueMs: now };
        twin = undefined;
        return send;
      }
      if (now >= window.endMs || number >= postsMax) return undefined;
      const send = { post: postAt(number), number, dueMs: now };
      if (isDoubled(number, doubledOneIn)) twin = send;
      number += 1;
      return send;
    },
    isOver: () => twin === undefined && (performance.now() >= window.endMs || number >= postsMax),
    onDue() {},
    nextPost: () => number,
    pausedMs: () => 0,
  };
}

/** POSTs become due by the clock. */
function onTime({ order, doubledOneIn, postAt }: RunOptions, window: Window): Sends {
  const { postsPerSecond = 1, postsFrom = 0, postsMax = Infinity } = order;
  const beginMs = performance.now();
  const due: Send[] = [];
  let number = postsFrom;
  let isOver = false;
  let lastMs = beginMs;
  let pausedMs = 0;
  return {
    pausedMs: () => pausedMs,
    next: () => due.shift(),
    isOver: () => isOver && due.length === 0,
    nextPost: () => number,
    onDue(wake) {
      const timer = setInterval(() => {
        const now = performance.now();
        pausedMs = Math.max(pausedMs, now - lastMs);
        lastMs = now;
        for (;;) {
          const dueMs = beginMs + ((number - postsFrom) / postsPerSecond) * 1000;
          if (dueMs > Math.min(now, window.endMs) || number >= postsMax) break;
          const send = { post: postAt(number), number, dueMs };
          due.push(send);
          if (isDoubled(number, doubledOneIn)) due.push(send);
          number += 1;
        }
        if (now >= window.endMs || number >= postsMax) {
          clearInterval(timer);
          isOver = true;
        }
        wake();
      }, SCHEDULE_MS);
    },
  };
}

function isDoubled(number: number, oneIn: number): boolean {
  return oneIn > 0 && number % oneIn === oneIn - 1;
}

function createCounts(
  window: Window,
  byDueTime: boolean,
): {
  answer(send: Send, status: number): void;
  report(): Omit<LoadReport, "visibleMs" | "nextPost" | "pausedMs" | "cpuSeconds">;
} {
  const latenciesMs: number[] = [];
  const acknowledged = new Set<number>();
  const refused: Record<string, number> = {};
  const inWindow = { ...NOTHING };
  const all = { ...NOTHING };
  return {
    answer({ post: { events }, number, dueMs }, status) {
      const now = performance.now();
      if (status < 200 || status > 299) {
        const name = status === 0 ? "broken" : String(status);
        refused[name] = (refused[name] ?? 0) + 1;
        return;
      }
      const isFirst = !acknowledged.has(number);
      acknowledged.add(number);
      const counted = byDueTime ? dueMs : now;
      for (const count of counted >= window.startMs && counted <= window.endMs ? [all, inWindow] : [all]) {
        count.count += 1;
        if (isFirst) count.events += events;
        if (count === inWindow) latenciesMs.push(now - dueMs);
      }
    },
    report: () => ({
      kind: "report",
      seconds: (window.endMs - window.startMs) / 1000,
      posts: inWindow.count,
      events: inWindow.events,
      p50Ms: percentile(latenciesMs, 0.5),
      p99Ms: percentile(latenciesMs, 0.99),
      maxMs: percentile(latenciesMs, 1),
      answered: all.count,
      eventsAcknowledged: all.events,
      acknowledged: [...acknowledged],
      refused,
    }),
  };
}
