import { expect, it } from "vitest";
import { createProgress } from "./progress.ts";

function terminal(isTTY: boolean): { isTTY: boolean; columns: number; text: string; write(text: string): void } {
  return {
    isTTY,
    columns: 70,
    text: "",
    write(text) {
      this.text += text;
    },
  };
}

it("a progress bar writes nothing where there is no terminal", () => {
  const output = terminal(false);
  const progress = createProgress(output);
  progress.show("posting", 1, 2);
  progress.clear();
  expect(output.text).toBe("");
});

it("a progress bar redraws its line at most ten times a second, always at the end, and removes itself", () => {
  const output = terminal(true);
  let nowMs = 0;
  const progress = createProgress(output, () => nowMs);
  progress.show("posting", 1_200, 4_000);
  progress.show("posting", 1_300, 4_000);
  nowMs = 100;
  progress.show("posting", 1_400, 4_000);
  progress.show("posting", 4_000, 4_000, "3 retries");
  progress.clear();
  const lines = output.text.split("\r\u001B[K");
  expect(lines.map((line) => line.replaceAll(/[█░]+/g, "▮"))).toEqual([
    "",
    "posting  ▮  1,200 of 4,000",
    "posting  ▮  1,400 of 4,000",
    "posting  ▮  4,000 of 4,000  3 retries",
    "",
  ]);
  for (const line of lines) expect(line.length).toBeLessThan(70);
});
