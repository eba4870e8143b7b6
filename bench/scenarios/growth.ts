import type { Bench } from "../context.ts";
import { recordDisk } from "../disk.ts";
import { startLoad } from "../load/load.ts";
import { loadSample } from "../load/sample.ts";
import { format } from "../numbers.ts";
import type { Recorder } from "../recorder.ts";
import type { Scenario } from "../scenario.ts";
import { fillDatabase } from "../subjects/fill.ts";
import { ALL_ROLES, serve } from "../subjects/holdfast.ts";
import { addCopies } from "./growth-fill.ts";
import { measureSearches } from "./growth-search.ts";
import { watchDrain } from "./projection.ts";

const SUBJECT = "holdfast";
const BATCH = 100;
const CONNECTIONS = 20;
/** The first fifth warms the process up. */
const POSTS = 2_000;
const QUICK_POSTS = 100;
const WARM_UP_SHARE = 0.2;
/** Smaller ledgers are copied for each round, so that the rounds before have not made them larger; to larger ones that is nothing. */
const COPIED_EVENTS_MAX = 5e6;
/** New traffic has copy numbers that no stored event has. */
const NEW_COPIES_FROM = 5_000;
const SPEED_GOAL = 0.8;
const SEARCH_GOAL = 2;

export const GROWTH: Scenario = {
  name: "growth",
  description: "intake, projection, searches and disk with 0.2, 2 and 20 million events stored",
  async run(bench, recorder) {
    const { flags, server } = bench;
    const { size } = await loadSample(bench.sampleFile);
    const ledgers = flags.sizes.map((events) => ({
      events,
      database: `growth_${events}`,
      inCase: `${format(events / 1e6)} M`,
    }));
    await server.create("growth_sample");
    await fillSample(bench, size);
    for (const { events, database, inCase } of ledgers) {
      bench.say(`growth: making a ledger of ${events} events`);
      await server.create(database, "growth_sample");
      await addCopies(bench, database, 1, Math.round(events / size));
      const stored = Math.round(events / size) * size;
      await recordDisk(server, recorder, { database, subject: SUBJECT, inCase, events: stored });
    }
    for (let round = 0; round < flags.rounds; round += 1) {
      for (const { events, database, inCase } of ledgers) {
        bench.say(`growth, ${inCase} events, round ${round + 1} of ${flags.rounds}`);
        const firstEvent = (NEW_COPIES_FROM + round * 1_000) * size;
        const used = events > COPIED_EVENTS_MAX ? database : "growth";
        if (used !== database) await server.create(used, database);
        await measureSearches(bench, recorder, { database: used, subject: SUBJECT, inCase });
        await measureSpeed(bench, recorder, { database: used, inCase, firstEvent });
        if (used !== database) await server.drop(used);
      }
    }
    for (const { database } of ledgers) await server.drop(database);
    await server.drop("growth_sample");
    compare(
      recorder,
      ledgers.map(({ inCase }) => inCase),
    );
  },
};

/** The sample once, through the real service; its messages are enriched, as those of a ledger that has grown are. */
async function fillSample(bench: Bench, size: number): Promise<void> {
  const cut = { eventsMin: BATCH, eventsMax: BATCH, firstEvent: 0 };
  const database = "growth_sample";
  await fillDatabase(bench, { database, cut, posts: size / BATCH, roles: "intake,projector" });
  await bench.server.ask(
    database,
    `UPDATE enrichments SET state = 'enriched', api = 'logs', status = 'delivered', asked_at = now(),
       subject = 'Invoice for your order SO-' || message, sender = 'billing@market.example.com'`,
  );
}

/** Acknowledged events a second by intake alone, and projected ones of the same POSTs afterwards. */
async function measureSpeed(
  bench: Bench,
  recorder: Recorder,
  options: { database: string; inCase: string; firstEvent: number },
): Promise<void> {
  const { database, inCase, firstEvent } = options;
  const { flags, server, key, sampleFile } = bench;
  const databaseUrl = server.address(database);
  const cut = { eventsMin: BATCH, eventsMax: BATCH, firstEvent };
  const postsMax = flags.quick ? QUICK_POSTS : POSTS;
  const load = await startLoad({
    sampleFile,
    cut,
    bytes: Infinity,
    posts: postsMax,
    doubledOneIn: 0,
    privateKey: key.privateKeyText,
  });
  const add = (metric: string, value: number): void =>
    recorder.add({ subject: SUBJECT, case: inCase, metric, unit: "events/s" }, value);
  try {
    await server.checkpoint();
    const intake = await serve(bench, { name: "growth", databaseUrl, roles: "intake" });
    try {
      const order = { url: intake.url, connections: CONNECTIONS, warmUpMs: 0, measureMs: Infinity };
      const warm = await load.run({ ...order, postsMax: postsMax * WARM_UP_SHARE });
      const report = await load.run({ ...order, postsFrom: warm.nextPost, postsMax });
      add("events", report.events / report.seconds);
      const answered = warm.answered + report.answered;
      recorder.check(`growth, ${inCase}: every POST is acknowledged`, answered === postsMax, `${answered}`);
    } finally {
      await intake.stop();
    }
  } finally {
    await load.stop();
  }
  await server.checkpoint();
  const before = await storedEvents(bench, database);
  const drain = watchDrain(databaseUrl, before.tallied + postsMax * BATCH, before.tallied);
  const projector = await serve(bench, { name: "growth", databaseUrl, roles: ALL_ROLES.replace("intake,", "") });
  try {
    add("projected", await drain);
  } finally {
    await projector.stop();
  }
  const after = await storedEvents(bench, database);
  const filed = after.stored - before.stored;
  recorder.check(`growth, ${inCase}: every event is filed`, filed === postsMax * BATCH, `${filed}`);
}

async function storedEvents(bench: Bench, database: string): Promise<{ stored: number; tallied: number }> {
  const [row] = await bench.server.ask<{ stored: number; tallied: number }>(
    database,
    `SELECT (SELECT count(*) FROM events)::float8 AS stored,
       (SELECT coalesce(sum(stored + duplicate), 0) FROM tallies)::float8 AS tallied`,
  );
  return row ?? { stored: Number.NaN, tallied: Number.NaN };
}

function compare(recorder: Recorder, cases: readonly string[]): void {
  const [smallest = "", ...larger] = cases;
  for (const inCase of larger) {
    for (const [metric, name] of [
      ["events", "intake"],
      ["projected", "projection"],
    ] as const) {
      const goal = { direction: "at least", value: SPEED_GOAL } as const;
      recorder.ratio({
        name: `${name} / at ${smallest}`,
        case: inCase,
        metric,
        of: SUBJECT,
        to: { subject: SUBJECT, case: smallest },
        goal,
      });
    }
    for (const metric of ["by recipient p50", "by custom arg p50", "timeline p50"]) {
      const goal = { direction: "at most", value: SEARCH_GOAL } as const;
      recorder.ratio({
        name: `${metric} / at ${smallest}`,
        case: inCase,
        metric,
        of: SUBJECT,
        to: { subject: SUBJECT, case: smallest },
        goal,
      });
    }
  }
}
