import { describe, expect, it } from "vitest";
import { readConfig } from "../config.ts";
import type { ProviderApiRow } from "../ledger/read-status.ts";
import { callsLeft, enrichmentState } from "./enrichment-state.ts";

const on = { ...readConfig({ SENDGRID_API_KEY: "SG.test" }) };
const now = new Date("2026-03-01T09:01:00Z");

function api(name: string, columns: Partial<ProviderApiRow> = {}): ProviderApiRow {
  return { name, state: "available", reason: null, calledAt: [], blockedUntil: null, ...columns };
}

const forbidden = { state: "forbidden", reason: "403 access forbidden" } as const;

describe("whether messages are enriched", () => {
  it("is for the settings to say first", () => {
    expect(enrichmentState(readConfig({}), []).state).toBe("no_api_key");
    expect(enrichmentState({ ...on, HOLDFAST_ENRICHMENT_API: "off" }, []).state).toBe("off");
    expect(enrichmentState(on, [])).toEqual({ state: "on", reason: null });
  });

  it("is not, with SendGrid's reason, when none of the allowed APIs may be used", () => {
    const logs = api("logs", forbidden);
    expect(enrichmentState(on, [logs]).state).toBe("on");
    expect(enrichmentState({ ...on, HOLDFAST_ENRICHMENT_API: "logs" }, [logs]).state).toBe("forbidden");
    expect(enrichmentState(on, [logs, api("messages", forbidden)])).toEqual({
      state: "forbidden",
      reason: "403 access forbidden",
    });
  });
});

describe("the calls that are left", () => {
  it("are those of the API in use, without what was asked in the last minute", () => {
    expect(callsLeft(on, [], now)).toBe(6);
    const calledAt = [
      new Date("2026-03-01T08:59:59Z"),
      new Date("2026-03-01T09:00:01Z"),
      new Date("2026-03-01T09:00:30Z"),
    ];
    expect(callsLeft(on, [api("logs", { calledAt })], now)).toBe(4);
    expect(callsLeft(on, [api("logs", forbidden), api("messages", { calledAt: [now] })], now)).toBe(5);
  });

  it("are none while SendGrid asked to wait, or where nothing may be asked", () => {
    const blockedUntil = new Date("2026-03-01T09:01:01Z");
    expect(callsLeft(on, [api("logs", { blockedUntil })], now)).toBe(0);
    expect(callsLeft(on, [api("logs", { blockedUntil })], new Date("2026-03-01T09:01:01Z"))).toBe(6);
    expect(callsLeft({ ...on, HOLDFAST_ENRICHMENT_API: "logs" }, [api("logs", forbidden)], now)).toBe(0);
  });
});
