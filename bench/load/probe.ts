import { setTimeout as delay } from "node:timers/promises";
import { request } from "undici";
import { eventIds } from "./posts.ts";

/** An event that is not visible by then never will be. */
const VISIBLE_MS_MAX = 60_000;
const ASK_AGAIN_MS = 2;

export interface ProbeOptions {
  /** The service's address. */
  url: string;
  token: string;
  everyMs: number;
}

/** Measures how long an acknowledged event takes to be visible in the API: now and then for one POST, and for the last. */
export function createProbe(options: ProbeOptions): {
  answered(body: Buffer): void;
  /** Waits for the last event and gives all times, the last event's at the end. */
  finish(): Promise<number[]>;
} {
  const visibleMs: number[] = [];
  let nextMs = 0;
  let running: Promise<void> | undefined;
  let last: { body: Buffer; answeredMs: number } | undefined;

  async function look(body: Buffer, answeredMs: number): Promise<void> {
    visibleMs.push(await waitUntilVisible(options, body, answeredMs));
  }

  return {
    answered(body) {
      const answeredMs = performance.now();
      last = { body, answeredMs };
      if (running !== undefined || answeredMs < nextMs) return;
      nextMs = answeredMs + options.everyMs;
      running = look(body, answeredMs).finally(() => {
        running = undefined;
      });
    },
    async finish() {
      await running;
      if (last !== undefined) await look(last.body, last.answeredMs);
      return visibleMs;
    },
  };
}

async function waitUntilVisible(options: ProbeOptions, body: Buffer, answeredMs: number): Promise<number> {
  const wanted = eventIds(body).at(-1);
  if (wanted === undefined) return Number.NaN;
  const address = `${options.url}/api/messages/${encodeURIComponent(wanted.messageId)}`;
  const headers = { authorization: `Bearer ${options.token}` };
  while (performance.now() < answeredMs + VISIBLE_MS_MAX) {
    const response = await request(address, { headers });
    const answer = (await response.body.json()) as { events?: { eventId: string }[] };
    if (answer.events?.some(({ eventId }) => eventId === wanted.eventId) === true)
      return performance.now() - answeredMs;
    await delay(ASK_AGAIN_MS);
  }
  return Number.POSITIVE_INFINITY;
}
