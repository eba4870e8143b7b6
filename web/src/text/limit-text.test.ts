import { describe, expect, test } from "vitest";
import { limitText } from "./limit-text.ts";

describe("a limit in words", () => {
  test.each([
    ["BODY_BYTES_MAX", 5_242_880, "5.2 MB"],
    ["APPEND_MS_MAX", 8_000, "8 secs"],
    ["DEADLOCK_RETRY_MS", 2_500, "2,500 ms"],
    ["MIGRATION_MS_MAX", 86_400_000, "1 day"],
    ["API_WAIT_SECONDS_MAX", 3_600, "1 hr"],
    ["SESSION_HOURS", 12, "12 hrs"],
    ["PROJECT_RECEIPTS_MAX", 256, "256"],
    ["API_CALLS_PER_MINUTE", 6, "6"],
    ["SSE_FIGURES_SHARE_MAX", 0.1, "0.1"],
    ["RATE_STEPS.seconds", 7_200, "2 hrs"],
  ])("%s %d is %s", (name, value, text) => {
    expect(limitText(name, value, "en-GB")).toBe(text);
  });

  test("in German with German separators", () => {
    expect(limitText("DEADLOCK_RETRY_MS", 2_500, "de-DE")).toBe("2.500 ms");
  });
});
