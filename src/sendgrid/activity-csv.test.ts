import fc from "fast-check";
import { request } from "undici";
import { afterEach, describe, expect, it } from "vitest";
import { CSV_ROW_BYTES_MAX } from "../limits.ts";
import { startApiDouble, type ApiDouble } from "../simulator/api-double.ts";
import { readActivityCsv, type ActivityRow } from "./activity-csv.ts";

const AT = Date.parse("2026-03-04T10:00:00Z");

async function* chunksOf(text: string | Buffer, size = 7): AsyncGenerator<Buffer> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function read(text: string | Buffer, size?: number): Promise<ActivityRow[]> {
  const rows: ActivityRow[] = [];
  for await (const row of readActivityCsv(chunksOf(text, size))) rows.push(row);
  return rows;
}

describe("the reader of the CSV export", () => {
  const doubles: ApiDouble[] = [];

  afterEach(async () => {
    for (const double of doubles.splice(0)) await double.stop();
  });

  it("takes the columns in any order, with a byte order mark, CRLF, quoted line breaks and columns it does not know", async () => {
    const text =
      "\uFEFFunknown,event,reason,Message ID,processed,email,attempt,unique_args,categories,asm_group_id\r\n" +
      'x,deferred,"450 later,\r\nsays ""mx""",abc.1,2026-03-04T10:00:00Z,jo@example.com,2,"{""order_id"":""7""}","[""invoice""]",5\r\n' +
      "\r\n" +
      "y,open,,abc.1,2026-03-04 10:00:05 UTC,jo@example.com,,,,\r\n";
    expect(await read(text)).toEqual([
      {
        kind: "event",
        messageId: "abc.1",
        event: {
          type: "deferred",
          occurredAtMs: AT,
          eventId: undefined,
          item: {
            order_id: "7",
            asm_group_id: 5,
            category: ["invoice"],
            email: "jo@example.com",
            response: '450 later,\r\nsays "mx"',
            attempt: "1",
            event: "deferred",
            timestamp: AT / 1000,
            sg_message_id: "abc.1",
          },
        },
      },
      {
        kind: "event",
        messageId: "abc.1",
        event: {
          type: "open",
          occurredAtMs: AT + 5_000,
          eventId: undefined,
          item: { email: "jo@example.com", event: "open", timestamp: AT / 1000 + 5, sg_message_id: "abc.1" },
        },
      },
    ]);
  });

  it("skips a row that is no event, and says which and why", async () => {
    const text =
      "processed,message_id,event\n" +
      "2026-03-04T10:00:00Z,,open\n" +
      'soon,"abc\n.1",open\n' +
      "2026-03-04T10:00:00Z,abc.1,\n" +
      "2026-03-04T10:00:00Z,abc.1,received\n" +
      "2026-03-04T10:00:00Z\n" +
      "1772618400,abc.1,delivered,one,cell,too,many\n";
    expect(await read(text)).toMatchObject([
      { kind: "skipped", line: 2, reason: "it names no message" },
      { kind: "skipped", line: 3, reason: "it has no time that can be understood" },
      { kind: "skipped", line: 5, reason: "it is no event that can be understood" },
      { kind: "skipped", line: 6, reason: "the webhook has no event of this kind" },
      { kind: "skipped", line: 7, reason: "it names no message" },
      { kind: "event", messageId: "abc.1", event: { type: "delivered", occurredAtMs: AT } },
    ]);
  });

  it.each([
    ["", "the file is empty"],
    ["email,date\na@example.com,x\nb@example.com,y\n", "it has no column processed, message_id, event"],
    ["processed,event\n2026-03-04T10:00:00Z,open\n", "it has no column message_id"],
  ])("says once what is wrong with the file %j", async (text, reason) => {
    const rows = await read(text);
    expect(rows).toHaveLength(1);
    expect(rows[0]).toMatchObject({ kind: "skipped", line: 1 });
    expect(rows[0]?.kind === "skipped" && rows[0].reason).toContain(reason);
  });

  it("stops at a row that never ends, after all before it", async () => {
    const text = `processed,message_id,event\n2026-03-04T10:00:00Z,abc.1,open\n"${"x".repeat(CSV_ROW_BYTES_MAX + 10)}`;
    expect(await read(text, 65_536)).toMatchObject([{ kind: "event" }, { kind: "skipped", line: 3 }]);
  });

  it("throws what its source throws", async () => {
    async function* broken(): AsyncGenerator<Buffer> {
      yield Buffer.from("processed,message_id,event\n");
      throw new Error("the disk is gone");
    }
    await expect(async () => {
      for await (const row of readActivityCsv(broken())) expect(row).toBeUndefined();
    }).rejects.toThrow("the disk is gone");
  });

  it("never throws, whatever the file holds", async () => {
    const cell = fc.oneof(fc.constantFrom("processed", "message_id", "event", "open", '"', ",", "\n"), fc.string());
    await fc.assert(
      fc.asyncProperty(fc.array(cell), fc.boolean(), async (cells, hasHeader) => {
        const rows = await read(`${hasHeader ? "processed,message_id,event\n" : ""}${cells.join(",")}`);
        for (const row of rows) expect(row.kind).toMatch(/event|skipped/);
      }),
    );
  });

  it("reads the whole export of the double, which gives one in 12 hours and its link by mail", async () => {
    const clock = { ms: AT + 3_600_000 };
    const double = await startApiDouble({ visibleAfterSeconds: 0, now: () => clock.ms });
    doubles.push(double);
    const headers = { authorization: `Bearer ${double.apiKey}` };
    const wire = { email: "jo@example.com", sg_message_id: "abc.1", order_id: '7, "seven"', category: ["invoice"] };
    const events = [
      { ...wire, event: "processed", timestamp: AT / 1000, sg_event_id: "e1" },
      {
        ...wire,
        event: "bounce",
        type: "blocked",
        reason: "554, no\nmore",
        timestamp: AT / 1000 + 9,
        sg_event_id: "e2",
      },
    ];
    for (const event of events) double.record(event);
    double.record({
      ...wire,
      event: "open",
      timestamp: AT / 1000 - 31 * 86_400,
      sg_event_id: "old",
      sg_message_id: "o",
    });
    const order = () => request(`${double.url}/v3/messages/download`, { method: "POST", headers });
    expect((await order()).statusCode).toBe(202);
    expect((await order()).statusCode).toBe(429);
    const [uuid] = double.exports();
    const link = await request(`${double.url}/v3/messages/download/${uuid}`, { headers });
    const { presigned_url: url } = (await link.body.json()) as { presigned_url: string };
    const file = await request(url);
    const rows = await read(await file.body.text(), 4_096);
    expect(rows.map((row) => (row.kind === "event" ? row.event.item : row))).toEqual(
      events.toReversed().map(({ sg_event_id: _id, ...item }) => item),
    );
    clock.ms += 300_000;
    expect((await request(url)).statusCode).toBe(403);
    clock.ms += 12 * 3_600_000;
    expect((await order()).statusCode).toBe(202);
    clock.ms += 60 * 3_600_000;
    expect((await request(`${double.url}/v3/messages/download/${uuid}`, { headers })).statusCode).toBe(404);
  });
});
