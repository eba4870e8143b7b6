import { expect, test } from "vitest";
import { formatBytes, formatCount, formatRate } from "./number.ts";

test("counts have the language's separators and a real minus sign", () => {
  expect(formatCount(51_204, "en-GB")).toBe("51,204");
  expect(formatCount(51_204, "de-DE")).toBe("51.204");
  expect(formatCount(-3, "en-GB")).toBe("−3");
});

test("bytes are told in the unit that reads best", () => {
  expect(formatBytes(1, "en-GB")).toBe("1 byte");
  expect(formatBytes(345, "en-GB")).toBe("345 bytes");
  expect(formatBytes(1_540, "en-GB")).toBe("1.5 kB");
  expect(formatBytes(1_540, "de-DE")).toBe("1,5 kB");
  expect(formatBytes(4_000_000, "en-GB")).toBe("4 MB");
});

test("small rates have a decimal, large ones none", () => {
  expect(formatRate(0.44, "en-GB")).toBe("0.4");
  expect(formatRate(1_940.3, "en-GB")).toBe("1,940");
});
