import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";

const css = readFileSync(new URL("tokens.css", import.meta.url), "utf8");

function tokens(block: string | undefined): Map<string, string> {
  return new Map(
    [...(block ?? "").matchAll(/--([\w-]+): (#[0-9a-f]{6});/g)].map(([, name = "", value = ""]) => [name, value]),
  );
}

const [lightBlock, darkBlock] = css.split('[data-mantine-color-scheme="dark"]');
const schemes = { light: tokens(lightBlock), dark: tokens(darkBlock) };

/** Relative luminance and contrast as WCAG 2.2 defines them. */
function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5]
    .map((at) => Number.parseInt(colour.slice(at, at + 2), 16) / 255)
    .map((part) => (part <= 0.040_45 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(one: string | undefined, other: string | undefined): number {
  if (one === undefined || other === undefined) return 0;
  const [light = 0, dark = 0] = [luminance(one), luminance(other)].sort((left, right) => right - left);
  return (light + 0.05) / (dark + 0.05);
}

describe.each(["light", "dark"] as const)("the colours on %s paper", (scheme) => {
  const colours = schemes[scheme];

  test.each(["ink", "muted", "accent", "ok", "way", "late", "bad", "complaint", "unknown"])(
    "%s can be read as text on paper and on white cards",
    (name) => {
      expect(contrast(colours.get(name), colours.get("paper"))).toBeGreaterThanOrEqual(4.5);
      expect(contrast(colours.get(name), colours.get("surface"))).toBeGreaterThanOrEqual(4.5);
    },
  );

  test("text on coloured grounds can be read", () => {
    for (const [text, ground] of [
      ["accent", "accent-bg"],
      ["late", "accent-bg"],
      ["ink", "late-bg"],
      ["muted", "late-bg"],
      ["accent", "late-bg"],
      ["ink", "bad-bg"],
      ["bad", "bad-bg"],
      ["accent", "bad-bg"],
    ] as const) {
      expect(contrast(colours.get(text), colours.get(ground)), `${text} on ${ground}`).toBeGreaterThanOrEqual(4.5);
    }
  });

  test("the edge of a tag, which alone says that it is one, can be seen", () => {
    expect(contrast(colours.get("edge"), colours.get("paper"))).toBeGreaterThanOrEqual(3);
  });
});
