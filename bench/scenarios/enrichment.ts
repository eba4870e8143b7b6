import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { startChild, type Child } from "../child.ts";
import type { Bench } from "../context.ts";
import type { DoubleAnswer, DoubleOrder } from "../load/api-double-process.ts";
import { startLoad } from "../load/load.ts";
import { django, findDjango } from "../peers/django.ts";
import type { Recorder } from "../recorder.ts";
import type { Scenario } from "../scenario.ts";
import { query } from "../server.ts";
import { fillDatabase } from "../subjects/fill.ts";
import { serve } from "../subjects/holdfast.ts";

const CUT = { eventsMin: 100, eventsMax: 100, firstEvent: 0 };
const POSTS = 2_000;
const QUICK_POSTS = 10;
const WAITING = "enrichment_waiting";
const DATABASE = "enrichment";
const SUBJECT = "holdfast-enrichment";
const API_KEY = "SG.bench.key";
const POLL_MS = 50;
/** SendGrid's own limit. Several windows of its minute, so that where the first one begins does not matter. */
const LIMITED_SECONDS = 180;
const LIMITED_CALLS = 6;
/** The most that the setting takes. */
const UNLIMITED_CALLS = 6_000;
/** The peer's messages: each takes a call, so a part of them is enough. */
const PEER_POSTS = 10;
const PEER_SECONDS = 30;
/** Nothing enriched for so long means that nothing more will be. */
const STILL_MS_MAX = 60_000;

type Double = Child<DoubleOrder, DoubleAnswer>;

interface Case {
  name: string;
  callsPerMinute: number;
  /** How long it is watched; unset: until all is enriched. */
  seconds?: number;
}

export const ENRICHMENT: Scenario = {
  name: "enrichment",
  description: "messages a second that get what SendGrid's API knows, with its limit of 6 calls a minute and without",
  async run(bench, recorder) {
    const { quick, rounds, peers } = bench.flags;
    const posts = quick ? QUICK_POSTS : POSTS;
    await bench.server.create(WAITING);
    bench.say(`enrichment: filling the ledger with ${posts * CUT.eventsMax} events`);
    const settings = { HOLDFAST_ENRICHMENT_SETTLE_SECONDS: "0" };
    await fillDatabase(bench, { database: WAITING, cut: CUT, posts, roles: "intake,projector", settings });
    const cases: Case[] = [
      { name: "no limit", callsPerMinute: UNLIMITED_CALLS },
      ...(quick ? [] : [{ name: "6 a minute", callsPerMinute: LIMITED_CALLS, seconds: LIMITED_SECONDS }]),
    ];
    const peer = peers.includes("django") ? await findDjango(bench, "django") : undefined;
    for (let round = 0; round < rounds; round += 1) {
      for (const one of cases) {
        bench.say(`enrichment, ${one.name}, round ${round + 1} of ${rounds}`);
        await withDouble(bench, one, posts, async (url, double) => runHoldfast(bench, recorder, one, { url, double }));
        if (peer === undefined || "missing" in peer) continue;
        await withDouble(bench, one, PEER_POSTS, async (url) => runDjango(bench, recorder, one, url));
      }
    }
    await bench.server.drop(WAITING);
    for (const { name } of cases)
      recorder.ratio({ name: "messages / Celery's", case: name, metric: "enriched", of: SUBJECT, to: "django" });
  },
};

async function withDouble(
  bench: Bench,
  { callsPerMinute }: Case,
  posts: number,
  run: (url: string, double: Double) => Promise<void>,
): Promise<void> {
  const double: Double = await startChild(join(import.meta.dirname, "../load/api-double-process.ts"));
  try {
    const limit = callsPerMinute === UNLIMITED_CALLS ? Infinity : callsPerMinute;
    const { sampleFile } = bench;
    const answer = await double.ask({
      kind: "start",
      sampleFile,
      cut: CUT,
      posts,
      callsPerMinute: limit,
      apiKey: API_KEY,
    });
    if (!("url" in answer)) throw new Error("the double of the API did not say its address");
    await run(answer.url, double);
  } finally {
    await double.stop();
  }
}

