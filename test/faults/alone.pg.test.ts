import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createRandom } from "../../src/simulator/random.ts";
import { straceUnavailable } from "../../torture/faults/tools.ts";
import { madeUpEvents } from "../../torture/posts.ts";
import { startStage, type Stage } from "./stage.ts";

/**
 * The faults of one service with its own PostgreSQL, each short. Every test brings the ledger to rest and checks all of it: each event
 * once, each receipt, the balance, each message's state. A fault that did not strike is a failure too.
 */

let stage: Stage;

beforeAll(async () => {
  stage = await startStage({ kind: "embedded" });
});
afterAll(async () => {
  await stage.stop();
});

/** Asks until it is so; the test's own time-out ends a wait in vain. */
async function eventually(isSo: () => boolean): Promise<void> {
  while (!isSo()) await stage.world.ask("SELECT pg_sleep(0.05)");
}

const unanswered = ({ type }: { type: string }): boolean => type !== "ok";

describe("one service, under load", () => {
  // Every kind of the API's bad days has its test in src/enrichment/failures.pg.test.ts; this is the one that could hold others up.
  // It comes first, while nothing else waits for the API.
  test("goes on filing while SendGrid's API hangs, and forgets no enrichment", async () => {
    const { api, ask } = stage.world;
    const load = stage.newLoad();
    const [during, after] = ["during", "after"].map((name) =>
      stage.posts.make(madeUpEvents(createRandom(name), `api-${name}`, ["processed", "delivered"])),
    );
    if (during === undefined || after === undefined) throw new Error("there are two");
    api.fault("hang");
    const callsBefore = api.calls.logs;
    await load.send(during);
    await eventually(() => api.calls.logs > callsBefore);
    await load.send(after);
    expect((await stage.verdict(load)).problems).toEqual([]);
    const states = await ask<{ state: string }>(
      "SELECT e.state FROM enrichments AS e JOIN messages AS m ON m.id = e.message WHERE m.message_id LIKE 'api-%'",
    );
    expect(states).toEqual([{ state: "pending" }, { state: "pending" }]);
    api.fault(undefined);
  });

  test("killed by kill -9, loses nothing", async () => {
    const before = stage.world.instances[0]?.pid();
    const { problems, during } = await stage.suffers("kill-service");
    expect(problems).toEqual([]);
    expect(during.filter(unanswered).length).toBeGreaterThan(0);
    expect(stage.world.instances[0]?.pid()).not.toBe(before);
  });

  test.each(["kill-postmaster", "stop-immediate", "kill-backend"])("under %s, loses nothing", async (fault) => {
    const before = await stage.world.server();
    const { problems } = await stage.suffers(fault);
    expect(problems).toEqual([]);
    const after = await stage.world.server();
    // Not one backend outlived it.
    expect(after.others.filter((pid) => before.others.includes(pid))).toEqual([]);
  });

  test("stopped for seconds and let go on, loses nothing", async () => {
    const { problems, during } = await stage.suffers("pause-service", { ms: 2_500 });
    expect(problems).toEqual([]);
    expect(during.length).toBeLessThan(6);
  });

  test("stopped by SIGTERM, ends with 0 and loses nothing", async () => {
    const { problems } = await stage.suffers("drain");
    expect(problems).toEqual([]);
  });

  test("with its clock an hour off and back again, loses nothing", async () => {
    const { problems } = await stage.suffers("clock-jump", { answers: 60 });
    expect(problems).toEqual([]);
    // The clock did jump: receipts came in at hours far from each other.
    const [span] = await stage.world.ask<{ minutes: number }>(
      "SELECT extract(epoch FROM max(received_at) - min(received_at))::int / 60 AS minutes FROM receipts",
    );
    expect(span?.minutes).toBeGreaterThan(50);
  });

  test("isolates a receipt that crashes its projector, files the others, and files it too once it can be", async () => {
    const { problems } = await stage.suffers("poison-receipt");
    expect(problems).toEqual([]);
  });

  test("retries each deadlock with a writer that locks in the opposite order, and says so in its balance", async () => {
    const { problems, strike } = await stage.suffers("deadlock-storm", { ms: 4_000 });
    expect(problems).toEqual([]);
    expect(strike.hit).toMatch(/^[1-9]\d* deadlocks of the service/);
  });

  test("with fsync answering EIO to PostgreSQL, loses nothing", async (context) => {
    const reason = await straceUnavailable();
    context.skip(reason !== undefined, `NOT TESTED, fsync-eio: ${reason}`);
    const { problems, during } = await stage.suffers("fsync-eio", { ms: 3_000 });
    expect(problems).toEqual([]);
    expect(during.filter(unanswered).length).toBeGreaterThan(0);
  });
});
