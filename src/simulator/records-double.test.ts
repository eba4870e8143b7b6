import { request } from "undici";
import { afterEach, describe, expect, it } from "vitest";
import type { ApiDoubleOptions } from "./api-context.ts";
import { startApiDouble, type ApiDouble } from "./api-double.ts";
import type { WireEvent } from "./truth.ts";

const doubles: ApiDouble[] = [];
afterEach(async () => {
  for (const double of doubles.splice(0)) await double.stop();
});

async function start(options: ApiDoubleOptions = {}): Promise<{ double: ApiDouble; clock: { ms: number } }> {
  const clock = { ms: Date.parse("2026-11-01T12:00:00Z") };
  const double = await startApiDouble({ now: () => clock.ms, visibleAfterSeconds: 0, ...options });
  doubles.push(double);
  return { double, clock };
}

let made = 0;
function event(at: string, type: string, fields: WireEvent = {}): WireEvent {
  made += 1;
  const wire = { email: "jo@example.com", event: type, timestamp: Date.parse(at) / 1000 };
  return { ...wire, sg_message_id: `m${made}.recvd-1.0`, sg_event_id: `e${made}`, ...fields };
}

async function get(double: ApiDouble, path: string, headers: Record<string, string> = {}) {
  const response = await request(`${double.url}${path}`, {
    headers: { authorization: `Bearer ${double.apiKey}`, ...headers },
  });
  return { status: response.statusCode, body: await response.body.json() };
}

/** Each day with one of its totals. */
async function totals(double: ApiDouble, query: string, metric: string): Promise<[day: string, total: unknown][]> {
  const { body } = await get(double, `/v3/stats?${query}`);
  const days = body as { date: string; stats: { metrics: Record<string, number> }[] }[];
  return days.map(({ date, stats }) => [date, stats[0]?.metrics[metric]]);
}

describe("the days of the double's statistics", () => {
  it("are those of the account's time zone, of 23 hours in spring and 25 in autumn", async () => {
    const { double } = await start({ timeZone: "Europe/Berlin" });
    // In Berlin: 29 March 2026 begins at 23:00 UTC and ends at 22:00 UTC; 25 October begins at 22:00 and ends at 23:00.
    for (const at of ["2026-03-28T22:59:59Z", "2026-03-28T23:00:00Z", "2026-03-29T21:59:59Z", "2026-03-29T22:00:00Z"])
      double.record(event(at, "delivered"));
    for (const at of ["2026-10-24T21:59:59Z", "2026-10-24T22:00:00Z", "2026-10-25T22:59:59Z", "2026-10-25T23:00:00Z"])
      double.record(event(at, "delivered"));
    expect(await totals(double, "start_date=2026-03-28&end_date=2026-03-30", "delivered")).toEqual([
      ["2026-03-28", 1],
      ["2026-03-29", 2],
      ["2026-03-30", 1],
    ]);
    expect(await totals(double, "start_date=2026-10-24&end_date=2026-10-26", "delivered")).toEqual([
      ["2026-10-24", 1],
      ["2026-10-25", 2],
      ["2026-10-26", 1],
    ]);
    expect(await totals(double, "start_date=2026-10-24&aggregated_by=month", "delivered")).toEqual([
      ["2026-10-01", 4],
      ["2026-11-01", 0],
    ]);
  });

  it("end at today, which begins and ends with the zone's", async () => {
    const { double, clock } = await start({ timeZone: "Pacific/Auckland" });
    clock.ms = Date.parse("2026-11-01T11:30:00Z");
    expect((await totals(double, "start_date=2026-11-01", "opens")).map(([day]) => day)).toEqual([
      "2026-11-01",
      "2026-11-02",
    ]);
  });

  it("count an event only some time after it was heard of, and can move once more after that", async () => {
    const { double, clock } = await start({ statsLagSeconds: 3_600 });
    double.record(event("2026-10-30T10:00:00Z", "delivered"));
    const day = "start_date=2026-10-30&end_date=2026-10-30";
    expect(await totals(double, day, "delivered")).toEqual([["2026-10-30", 0]]);
    clock.ms += 3_600_000;
    expect(await totals(double, day, "delivered")).toEqual([["2026-10-30", 1]]);
    double.moveStats("2026-10-30", { delivered: 4, opens: 1 });
    double.moveStats("2026-10-30", { delivered: -2 });
    expect(await totals(double, day, "delivered")).toEqual([["2026-10-30", 3]]);
    expect(await totals(double, "start_date=2026-10-29&end_date=2026-10-29", "delivered")).toEqual([["2026-10-29", 0]]);
  });
});

