import { setTimeout as delay } from "node:timers/promises";
import pg from "pg";
import { sqlState } from "../../src/errors.ts";
import type { Fault } from "../fault.ts";
import { madeUpEvents } from "../posts.ts";
import type { World } from "../world.ts";

const MESSAGES = 40;
const ROUNDS = 200;
const DEADLOCK = "40P01";
const RECORD_MS_MAX = 60_000;
const STATISTICS_MS = 1_500;
const FIRST_MS_MAX = 45_000;
const POLL_MS = 200;

/**
 * An outside writer that locks `messages` in the opposite order, over and over, while POSTs about the same messages come
 * in. Every deadlock of which a service was the victim must stand in the ledger as a retry, or as retries exhausted.
 */
export const deadlockStorm: Fault = {
  name: "deadlock-storm",
  description: "an outside writer locks messages in the opposite order",
  worlds: ["embedded", "shared"],
  holdSeconds: [5, 12],
  strike({ world, load, posts, random }) {
    const name = `dead${random.between(0, 999_999)}`;
    const messages = Array.from({ length: MESSAGES }, (_message, n) =>
      madeUpEvents(
        random,
        `${name}-${n}`,
        Array.from({ length: ROUNDS }, () => "open"),
      ),
    );
    const stopping = new AbortController();
    const problems: string[] = [];
    let running: Promise<unknown> = Promise.resolve();
    let before = { deadlocks: 0, recorded: 0 };
    let own = 0;
    let victims = 0;

    async function write(): Promise<void> {
      const client = new pg.Client({ connectionString: world.databaseUrl });
      client.on("error", () => undefined);
      await client.connect();
      // Long enough for the service to be the victim, mostly: whoever waited longest looks first.
      await client.query("SET deadlock_timeout = '3s'");
      while (!stopping.signal.aborted) {
        own += await lockBackwards(client, `${name}-%`);
        await delay(200);
      }
      await client.end();
    }

    async function post(): Promise<void> {
      for (let round = 1; round < ROUNDS && !stopping.signal.aborted; round += 1) {
        await load.send(posts.make(messages.flatMap((events) => events.slice(round, round + 1))));
      }
    }

    return {
      async inject() {
        await load.send(posts.make(messages.flatMap((events) => events.slice(0, 1))));
        before = await counts(world);
        running = Promise.all([write(), post(), post()]);
      },
      async heal() {
        await firstDeadlock(world, before.deadlocks);
        stopping.abort();
        await running;
        // A backend tells of its deadlocks once a second.
        await delay(STATISTICS_MS);
        const met = (await counts(world)).deadlocks - before.deadlocks;
        victims = met - own;
        const missing = await unrecorded(world, before.recorded, victims);
        if (met === 0) problems.push("no deadlock came about: the fault did not strike");
        if (missing > 0)
          problems.push(`of ${victims} deadlocks of the service, ${missing} are on no record of retries`);
      },
      get hit() {
        return `${victims} deadlocks of the service, ${own} of the writer`;
      },
      problems,
    };
  },
};

/** @returns 1 when this writer was the victim. */
async function lockBackwards(client: pg.Client, recipients: string): Promise<0 | 1> {
  try {
    await client.query("BEGIN");
    const { rows } = await client.query<{ id: string }>(
      "SELECT id FROM messages WHERE recipient LIKE $1 ORDER BY id DESC",
      [recipients],
    );
    for (const { id } of rows) await client.query("SELECT 1 FROM messages WHERE id = $1 FOR UPDATE", [id]);
    await client.query("COMMIT");
    return 0;
  } catch (error) {
    await client.query("ROLLBACK").catch(() => undefined);
    return sqlState(error) === DEADLOCK ? 1 : 0;
  }
}

async function counts(world: World): Promise<{ deadlocks: number; recorded: number }> {
  const [row] = await world.ask<{ deadlocks: number; recorded: number }>(
    `SELECT (SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()) AS deadlocks,
       (SELECT coalesce(sum(retries + exhausted), 0) FROM tallies) AS recorded`,
  );
  return row ?? { deadlocks: 0, recorded: 0 };
}

/** A projector that waits out an earlier fault comes late to the storm. */
async function firstDeadlock(world: World, before: number): Promise<void> {
  const deadlineMs = performance.now() + FIRST_MS_MAX;
  while ((await counts(world)).deadlocks === before && performance.now() < deadlineMs) await delay(POLL_MS);
}

/** A retry is counted in the transaction that it saves, so its record comes some seconds after the deadlock. */
async function unrecorded(world: World, before: number, victims: number): Promise<number> {
  const deadlineMs = performance.now() + RECORD_MS_MAX;
  for (;;) {
    const missing = victims - ((await counts(world)).recorded - before);
    if (missing <= 0 || performance.now() > deadlineMs) return Math.max(0, missing);
    await delay(POLL_MS);
  }
}
