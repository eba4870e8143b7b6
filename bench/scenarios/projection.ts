import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import pg from "pg";
import type { Bench } from "../context.ts";
import { recordDisk } from "../disk.ts";
import { exportRows, rowsLimit } from "../limits/rows.ts";
import { eventsInFirst } from "../load/posts.ts";
import { cpuSeconds } from "../processes.ts";
import type { Recorder } from "../recorder.ts";
import type { Scenario } from "../scenario.ts";
import { fillDatabase } from "../subjects/fill.ts";
import { serve } from "../subjects/holdfast.ts";
import { checkEvents } from "../subjects/ledger.ts";

const CUT = { eventsMin: 100, eventsMax: 100, firstEvent: 0 };
const POSTS = 10_000;
const QUICK_POSTS = 100;
const SUBJECT = "holdfast-projector";
const EMPTY = "projection_empty";
const FILLED = "projection_filled";
const DATABASE = "projection";
const LIMIT_GOAL = 0.7;

export const PROJECTION: Scenario = {
  name: "projection",
  description: "1 million events waiting in the inbox until it is empty",
  async run(bench, recorder) {
    const { server, flags } = bench;
    const posts = flags.quick ? QUICK_POSTS : POSTS;
    const events = eventsInFirst(CUT, posts);
    await server.create(EMPTY);
    await fillDatabase(bench, { database: EMPTY, cut: CUT, posts: 0, roles: "intake" });
    await server.create(FILLED, EMPTY);
    bench.say(`projection: filling the inbox with ${events} events`);
    await fillDatabase(bench, { database: FILLED, cut: CUT, posts, roles: "intake" });
    const file = join(bench.folder, "rows.jsonl");
    for (let round = 0; round < flags.rounds; round += 1) {
      bench.say(`projection, round ${round + 1} of ${flags.rounds}`);
      await server.create(DATABASE, FILLED);
      await server.checkpoint();
      await project(bench, recorder, events);
      if (round === 0) await exportRows(server.address(DATABASE), file);
      const limit = await rowsLimit(bench, file, EMPTY);
      recorder.check(
        "projection: limit (b) inserts as many events",
        limit.events === events,
        `${limit.events} of ${events}`,
      );
      recorder.add({ subject: "limit-rows", metric: "projected", unit: "events/s" }, limit.perSecond);
    }
    for (const name of [DATABASE, FILLED, EMPTY]) await server.drop(name);
    recorder.ratio({
      name: "projector / limit (b), the same rows from ready JSON",
      metric: "projected",
      of: SUBJECT,
      to: "limit-rows",
      goal: { direction: "at least", value: LIMIT_GOAL },
    });
  },
};

async function project(bench: Bench, recorder: Recorder, events: number): Promise<void> {
  const { server } = bench;
  const databaseUrl = server.address(DATABASE);
  const walBefore = await walBytes(bench);
  const drain = watchDrain(databaseUrl, events);
  const service = await serve(bench, { name: SUBJECT, databaseUrl, roles: "projector" });
  try {
    const cpuBefore = await cpuSeconds(service.pids);
    const perSecond = await drain;
    const cpuAfter = await cpuSeconds(service.pids);
    const add = (metric: string, unit: string, value: number): void =>
      recorder.add({ subject: SUBJECT, metric, unit }, value);
    add("projected", "events/s", perSecond);
    add("wal", "bytes/event", ((await walBytes(bench)) - walBefore) / events);
    if (cpuBefore !== undefined && cpuAfter !== undefined)
      add("cpu", "CPU s per million events", ((cpuAfter - cpuBefore) / events) * 1e6);
  } finally {
    await service.stop();
  }
  const wrong = await checkEvents(databaseUrl, { answered: 0, events, bodies: undefined }, 0);
  recorder.check("projection: every event is filed", wrong.length === 0, wrong.join("; "));
  await recordDisk(server, recorder, { database: DATABASE, subject: SUBJECT, inCase: "", events });
}

const POLL_MS = 20;

/**
 * Events a second from the first commit that is seen until the inbox is empty. `before` and `events` are the tallied events
 * now and at the end.
 */
export async function watchDrain(databaseUrl: string, events: number, before = 0): Promise<number> {
  const client = new pg.Client({ connectionString: databaseUrl, application_name: "bench" });
  await client.connect();
  const beganMs = performance.now();
  let first: { ms: number; stored: number } | undefined;
  try {
    for (;;) {
      const { rows } = await client.query<{ stored: number; waits: boolean }>(
        `SELECT (SELECT coalesce(sum(stored + duplicate), 0) FROM tallies)::float8 AS stored, EXISTS (SELECT FROM inbox) AS waits`,
      );
      const [{ stored, waits } = { stored: 0, waits: true }] = rows;
      const ms = performance.now();
      if (stored > before && waits) first ??= { ms, stored };
      // A small backlog can be gone between two looks; then the start counts with it.
      if (!waits) return ((events - (first?.stored ?? before)) / (ms - (first?.ms ?? beganMs))) * 1000;
      await delay(POLL_MS);
    }
  } finally {
    await client.end();
  }
}

async function walBytes({ server }: Bench): Promise<number> {
  const [row] = await server.ask<{ bytes: number }>(
    "postgres",
    "SELECT (pg_current_wal_lsn() - '0/0')::float8 AS bytes",
  );
  return row?.bytes ?? Number.NaN;
}