describe("the double's subusers", () => {
  it("have records of their own, which the parent's do not hold", async () => {
    const { double } = await start({ subusers: ["shop"] });
    double.record(event("2026-10-30T10:00:00Z", "bounce", { type: "bounce" }), "shop");
    const day = "/v3/stats?start_date=2026-10-30&end_date=2026-10-30";
    expect((await get(double, day)).body).toMatchObject([{ stats: [{ metrics: { bounces: 0 } }] }]);
    const shop = { "on-behalf-of": "shop" };
    expect((await get(double, day, shop)).body).toMatchObject([{ stats: [{ metrics: { bounces: 1 } }] }]);
    expect((await get(double, "/v3/suppression/bounces", shop)).body).toHaveLength(1);
    expect((await get(double, "/v3/suppression/bounces")).body).toEqual([]);
    expect((await get(double, "/v3/messages", shop)).body).toMatchObject({ messages: [{}] });
    expect(await get(double, day, { "on-behalf-of": "nobody" })).toEqual({
      status: 403,
      body: { errors: [{ field: null, message: "access forbidden" }] },
    });
    expect((await get(double, "/v3/logs/m?subuser=1")).status).toBe(403);
    expect(() => double.record(event("2026-10-30T10:00:00Z", "open"), "nobody")).toThrow("nobody");
  });
});

describe("the double's suppression lists", () => {
  it("hold each address once, since its first event, in the list of its kind", async () => {
    const { double } = await start();
    const later = "2026-10-31T10:00:00Z";
    double.record(event(later, "bounce", { type: "bounce", reason: "550 later", status: "5.1.1" }));
    double.record(event("2026-10-30T10:00:00Z", "bounce", { type: "bounce", reason: "550", email: "JO@example.com" }));
    double.record(event(later, "bounce", { type: "blocked", reason: "554", email: "al@example.com" }));
    double.record(event(later, "spamreport"));
    double.record(event(later, "dropped", { reason: "Invalid" }));
    double.record(event(later, "dropped", { reason: "Invalid SMTPAPI header", email: "fine@example.com" }));
    double.record(event(later, "unsubscribe"));
    const created = Date.parse(later) / 1000;
    const bodies = await Promise.all(
      ["bounces", "blocks", "spam_reports", "invalid_emails", "unsubscribes"].map(
        async (list) => (await get(double, `/v3/suppression/${list}`)).body,
      ),
    );
    expect(bodies).toEqual([
      [{ created: Date.parse("2026-10-30T10:00:00Z") / 1000, email: "JO@example.com", reason: "550", status: "" }],
      [{ created, email: "al@example.com", reason: "554", status: "" }],
      [{ created, email: "jo@example.com", ip: "" }],
      [{ created, email: "jo@example.com", reason: expect.any(String) as string }],
      [{ created, email: "jo@example.com" }],
    ]);
    const span = `start_time=${created}&end_time=${created}`;
    expect((await get(double, `/v3/suppression/blocks?${span}`)).body).toHaveLength(1);
    expect((await get(double, `/v3/suppression/bounces?${span}`)).body).toEqual([]);
    expect((await get(double, "/v3/suppression/groups")).status).toBe(404);
    for (const wrong of ["limit=501", "limit=0", "offset=-1", "start_time=x"])
      expect((await get(double, `/v3/suppression/blocks?${wrong}`)).status).toBe(400);
  });

  it("and the statistics spend nothing of the budget of calls", async () => {
    const { double } = await start({ callsPerMinute: 1 });
    for (let call = 0; call < 3; call += 1) {
      expect((await get(double, "/v3/suppression/blocks")).status).toBe(200);
      expect((await get(double, "/v3/stats?start_date=2026-11-01")).status).toBe(200);
    }
    expect((await get(double, "/v3/messages")).status).toBe(200);
    expect((await get(double, "/v3/messages")).status).toBe(429);
    expect(double.calls).toMatchObject({ suppressions: 3, stats: 3, messages: 1, refused: 1 });
  });
});

describe("a minute of more than 1,000 messages", () => {
  it("is listed up to 1,000, the newest, and whole only by narrower questions", async () => {
    const { double } = await start({ callsPerMinute: Infinity });
    const startMs = Date.parse("2026-10-30T10:00:00Z");
    for (let n = 0; n < 1_500; n += 1)
      double.record(event(new Date(startMs + (n % 60) * 1000).toISOString(), "processed"));
    const list = async (from: number, to: number): Promise<unknown[]> => {
      const time = (second: number): string => `TIMESTAMP "${new Date(startMs + second * 1000).toISOString()}"`;
      const query = `last_event_time BETWEEN ${time(from)} AND ${time(to)}`;
      const { body } = await get(double, `/v3/messages?limit=1000&query=${encodeURIComponent(query)}`);
      return (body as { messages: unknown[] }).messages;
    };
    expect(await list(0, 59)).toHaveLength(1_000);
    expect((await list(0, 29)).length + (await list(30, 59)).length).toBe(1_500);
  });
});
