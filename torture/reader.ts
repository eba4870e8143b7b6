import { setTimeout as delay } from "node:timers/promises";
import { isMessageId } from "../src/message-id.ts";
import type { History } from "./history.ts";
import type { Load } from "./load.ts";
import type { World } from "./world.ts";

export interface Reader {
  /** When a read first saw each acknowledged POST, by its number, in the history's milliseconds. */
  readonly visibleAtMs: ReadonlyMap<number, number>;
  stop(): Promise<void>;
}

export const READ_POLL_MS = 500;
/** POSTs asked for in one read; in a long outage the others have their turn later. */
const POSTS_AT_ONCE = 2_000;

/**
 * Reads again and again which acknowledged POSTs are visible. One event of a POST stands for all of it, since a POST is
 * filed in one transaction; the last check looks at every event.
 */
export function startReader(world: World, load: Load, history: History): Reader {
  const visibleAtMs = new Map<number, number>();
  const stopping = new AbortController();
  let taken = 0;
  let waiting = new Map<number, readonly [string, string]>();

  async function read(): Promise<void> {
    for (const { id, sample } of load.acknowledged.slice(taken)) {
      if (sample !== undefined && !visibleAtMs.has(id)) waiting.set(id, sample);
    }
    taken = load.acknowledged.length;
    const asked = [...waiting].slice(0, POSTS_AT_ONCE);
    if (asked.length === 0) return;
    history.note({ type: "invoke", process: "reader", f: "read", value: asked.length });
    const rows = await world.ask<{ post: number }>(
      `SELECT wanted.post FROM unnest($1::int[], $2::text[], $3::text[]) AS wanted (post, message_id, event_id)
       JOIN messages AS m ON ${isMessageId("m.message_id", "wanted.message_id")}
       JOIN events AS e ON e.message = m.id AND e.event_id = wanted.event_id`,
      [asked.map(([post]) => post), asked.map(([, [message]]) => message), asked.map(([, [, event]]) => event)],
    );
    const nowMs = history.nowMs();
    for (const { post } of rows) {
      visibleAtMs.set(post, nowMs);
      waiting.delete(post);
    }
    // Those that were looked for in vain go to the end.
    const inVain = asked.length - rows.length;
    const left = [...waiting];
    waiting = new Map([...left.slice(inVain), ...left.slice(0, inVain)]);
    history.note({ type: "ok", process: "reader", f: "read", value: rows.length });
  }

  const running = (async () => {
    while (!stopping.signal.aborted) {
      await read();
      await delay(READ_POLL_MS, undefined, { signal: stopping.signal }).catch(() => undefined);
    }
    await read();
  })();
  return {
    visibleAtMs,
    async stop() {
      stopping.abort();
      await running;
    },
  };
}
