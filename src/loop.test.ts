import { setImmediate as turn } from "node:timers/promises";
import { expect, test } from "vitest";
import { createLog } from "./log.ts";
import { createLoop } from "./loop.ts";

test("A loop that is told to rest does so after a tick that left something, whatever wakes it, until it is stopped", async () => {
  let ticks = 0;
  const asked = Promise.withResolvers<undefined>();
  const loop = createLoop({
    name: "test",
    log: createLog("silent"),
    idleMs: 0,
    tick: async () => {
      ticks += 1;
      return true;
    },
    restMs: () => {
      asked.resolve(undefined);
      return 1e9;
    },
  });
  loop.start();
  await asked.promise;
  loop.wake();
  await turn();
  expect(ticks).toBe(1);
  await loop.stop();
  expect(ticks).toBe(1);
});

test("A loop that found nothing to do does not rest, and is woken", async () => {
  const ticked = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()];
  let ticks = 0;
  const loop = createLoop({
    name: "test",
    log: createLog("silent"),
    idleMs: Infinity,
    tick: async () => {
      ticked[ticks]?.resolve(undefined);
      ticks += 1;
      return false;
    },
    restMs: () => 1e9,
  });
  loop.start();
  await ticked[0]?.promise;
  loop.wake();
  await ticked[1]?.promise;
  await loop.stop();
  expect(ticks).toBe(2);
});
