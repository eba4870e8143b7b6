import { SPOOL_DRAIN_POSTS_MAX, SPOOL_IDLE_MS, SPOOL_UNVERIFIED_MS } from "../limits.ts";
import type { Log } from "../log.ts";
import { createLoop, type Loop } from "../loop.ts";
import { verifySignature } from "../sendgrid/signature.ts";
import type { Appender } from "./append.ts";
import { UNNUMBERED_KEY, type Source } from "./sources.ts";
import type { Spool, SpooledPost } from "./spool.ts";

export interface DrainOptions {
  spool: Spool;
  appender: Appender;
  sources: ReadonlyMap<string, Source>;
  log: Log;
  /** A clock in milliseconds; tests pass their own. */
  now?: () => number;
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
  const { spool, appender, sources, log, now = () => performance.now() } = options;

  /** When to look again at those whose key is unknown, so that they do not hold up the others. */
  const unverified = new Map<string, number>();

  /** @returns whether the spool may go on with the next: the database now holds this one, or it is left aside. */
  async function append({ name, source }: { name: string; source: Source }): Promise<boolean> {
    const post = await spool.read(name);
    const key = numberedKey(post, source);
    if (key === undefined) {
      if (!unverified.has(name))
        log.error({ file: name }, "the key of a spooled POST is unknown: it stays in the spool");
      unverified.set(name, now() + SPOOL_UNVERIFIED_MS);
      return true;
    }
    const { outcome } = await appender.append({ ...post, key, source: source.id });
    if (outcome !== "committed") return false;
    await spool.drop(name);
    unverified.delete(name);
    return true;
  }

  /** What belongs to a source that is no longer configured stays, until the source is back. So does what no known key verifies. */
  async function appendable(): Promise<{ name: string; source: Source }[]> {
    return (await spool.names()).flatMap((name) => {
      if (now() < (unverified.get(name) ?? 0)) return [];
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

/**
 * The number of the key that verified the POST, null for an unsigned one. What was spooled before the database had given
 * any numbers is verified again. @returns undefined when no key of the source does.
 */
function numberedKey({ key, signedAt, signature, body }: SpooledPost, source: Source): number | null | undefined {
  if (key !== UNNUMBERED_KEY || signedAt === null || signature === null) return key;
  return source.keys.find((candidate) => verifySignature(candidate.key, signedAt, body, signature))?.id;
}
