import sendgridClient from "@sendgrid/client";
import { afterEach, describe, expect, it } from "vitest";
import type { ApiDoubleOptions } from "../simulator/api-context.ts";
import { startApiDouble, type ApiDouble } from "../simulator/api-double.ts";
import type { RecordedEvent } from "./record-types.ts";
import { createRecordsClient, type RecordsClient } from "./records-client.ts";

const T0 = Date.parse("2026-03-04T10:00:00Z") / 1000;
const SPAN = { fromMs: T0 * 1000, toMs: (T0 + 10_000) * 1000 };

describe("the client of SendGrid's records", () => {
  const endings: (() => Promise<void>)[] = [];

  afterEach(async () => {
    for (const end of endings.splice(0).reverse()) await end();
  });

  async function start(options: ApiDoubleOptions = {}): Promise<{ double: ApiDouble; records: RecordsClient }> {
    const double = await startApiDouble({ visibleAfterSeconds: 0, callsPerMinute: Infinity, ...options });
    endings.push(() => double.stop());
    const records = createRecordsClient({ apiKey: double.apiKey, apiUrl: double.url });
    endings.push(() => records.close());
    return { double, records };
  }

  function wire(id: string, type: string, later: number, fields: Record<string, unknown> = {}) {
    return {
      email: `${id}@example.com`,
      event: type,
      timestamp: T0 + later,
      sg_message_id: `${id}.recvd-1.0`,
      sg_event_id: `${type}-${id}-${later}`,
      category: ["invoice"],
      order_id: "7",
      ...fields,
    };
  }

  /** What both APIs tell of every event, whatever else they leave out. */
  const EVENTS = [
    wire("a", "processed", 0),
    wire("a", "deferred", 5, { response: "450 4.2.0 later", attempt: "0" }),
    wire("a", "deferred", 65, { response: "450 4.2.0 later", attempt: "1" }),
    wire("a", "delivered", 130, { response: "250 OK" }),
    wire("a", "open", 140, { useragent: "Mozilla/5.0" }),
    wire("a", "click", 150, { useragent: "Mozilla/5.0", url: "https://shop.example.com/7" }),
    wire("a", "spamreport", 160),
    wire("a", "bounce", 170, { type: "blocked", reason: "554 5.7.1 no" }),
  ];

  function inOrder(events: readonly RecordedEvent[]): RecordedEvent[] {
    return events.toSorted((a, b) => a.occurredAtMs - b.occurredAtMs);
  }

  it("tells a message's events as the webhook posted them, by logs with their ids and by messages without", async () => {
    const { double, records } = await start();
    for (const event of EVENTS) double.record(event);
    const byLogs = await records.message("logs", "a.recvd-1.0", "");
    expect(byLogs.kind === "ok" && inOrder(byLogs.value.events)).toEqual(
      EVENTS.map((item) => ({
        type: item.event,
        occurredAtMs: item.timestamp * 1000,
        eventId: item.sg_event_id,
        item,
      })),
    );
    const byMessages = await records.message("messages", "a.recvd-1.0", "");
    expect(byMessages.kind === "ok" && inOrder(byMessages.value.events)).toMatchObject(
      EVENTS.map(({ sg_event_id: _id, ...item }) => ({ type: item.event, eventId: undefined, item })),
    );
    expect(await records.message("logs", "other", "")).toEqual({ kind: "not_found" });
  });

  it("reads totals and suppression lists, a page at a time", async () => {
    const { double, records } = await start();
    for (const event of EVENTS) double.record(event);
    for (let n = 0; n < 501; n += 1) double.record(wire(`b${n}`, "bounce", n, { type: "bounce", status: "5.1.1" }));
    const stats = await records.stats({ from: "2026-03-04", to: "2026-03-05" }, "");
    expect(stats).toMatchObject({
      kind: "ok",
      value: [
        { day: "2026-03-04", metrics: { deferred: 2, blocks: 1, bounces: 501, spam_reports: 1 } },
        { day: "2026-03-05", metrics: { deferred: 0 } },
      ],
    });
    const first = await records.suppressions({ list: "bounces", ...SPAN, offset: 0 }, "");
    expect(first).toMatchObject({ kind: "ok", value: { full: true } });
    const second = await records.suppressions({ list: "bounces", ...SPAN, offset: 500 }, "");
    expect(second).toMatchObject({
      value: { full: false, entries: [{ email: "b0@example.com", status: "5.1.1", createdAt: new Date(T0 * 1000) }] },
    });
    const reports = await records.suppressions({ list: "spam_reports", ...SPAN, offset: 0 }, "");
    expect(reports).toMatchObject({ value: { entries: [{ email: "a@example.com" }] } });
  });

  it("asks for a subuser by its name, or by its number where the API wants that, and looks the number up once", async () => {
    const { double, records } = await start({ subusers: ["shop", "shop-2"] });
    double.record(wire("parent", "delivered", 0));
    double.record(wire("child", "delivered", 0), "shop");
    for (const api of ["logs", "messages"] as const) {
      const query = 'to_email = "child@example.com"';
      expect(await records.list(api, query, "shop")).toMatchObject({
        kind: "ok",
        value: { messages: [{ messageId: "child.recvd-1.0" }] },
      });
      expect(await records.list(api, query, "")).toMatchObject({ kind: "ok", value: { messages: [] } });
      expect(await records.list(api, query, "shop-2")).toMatchObject({ kind: "ok", value: { messages: [] } });
      expect(await records.message(api, "child.recvd-1.0", "shop")).toMatchObject({ kind: "ok" });
      expect(await records.message(api, "child.recvd-1.0", "")).toEqual({ kind: "not_found" });
    }
    expect(double.calls.subusers).toBe(2);
    const range = { from: "2026-03-04", to: "2026-03-04" };
    for (const account of ["", "shop"])
      expect(await records.stats(range, account)).toMatchObject({ value: [{ metrics: { delivered: 1 } }] });
  });

  it("says that a subuser is unknown, and that a name no header can hold is none", async () => {
    const { records } = await start({ subusers: ["shop"] });
    const range = { from: "2026-03-04", to: "2026-03-04" };
    expect(await records.stats(range, "nobody")).toMatchObject({ kind: "forbidden" });
    expect(await records.list("messages", "", "nobody")).toMatchObject({ kind: "forbidden" });
    expect(await records.list("logs", "", "nobody")).toMatchObject({ kind: "bad_request" });
    expect(await records.message("logs", "a", "nobody")).toMatchObject({ kind: "bad_request" });
    expect(await records.stats(range, "a\nb")).toMatchObject({ kind: "unavailable" });
  });

  it("gives the answers that SendGrid's own client gets", async () => {
    const { double, records } = await start({ subusers: ["shop"] });
    double.record(wire("a", "bounce", 0, { type: "bounce", reason: "550", status: "5.1.1" }), "shop");
    sendgridClient.setApiKey(double.apiKey);
    sendgridClient.setDefaultRequest("baseUrl", `${double.url}/`);
    sendgridClient.setDefaultHeader({ "On-Behalf-Of": "shop" });
    const [stats] = await sendgridClient.request({
      method: "GET",
      url: "/v3/stats",
      qs: { start_date: "2026-03-04", end_date: "2026-03-04" },
    });
    const [bounces] = await sendgridClient.request({ method: "GET", url: "/v3/suppression/bounces" });
    expect(bounces.body).toEqual([{ created: T0, email: "a@example.com", reason: "550", status: "5.1.1" }]);
    const ours = await records.stats({ from: "2026-03-04", to: "2026-03-04" }, "shop");
    expect(stats.body).toEqual(
      ours.kind === "ok" ? ours.value.map(({ day, metrics }) => ({ date: day, stats: [{ metrics }] })) : ours,
    );
  });

  it.each(["500", "garbage", "half"] as const)(
    "is told that they are unavailable by an answer of %s",
    async (fault) => {
      const { double, records } = await start();
      double.fault(fault);
      expect(await records.stats({ from: "2026-03-04", to: "2026-03-04" }, "")).toMatchObject({ kind: "unavailable" });
      expect(await records.suppressions({ list: "blocks", ...SPAN, offset: 0 }, "")).toMatchObject({
        kind: "unavailable",
      });
      expect(await records.list("logs", "", "shop")).toMatchObject({ kind: "unavailable" });
      expect(await records.message("messages", "a", "")).toMatchObject({ kind: "unavailable" });
    },
  );
});
