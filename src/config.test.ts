import { describe, expect, test } from "vitest";
import { readConfig } from "./config.ts";
import { UsageError } from "./errors.ts";

describe("the settings", () => {
  test("have defaults for everything that is not given, and take an empty value for none", () => {
    const config = readConfig({ DATABASE_URL: "", PORT: "" });
    expect(config).toMatchObject({
      DATABASE_URL: undefined,
      PORT: 8025,
      HOST: "127.0.0.1",
      HOLDFAST_ALLOW_UNSIGNED: false,
    });
    expect([...config.HOLDFAST_ROLES]).toEqual(["intake", "projector", "enrichment", "views", "maintenance"]);
  });

  test.each([
    ["PORT", "80a"],
    ["PORT", "65536"],
    ["PORT", "-1"],
    ["DATABASE_URL", "mysql://localhost"],
    ["SENDGRID_API_URL", "api.sendgrid.com"],
    ["HOLDFAST_ROLES", "intake,cook"],
    ["HOLDFAST_ALLOW_UNSIGNED", "yes"],
    ["HOLDFAST_ADMIN_TOKEN", "short"],
    ["HOLDFAST_SOURCES", "no keys"],
    ["HOLDFAST_SOURCES", "default=abc"],
    ["HOLDFAST_SOURCES", "a=1;a=2"],
    ["HOLDFAST_LOG_LEVEL", "loud"],
    ["HOLDFAST_API_CALLS_PER_MINUTE", "0"],
  ])("refuse %s=%s, naming it", (name, value) => {
    expect(() => readConfig({ [name]: value })).toThrow(UsageError);
    expect(() => readConfig({ [name]: value })).toThrow(name);
  });

  test("refuse an unknown one that begins with HOLDFAST_, and leave other programs' variables alone", () => {
    expect(() => readConfig({ HOLDFAST_DATADIR: "x" })).toThrow("HOLDFAST_DATADIR is not a setting");
    expect(() => readConfig({ HOME: "x", PGHOST: "y" })).not.toThrow();
  });

  test("name all that is wrong at once, and never show the value of a secret", () => {
    const read = (): unknown =>
      readConfig({ PORT: "x", HOLDFAST_ADMIN_TOKEN: "hunter2", DATABASE_URL: "mysql://u:hunter2@h" });
    expect(read).toThrow(/PORT[\s\S]*ADMIN_TOKEN|ADMIN_TOKEN[\s\S]*PORT/);
    expect(read).not.toThrow(/hunter2/);
  });

  test("read several sources with several keys each", () => {
    const { HOLDFAST_SOURCES: sources } = readConfig({ HOLDFAST_SOURCES: "billing=AAAA==,BBBB;marketing = CCCC ;" });
    expect([...(sources ?? [])]).toEqual([
      ["billing", "AAAA==,BBBB"],
      ["marketing", " CCCC "],
    ]);
  });
});
