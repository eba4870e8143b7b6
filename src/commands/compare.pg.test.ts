import { Command, CommanderError } from "commander";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { testDatabase, type TestDatabase } from "../../test/database.ts";
import { seedEvent, seedMessage, seedSource } from "../../test/seed.ts";
import { UsageError } from "../errors.ts";
import { addCompareCommand } from "./compare.ts";

const PASSWORD = "not-to-be-shown";

describe("holdfast compare", () => {
  let db: TestDatabase;
  let other: TestDatabase;
  let source: number;
  let message: number;
  let address: string;

  beforeAll(async () => {
    db = await testDatabase();
    other = await testDatabase({ migrated: false });
    source = await seedSource(db.pool, "default");
    message = await seedMessage(db.pool, { source, messageId: "m.recvd-1.0" });
    await other.pool.query("CREATE TABLE events (event_id text, at timestamptz)");
    const url = new URL(other.databaseUrl);
    url.pathname += ".events";
    address = url.href;
  });
  beforeEach(async () => {
    await db.pool.query("TRUNCATE events");
    await other.pool.query("TRUNCATE events");
  });
  afterAll(async () => {
    await db.drop();
    await other.drop();
  });

  /** Runs `holdfast compare …`, with all that it writes. */
  async function run(args: readonly string[], table = address): Promise<{ code: number; text: string }> {
    const written: string[] = [];
    const keep = (text: string): void => void written.push(text);
    const program = new Command("holdfast").exitOverride().configureOutput({ writeErr: keep, writeOut: keep });
    addCompareCommand(program, { withPool: async (work) => work(db.pool), print: keep, warn: keep });
    for (const command of program.commands) command.exitOverride();
    try {
      await program.parseAsync(["compare", "--table", table, ...args], { from: "user" });
      return { code: Number(process.exitCode), text: written.join("\n") };
    } catch (error) {
      if (error instanceof UsageError || error instanceof CommanderError)
        return { code: 2, text: [...written, error.message].join("\n") };
      throw error;
    } finally {
      process.exitCode = undefined;
    }
  }

  const AT = new Date("2026-03-01T09:00:00Z");
  const COLUMNS = ["--id-column", "event_id"];
  const PERIOD = [...COLUMNS, "--time-column", "at", "--from", "2026-03-01", "--to", "2026-03-02"];

  async function here(id: string, at = AT): Promise<void> {
    await seedEvent(db.pool, { message, source, eventId: id, type: "open", occurredAt: at });
  }

  async function there(id: string, at = AT): Promise<void> {
    await other.pool.query("INSERT INTO events VALUES ($1, $2)", [id, at]);
  }

  it("ends with 0 when both sides have the same events", async () => {
    await here("a");
    await there("a");
    const { code, text } = await run(COLUMNS);
    expect(code).toBe(0);
    expect(text).toContain(
      "in both            1\nonly in Holdfast   0\nonly in the table  0\n\nBoth have the same events.",
    );
  });

  it("ends with 1 when they differ, and names how many, which, and when", async () => {
    for (const id of ["a", "lost-1", "lost-2"]) await here(id);
    for (const id of ["a", "x", "x", "y"]) await there(id);
    const { code, text } = await run([...PERIOD, "--limit", "1"]);
    expect(code).toBe(1);
    expect(text).toContain("events from 2026-03-01T00:00:00.000Z until 2026-03-02T00:00:00.000Z");
    expect(text.split("\n").slice(2)).toEqual([
      "in both            1",
      "only in Holdfast   2",
      "  2026-03-01T09:00:00.000Z  open  lost-1",
      "  and 1 more",
      "only in the table  2",
      "  2026-03-01T09:00:00.000Z  x  2 rows",
      "  and 1 more",
      "more than once in the table: 1 ids, 1 rows too many",
      "",
      "They differ.",
    ]);
    const json = await run([...PERIOD, "--json", "--source", "default"]);
    expect(JSON.parse(json.text)).toMatchObject({ outcome: "different", both: 1, onlyInTable: { events: 2 } });
  });

  it("leaves out what is so young that it may be on its way to one of the two", async () => {
    await here("young", new Date());
    await there("old", new Date(Date.now() - 3_600_000));
    const { text } = await run([...COLUMNS, "--time-column", "at", "--json"]);
    expect(JSON.parse(text)).toMatchObject({ onlyInHoldfast: { events: 0 }, onlyInTable: { events: 1 } });
  });

  it("refuses to be used wrongly, with 2", async () => {
    for (const [why, ...args] of [
      ["--id-column"],
      ["need --time-column", ...COLUMNS, "--from", "2026-03-01"],
      ["not before", ...COLUMNS, "--time-column", "at", "--from", "2026-03-02", "--to", "2026-03-01"],
      ["must be a time", ...COLUMNS, "--time-column", "at", "--from", "yesterday"],
      ["from 0 to 10000", ...COLUMNS, "--limit", "10001"],
      ["from 0 to 10000", ...COLUMNS, "--limit", "-1"],
      ["no source named", ...COLUMNS, "--source", "nowhere"],
      ["no column none", "--id-column", "none"],
    ] as const) {
      const { code, text } = await run(args);
      expect([code, text.includes(why)], text).toEqual([2, true]);
    }
    expect((await run([...COLUMNS, "--limit", "10000"])).code).toBe(0);
    expect((await run([...COLUMNS, "--limit", "0"])).code).toBe(0);
  });

  it("never shows the password, whatever is wrong", async () => {
    const url = new URL(address);
    url.username = "nobody_of_that_name";
    url.password = PASSWORD;
    const places = [
      url.href,
      `postgres://u:${PASSWORD}@127.0.0.1:1/a.b`,
      `postgres://u:${PASSWORD}@h/a`,
      `mysql://u:${PASSWORD}@h/a.b`,
      `postgres://u:${PASSWORD}@h:x/a.b`,
      `u:${PASSWORD}@h/a.b`,
    ];
    for (const place of places) {
      const { code, text } = await run(COLUMNS, place);
      expect([code, text.includes(PASSWORD)], text).toEqual([2, false]);
    }
    const missing = await run([], places[1]);
    expect([missing.code, missing.text.includes(PASSWORD)]).toEqual([2, false]);
  });
});