async function runHoldfast(
  bench: Bench,
  recorder: Recorder,
  one: Case,
  api: { url: string; double: Double },
): Promise<void> {
  const databaseUrl = await bench.server.create(DATABASE, WAITING);
  await query(databaseUrl, "UPDATE enrichments SET next_attempt_at = now()");
  await query(databaseUrl, "VACUUM (ANALYZE) enrichments");
  await bench.server.checkpoint();
  const settings = {
    SENDGRID_API_URL: api.url,
    SENDGRID_API_KEY: API_KEY,
    HOLDFAST_API_CALLS_PER_MINUTE: String(one.callsPerMinute),
  };
  const service = await serve(bench, { name: SUBJECT, databaseUrl, roles: "enrichment", settings });
  try {
    const text = `SELECT count(*) FILTER (WHERE state = 'enriched')::float8 AS done, count(*)::float8 AS "all" FROM enrichments`;
    const watched = await watch(databaseUrl, text, one.seconds);
    const figure = { subject: SUBJECT, case: one.name };
    recorder.add({ ...figure, metric: "enriched", unit: "messages/s" }, watched.perSecond);
    const answer = await api.double.ask({ kind: "calls" });
    if ("calls" in answer) {
      const { messages, message, logs, log, stats } = answer.calls;
      const calls = messages + message + logs + log + stats;
      recorder.add({ ...figure, metric: "messages for each call", unit: "" }, watched.done / calls);
      recorder.check(
        `enrichment, ${one.name}: no call was refused`,
        answer.calls.refused === 0,
        `${answer.calls.refused}`,
      );
    }
    const isEnough = one.seconds === undefined ? watched.done === watched.all : watched.done > 0;
    recorder.check(`enrichment, ${one.name}: messages are enriched`, isEnough, `${watched.done} of ${watched.all}`);
  } finally {
    await service.stop();
    await bench.server.drop(DATABASE);
  }
}

/** The peer asks once for each event, as it stores it; its messages count once, whatever the number of their events. */
async function runDjango(bench: Bench, recorder: Recorder, one: Case, url: string): Promise<void> {
  const running = await django(bench, "django", { api: { url, key: API_KEY } }).start();
  const { sampleFile, key } = bench;
  const load = await startLoad({ sampleFile, cut: CUT, bytes: 1e6, doubledOneIn: 0, privateKey: key.privateKeyText });
  try {
    await load.run({ url: running.url, connections: 2, warmUpMs: 0, measureMs: Infinity, postsMax: PEER_POSTS });
    const text = `SELECT count(DISTINCT message_id) FILTER (WHERE subject IS NOT NULL)::float8 AS done,
      count(DISTINCT message_id)::float8 AS "all" FROM peer_emailevent`;
    const { perSecond } = await watch(running.databaseUrl, text, one.seconds ?? PEER_SECONDS);
    recorder.add({ subject: "django", case: one.name, metric: "enriched", unit: "messages/s" }, perSecond);
  } finally {
    await load.stop();
    await running.stop();
  }
}

/** Messages a second, until all are done or the time is over. */
async function watch(
  databaseUrl: string,
  text: string,
  seconds: number | undefined,
): Promise<{ perSecond: number; done: number; all: number }> {
  const beganMs = performance.now();
  let movedMs = beganMs;
  let last = 0;
  for (;;) {
    const [row] = await query<{ done: number; all: number }>(databaseUrl, text);
    const { done = 0, all = 0 } = row ?? {};
    const ms = performance.now();
    if (done > last) movedMs = ms;
    last = done;
    const isOver = seconds === undefined ? done === all || ms - movedMs > STILL_MS_MAX : ms - beganMs > seconds * 1_000;
    if (isOver || (seconds !== undefined && done === all))
      return { perSecond: (done / (ms - beganMs)) * 1_000, done, all };
    await delay(POLL_MS);
  }
}
