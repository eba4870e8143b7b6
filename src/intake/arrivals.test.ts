import { expect, test } from "vitest";
import { createArrivals } from "./arrivals.ts";

test("Arriving bodies are admitted up to the limit, and each makes room again once, however often it leaves.", () => {
  const arrivals = createArrivals(10);
  const leaveFirst = arrivals.admit(6);
  const leaveSecond = arrivals.admit(4);
  expect(leaveFirst).toBeDefined();
  expect(leaveSecond).toBeDefined();
  expect(arrivals.admit(1)).toBeUndefined();
  leaveSecond?.();
  leaveSecond?.();
  expect(arrivals.admit(5)).toBeUndefined();
  expect(arrivals.admit(4)).toBeDefined();
  leaveFirst?.();
  expect(arrivals.admit(6)).toBeDefined();
});
