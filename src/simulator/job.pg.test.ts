import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { FastifyInstance } from "fastify";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { testDatabase, type TestDatabase } from "../../test/database.ts";
import { createHttpServer } from "../http.ts";
import { createAppender } from "../intake/append.ts";
import { registerIntake } from "../intake/route.ts";
import { registerSources, simulationSource } from "../intake/sources.ts";
import { openSpool } from "../intake/spool.ts";
import { createProjector, type Projector } from "../ledger/projector.ts";
import { createLog } from "../log.ts";
import { publicKeyText } from "../sendgrid/signature.ts";
import { createSimulationJob, type JobOrder, type JobRun, type SimulationJob } from "./job.ts";

/** The job against a real intake and a real projector: what people order on the page. */

const log = createLog("silent");
let db: TestDatabase;
let app: FastifyInstance;
let spoolFolder: string;
let projector: Projector;
let privateKey: KeyObject;

beforeAll(async () => {
  db = await testDatabase();
  const keys = generateKeyPairSync("ec", { namedCurve: "P-256" });
  ({ privateKey } = keys);
  spoolFolder = await mkdtemp(join(tmpdir(), "holdfast-spool-"));
  app = createHttpServer({ log });
  projector = createProjector({ pool: db.pool, log, settleSeconds: 0 });
  await registerIntake(app, {
    appender: createAppender({ pool: db.pool, log, onCommitted: () => projector.wake() }),
    spool: await openSpool(spoolFolder, 1_000_000),
    sources: await registerSources(db.pool, [simulationSource(publicKeyText(keys.publicKey))]),
    log,
    onRefused: () => undefined,
    isDiskLow: () => false,
  });
  await app.listen({ host: "127.0.0.1", port: 0 });
  projector.start();
});
afterAll(async () => {
  await app.close();
  await projector.stop();
  await db.drop();
  await rm(spoolFolder, { recursive: true, force: true });
});

const newJob = (): SimulationJob =>
  createSimulationJob({
    databaseUrl: db.databaseUrl,
    log,
    privateKey,
    url: () => `http://127.0.0.1:${(app.server.address() as AddressInfo).port}/webhooks/sendgrid/simulation`,
  });

const ORDER: JobOrder = {
  events: 500,
  rate: 0,
  duplicates: 0.2,
  shuffle: true,
  deadlocks: 0,
  dropConnection: false,
  seed: "test",
};

async function ended(job: SimulationJob): Promise<JobRun> {
  for (;;) {
    const run = job.state();
    if (run !== undefined && run.endedAt !== null) return run;
    await db.pool.query("SELECT pg_sleep(0.02)");
  }
}

describe("a simulation ordered on the page", () => {
  test("posts, files and compares by id: nothing lost, nothing double", async () => {
    const job = newJob();
    expect(await job.start(ORDER)).toBe(true);
    const run = await ended(job);
    expect(run).toMatchObject({ phase: "done", stopped: false, error: null, acknowledged: 500 });
    expect(run.result).toMatchObject({ flawless: true, processed: 500, lost: 0, double: 0, pending: 0, lostIds: [] });
    expect(run.figures).toMatchObject({ stored: 500, lost: 0 });
    expect(run.figures.duplicate).toBeGreaterThan(50);
    expect(run.samples.at(-1)?.processed).toBe(run.figures.stored + run.figures.duplicate);
    // The same seed makes new mails the next time, and the figures begin anew.
    await job.start(ORDER);
    expect((await ended(job)).result).toMatchObject({ processed: 500, double: 0 });
  });

  test("forces real deadlocks and ends a connection in mid-transaction; all is rescued", async () => {
    const before = await deadlocks();
    const job = newJob();
    await job.start({ ...ORDER, events: 4_000, rate: 500, deadlocks: 2, dropConnection: true });
    const run = await ended(job);
    expect(run.forced).toEqual({ deadlocks: 2, connections: 1 });
    expect(run.figures.rescued).toBeGreaterThanOrEqual(2);
    expect(run.figures).toMatchObject({ stored: 4_000, lost: 0, exhausted: 0 });
    expect(run.result).toMatchObject({ flawless: true, processed: 4_000, lost: 0, double: 0 });
    // PostgreSQL's own count says the same.
    await expect.poll(deadlocks, { timeout: 20_000 }).toBeGreaterThanOrEqual(before + 2);
  });

  async function deadlocks(): Promise<number> {
    const { rows } = await db.pool.query<{ deadlocks: number }>(
      "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()",
    );
    return rows[0]?.deadlocks ?? 0;
  }

  test("is one at a time, also between processes", async () => {
    const [job, other] = [newJob(), newJob()];
    const [first, again] = await Promise.all([job.start({ ...ORDER, rate: 100 }), job.start(ORDER)]);
    expect([first, again]).toEqual([true, false]);
    expect(await other.start(ORDER)).toBe(false);
    expect(job.stop()).toBe(true);
    await ended(job);
    expect(job.stop()).toBe(false);
    await other.close();
    await job.close();
  });

  test("when it is stopped, what was posted is still filed and compared", async () => {
    const job = newJob();
    await job.start({ ...ORDER, events: 20_000, rate: 200 });
    while ((job.state()?.acknowledged ?? 0) < 50) await db.pool.query("SELECT pg_sleep(0.01)");
    job.stop();
    const run = await ended(job);
    expect(run).toMatchObject({ phase: "done", stopped: true });
    expect(run.acknowledged).toBeLessThan(20_000);
    expect(run.result).toMatchObject({ lost: 0, double: 0 });
    expect(run.result?.processed).toBeGreaterThanOrEqual(50);
  });

  test("ends at once with the process, and a webhook that refuses is said", async () => {
    const job = newJob();
    await job.start({ ...ORDER, events: 20_000, rate: 10 });
    await job.close();
    expect(job.state()).toMatchObject({ phase: "failed", error: "ended with the process" });
    const wrong = createSimulationJob({
      databaseUrl: db.databaseUrl,
      log,
      privateKey: generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey,
      url: () => `http://127.0.0.1:${(app.server.address() as AddressInfo).port}/webhooks/sendgrid/simulation`,
    });
    await wrong.start(ORDER);
    const run = await ended(wrong);
    expect(run.phase).toBe("failed");
    expect(run.error).toContain("does not accept the signature");
  });
});
