import { describe, expect, test } from "vitest";
import { mountUnavailable } from "../../torture/faults/tools.ts";
import { startStage } from "./stage.ts";

describe("a service on a small disk", () => {
  test("loses nothing when the disk is full, and goes on when it has room again", async (context) => {
    const reason = await mountUnavailable();
    context.skip(reason !== undefined, `NOT TESTED, disk-full: ${reason}`);
    const stage = await startStage({ kind: "small-disk", diskMib: 320 });
    try {
      const { problems, during } = await stage.suffers("disk-full", { ms: 2_500 });
      expect(problems).toEqual([]);
      expect(during.some(({ status }) => status === 503)).toBe(true);
    } finally {
      await stage.stop();
    }
  });
});
