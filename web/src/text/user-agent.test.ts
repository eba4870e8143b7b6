import { expect, test } from "vitest";
import { describeAgent } from "./user-agent.ts";

const MAC = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko)";

test.each([
  ["Mozilla/5.0 (Windows NT 5.1; rv:11.0) Gecko Firefox/11.0 (via ggpht.com GoogleImageProxy)", { proxy: "Gmail" }],
  [
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0 Safari/537.36 Edg/126.0",
    { device: "computer", system: "Windows", program: "Edge" },
  ],
  [`${MAC} Version/18.5 Safari/605.1.15`, { device: "computer", system: "macOS", program: "Safari" }],
  [MAC, { device: "computer", system: "macOS", program: "Apple Mail" }],
  [
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148",
    { device: "phone", system: "iOS", program: "Apple Mail" },
  ],
  [
    "Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0 Mobile Safari/537.36",
    { device: "phone", system: "Android", program: "Chrome" },
  ],
  ["Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Thunderbird/128.0", { program: "Thunderbird" }],
])("%s is read", (userAgent, expected) => {
  expect(describeAgent(userAgent)).toMatchObject(expected);
});

test("what says nothing is not guessed", () => {
  expect(describeAgent("Mozilla/5.0")).toEqual({
    proxy: undefined,
    device: undefined,
    system: undefined,
    program: undefined,
  });
});
