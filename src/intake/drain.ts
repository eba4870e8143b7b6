import { SPOOL_DRAIN_POSTS_MAX, SPOOL_IDLE_MS } from "../limits.ts";
import type { Log } from "../log.ts";
import { createLoop, type Loop } from "../loop.ts";
import type { Appender } from "./append.ts";
import type { Source } from "./sources.ts";
import type { Spool } from "./spool.ts";

export interface DrainOptions {
  spool: Spool;
  appender: Appender;
  sources: ReadonlyMap<string, Source>;
  log: Log;
}

export interface SpoolDrain extends Loop {
  /** Appends some of what is spooled. @returns whether there may be more that can be appended now. */
  tick(): Promise<boolean>;
}

/**
 * Takes the spool into the ledger once PostgreSQL is back, through the same append as every POST. A file goes only after
 * its commit; a crash between the two makes a second receipt of the same bytes, whose events are duplicates.
 */
export function createSpoolDrain(options: DrainOptions): SpoolDrain {
  const { spool, appender, sources, log } = options;

  /** @returns whether the database now holds the POST. */
  async function append({ name, source }: { name: string; source: Source }): Promise<boolean> {
    const { outcome } = await appender.append({ ...(await spool.read(name)), source: source.id });
    if (outcome !== "committed") return false;
    await spool.drop(name);
    return true;
  }

  /** What belongs to a source that is no longer configured stays, until the source is back. */
  async function appendable(): Promise<{ name: string; source: Source }[]> {
    return (await spool.names()).flatMap((name) => {
      const source = sources.get(name.slice(name.indexOf(".") + 1));
      return source === undefined ? [] : [{ name, source }];
    });
  }

  async function tick(): Promise<boolean> {
    const waiting = await appendable();
    // One finds out whether PostgreSQL is back, so that an outage costs one try a second and not all of them.
    const [first, ...others] = waiting.slice(0, SPOOL_DRAIN_POSTS_MAX);
    if (first === undefined || !(await append(first))) return false;
    const appended = await Promise.all(others.map(append));
    if (spool.state().posts === 0) log.info("the spool is empty again");
    return waiting.length > SPOOL_DRAIN_POSTS_MAX && appended.every(Boolean);
  }

  return { tick, ...createLoop({ name: "spool", log, tick, idleMs: SPOOL_IDLE_MS }) };
}
