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
    ["HOLDFAST_SUBUSERS", "shop"],
    ["HOLDFAST_SUBUSERS", "shop=a;shop=b"],
    ["HOLDFAST_ACCOUNT_TIME_ZONE", "Europe/Atlantis"],
    ["HOLDFAST_ACCOUNT_TIME_ZONE", "+02:00"],
    ["HOLDFAST_RECONCILE", "sometimes"],
    ["HOLDFAST_OIDC_ISSUER", "http://idp.example"],
    ["HOLDFAST_OIDC_ISSUER", "https://user:pass@idp.example"],
    ["HOLDFAST_OIDC_ROLES", "admin"],
    ["HOLDFAST_OIDC_ROLES", "admin="],
    ["HOLDFAST_OIDC_ROLES", "king=x"],
    ["HOLDFAST_OIDC_ROLES", "admin=a;admin=b"],
    ["HOLDFAST_OIDC_ROLE_CLAIM", "two words"],
    ["HOLDFAST_API_CALLS_PER_MINUTE", "0"],
  ])("refuse %s=%s, naming it", (name, value) => {
    expect(() => readConfig({ [name]: value })).toThrow(UsageError);
    expect(() => readConfig({ [name]: value })).toThrow(name);
  });

  test("take OpenID Connect whole or not at all, and name what is missing", () => {
    const whole = {
      HOLDFAST_OIDC_ISSUER: "https://idp.example/tenant/",
      HOLDFAST_OIDC_CLIENT_ID: "holdfast",
      HOLDFAST_OIDC_CLIENT_SECRET: "hunter2",
      HOLDFAST_OIDC_ROLES: "admin=holdfast-admins; support = help desk , second line",
    };
    const config = readConfig(whole);
    expect(config.HOLDFAST_OIDC_ISSUER).toBe("https://idp.example/tenant/");
    expect(config.HOLDFAST_OIDC_ROLE_CLAIM).toBe("roles");
    expect([...(config.HOLDFAST_OIDC_ROLES ?? [])]).toEqual([
      ["admin", ["holdfast-admins"]],
      ["support", ["help desk", "second line"]],
    ]);
    for (const name of Object.keys(whole)) {
      expect(() => readConfig({ ...whole, [name]: "" })).toThrow(new RegExp(`^${name} is missing`));
    }
    expect(() => readConfig({ HOLDFAST_OIDC_ROLE_CLAIM: "groups" })).toThrow("HOLDFAST_OIDC_ISSUER is missing");
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

  test("read which sources belong to subusers, and the account's time zone", () => {
    const config = readConfig({
      HOLDFAST_SUBUSERS: "shop=shop-eu; blog = blog.1",
      HOLDFAST_ACCOUNT_TIME_ZONE: "Europe/Berlin",
    });
    expect([...(config.HOLDFAST_SUBUSERS ?? [])]).toEqual([
      ["shop", "shop-eu"],
      ["blog", "blog.1"],
    ]);
    expect(config.HOLDFAST_ACCOUNT_TIME_ZONE).toBe("Europe/Berlin");
    expect(readConfig({})).toMatchObject({ HOLDFAST_ACCOUNT_TIME_ZONE: "UTC", HOLDFAST_RECONCILE: "repair" });
  });
});
