import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { testDatabase, type TestDatabase } from "../../test/database.ts";
import { seedEvent, seedMessage, seedSource } from "../../test/seed.ts";
import { COMPARE_MARGIN_SECONDS, COMPARE_PAGE_ROWS } from "../limits.ts";
import { readTableAddress } from "./compare-address.ts";
import { compare, type CompareOptions, type Comparison } from "./compare.ts";

const DAY = "2026-03-01";

describe("the comparison with another handler's table", () => {
  let db: TestDatabase;
  let other: TestDatabase;
  let source: number;
  let second: number;
  let simulated: number;
  let message: number;

  beforeAll(async () => {
    db = await testDatabase();
    other = await testDatabase({ migrated: false });
    source = await seedSource(db.pool, "default");
    second = await seedSource(db.pool, "second");
    simulated = await seedSource(db.pool, "simulation", true);
    message = await seedMessage(db.pool, { source, messageId: "m.recvd-1.0" });
  });
  beforeEach(async () => {
    await db.pool.query("TRUNCATE events");
    await other.pool.query(
      "DROP TABLE IF EXISTS events; CREATE TABLE events (event_id text, at timestamptz, plain timestamp, unix bigint, secret text)",
    );
  });
  afterAll(async () => {
    await db.drop();
    await other.drop();
  });

  function addressOf(table: string, url = other.databaseUrl): string {
    const address = new URL(url);
    address.pathname += `.${table}`;
    return address.href;
  }

  async function run(changes: Partial<CompareOptions> & { table?: string } = {}): Promise<Comparison> {
    const { table = "public.events", ...rest } = changes;
    return compare({
      pool: db.pool,
      address: readTableAddress(addressOf(table)),
      columns: { id: "event_id", time: undefined },
      from: undefined,
      to: undefined,
      source: undefined,
      listed: 20,
      ...rest,
    });
  }

  async function here(
    id: string,
    time = "09:00:00",
    fields: Partial<Parameters<typeof seedEvent>[1]> = {},
  ): Promise<void> {
    await seedEvent(db.pool, {
      message,
      source,
      eventId: id,
      type: "delivered",
      occurredAt: new Date(`${DAY}T${time}Z`),
      ...fields,
    });
  }

  async function there(id: string | null, time: string | null = "09:00:00"): Promise<void> {
    const at = time === null ? null : new Date(`${DAY}T${time}Z`);
    await other.pool.query(
      "INSERT INTO events VALUES ($1, $2::timestamptz, $2::timestamptz AT TIME ZONE 'UTC', extract(epoch FROM $2::timestamptz))",
      [id, at],
    );
  }

  const ids = (listed: readonly { id: string }[]): string[] => listed.map(({ id }) => id);

  it("finds nothing where both sides have the same events", async () => {
    expect(await run()).toMatchObject({ outcome: "equal", both: 0 });
    for (const id of ["a", "b", "é", "😀", "\uFFFD", "Z", "_", "-"]) {
      await here(id);
      await there(id);
    }
    expect(await run()).toEqual({
      outcome: "equal",
      from: null,
      to: null,
      both: 8,
      onlyInHoldfast: { events: 0, twins: 0, repaired: 0, listed: [] },
      onlyInTable: { events: 0, listed: [] },
      notComparable: 0,
      repeatedInTable: { ids: 0, rows: 0 },
      withoutId: 0,
      withoutTime: 0,
    });
  });

  it("names what each side has that the other lacks, and what of it is a twin or was repaired", async () => {
    await here("both");
    await here("lost", "10:00:00");
    await here("twin", "10:00:01", { twin: true, type: "open" });
    await here("repaired", "10:00:02");
    await db.pool.query("UPDATE events SET origin = 'logs' WHERE event_id = 'repaired'");
    await there("both");
    await there("only-there", "11:00:00");
    const found = await run({ columns: { id: "event_id", time: "at" } });
    expect(found).toMatchObject({ outcome: "different", both: 1 });
    const common = { twin: false, origin: "webhook", type: "delivered" };
    expect(found.onlyInHoldfast).toEqual({
      events: 3,
      twins: 1,
      repaired: 1,
      listed: [
        { ...common, id: "lost", at: `${DAY}T10:00:00.000Z` },
        { ...common, id: "repaired", at: `${DAY}T10:00:02.000Z`, origin: "logs" },
        { ...common, id: "twin", at: `${DAY}T10:00:01.000Z`, twin: true, type: "open" },
      ],
    });
    expect(found.onlyInTable).toEqual({
      events: 1,
      listed: [{ id: "only-there", at: `${DAY}T11:00:00.000Z`, rows: 1 }],
    });
  });

  it("counts apart what stands twice and what has no id", async () => {
    await here("a");
    await here("fp:0123");
    for (const id of ["a", "a", "a", "b", "b", null, ""]) await there(id);
    expect(await run()).toMatchObject({
      both: 1,
      notComparable: 1,
      withoutId: 2,
      repeatedInTable: { ids: 2, rows: 3 },
      onlyInTable: { events: 1, listed: [{ id: "b", at: null, rows: 2 }] },
    });
  });

  it("leaves out simulated traffic, and compares one source when told to", async () => {
    await here("real");
    await here("second", "09:00:00", { source: second });
    await here("simulated", "09:00:00", { source: simulated });
    expect(ids((await run()).onlyInHoldfast.listed)).toEqual(["real", "second"]);
    expect(ids((await run({ source: second })).onlyInHoldfast.listed)).toEqual(["second"]);
    expect(ids((await run({ source: simulated })).onlyInHoldfast.listed)).toEqual(["simulated"]);
  });

  it("counts on beyond the ids that it names", async () => {
    for (const id of ["a", "b", "c"]) await here(id);
    for (const id of ["x", "y", "z"]) await there(id);
    const found = await run({ listed: 2 });
    expect([found.onlyInHoldfast.events, ids(found.onlyInHoldfast.listed)]).toEqual([3, ["a", "b"]]);
    expect([found.onlyInTable.events, ids(found.onlyInTable.listed)]).toEqual([3, ["x", "y"]]);
  });

  it.each(["at", "plain", "unix"])("compares a period by a column such as %s", async (time) => {
    for (const [id, at] of [
      ["before", "08:59:59"],
      ["first", "09:00:00"],
      ["last", "09:59:59"],
      ["after", "10:00:00"],
    ] as const) {
      await here(`here-${id}`, at);
      await there(`there-${id}`, at);
    }
    // The table's time is that of arrival, or a clock's that is wrong.
    await here("came-late", "09:30:00");
    await there("came-late", "11:00:00");
    await here("came-early", "10:30:00");
    await there("came-early", "09:30:00");
    await there("undated", null);
    await here("dated-here", "09:10:00");
    await there("dated-here", null);
    const period = { from: new Date(`${DAY}T09:00:00Z`), to: new Date(`${DAY}T10:00:00Z`) };
    const found = await run({ columns: { id: "event_id", time }, ...period });
    expect([ids(found.onlyInHoldfast.listed), ids(found.onlyInTable.listed)]).toEqual([
      ["here-first", "here-last"],
      ["there-first", "there-last"],
    ]);
    expect(found).toMatchObject({
      both: 3,
      withoutTime: 1,
      from: period.from.toISOString(),
      to: period.to.toISOString(),
    });
  });

  it("looks some days beyond the period for the other side's time, and no further", async () => {
    const from = new Date(`${DAY}T09:00:00Z`);
    const beyond = (seconds: number): Date => new Date(from.getTime() - COMPARE_MARGIN_SECONDS * 1000 - seconds * 1000);
    for (const [id, at] of [
      ["within", beyond(0)],
      ["beyond", beyond(1)],
    ] as const) {
      await here(id);
      await other.pool.query("INSERT INTO events (event_id, at) VALUES ($1, $2)", [id, at]);
    }
    const found = await run({ columns: { id: "event_id", time: "at" }, from });
    expect([found.both, ids(found.onlyInHoldfast.listed)]).toEqual([1, ["beyond"]]);
  });

  it("finds exactly what differs among 100,000 ids on both sides, with two pages in memory", async () => {
    const count = 100_000;
    await db.pool.query(
      `INSERT INTO events (message, occurred_at, ordinal, origin, source, twin, nameless, event_id, type, detail)
       SELECT $1, '2026-03-01T09:00:00Z', 0, 'webhook', $2, false, false, md5(n::text), 'open', '{}' FROM generate_series(1, $3) AS n WHERE n % 10007 <> 0`,
      [message, source, count],
    );
    await other.pool.query(
      "INSERT INTO events (event_id) SELECT md5(n::text) FROM generate_series(1, $1) AS n WHERE n % 25013 <> 0 ORDER BY random()",
      [count],
    );
    const heldRows: number[] = [];
    const found = await run({ onHeld: (rows) => void heldRows.push(rows) });
    const missing = (step: number): number[] =>
      Array.from({ length: Math.floor(count / step) }, (_, index) => (index + 1) * step);
    const named = await db.pool.query<{ here: string[]; there: string[] }>(
      `SELECT ARRAY(SELECT md5(n::text) FROM unnest($1::int[]) AS n ORDER BY 1) AS here, ARRAY(SELECT md5(n::text) FROM unnest($2::int[]) AS n ORDER BY 1) AS there`,
      [missing(25_013), missing(10_007)],
    );
    expect(ids(found.onlyInHoldfast.listed)).toEqual(named.rows[0]?.here);
    expect(ids(found.onlyInTable.listed)).toEqual(named.rows[0]?.there);
    expect(found.both).toBe(count - missing(10_007).length - missing(25_013).length);
    expect(Math.max(...heldRows)).toBe(2 * COMPARE_PAGE_ROWS);
    expect(heldRows.length).toBeGreaterThan((2 * count) / COMPARE_PAGE_ROWS - 2);
  });

  it("reads pages that end within the rows of one id", async () => {
    for (const id of ["a", "b", "b", "b", "b", "c"]) await there(id);
    for (const id of ["a", "b", "c"]) await here(id);
    for (const pageRows of [1, 2, 3, 6]) {
      expect(await run({ pageRows })).toMatchObject({
        outcome: "equal",
        both: 3,
        repeatedInTable: { ids: 1, rows: 3 },
      });
    }
  });

  it("takes names as they are, whatever they hold", async () => {
    await other.pool.query(
      `DROP SCHEMA IF EXISTS "My.Schema" CASCADE; CREATE SCHEMA "My.Schema"; CREATE TABLE "My.Schema"."it""s; DROP TABLE events" ("The Id" uuid)`,
    );
    await other.pool.query(
      `INSERT INTO "My.Schema"."it""s; DROP TABLE events" VALUES ('00000000-0000-0000-0000-00000000000A')`,
    );
    const table = `My%2ESchema.${encodeURIComponent('it"s; DROP TABLE events')}`;
    const found = await run({ table, columns: { id: "The Id", time: undefined } });
    expect(ids(found.onlyInTable.listed)).toEqual(["00000000-0000-0000-0000-00000000000a"]);
    expect((await other.pool.query("SELECT FROM events")).rows).toEqual([]);
  });

  it("can write nothing, not even by what it reads", async () => {
    await other.pool.query(
      `CREATE OR REPLACE FUNCTION note() RETURNS text LANGUAGE sql AS $$ INSERT INTO events (event_id) VALUES ('x') RETURNING event_id $$`,
    );
    await other.pool.query("CREATE OR REPLACE VIEW writing AS SELECT note() AS event_id");
    await expect(run({ table: "writing" })).rejects.toThrow("to read it would write something");
    await other.pool.query("DROP VIEW writing");
    expect((await other.pool.query("SELECT FROM events")).rows).toEqual([]);
  });

  it("says what is wrong with the table, in words", async () => {
    await expect(run({ table: "none" })).rejects.toThrow("there is no such table");
    await expect(run({ table: "nowhere.events" })).rejects.toThrow("there is no such");
    await expect(run({ columns: { id: "none", time: undefined } })).rejects.toThrow("has no column none");
    await expect(run({ columns: { id: "event_id", time: "none" } })).rejects.toThrow("has no column none");
    await expect(run({ columns: { id: "event_id", time: "secret" } })).rejects.toThrow("the column secret is a text");
    const elsewhere = new URL(other.databaseUrl);
    elsewhere.pathname = "/no_such_database";
    await expect(run({ address: readTableAddress(addressOf("events", elsewhere.href)) })).rejects.toThrow(
      "there is no database no_such_database",
    );
    await expect(run({ address: readTableAddress("postgres://u:hush@127.0.0.1:1/a.b") })).rejects.toThrow(
      /^127.0.0.1:1\/a.b cannot be reached$/,
    );
  });

  it("says what prevents a connection", async () => {
    const place = new URL(addressOf("events"));
    place.searchParams.set("sslrootcert", "/no/such/file");
    await expect(run({ address: readTableAddress(place.href) })).rejects.toThrow(/cannot be (connected to|reached)/);
  });

  it("says which right is missing, and needs none but to read the table's two columns", async (context) => {
    const own = await other.pool.query(
      "SELECT FROM pg_roles WHERE rolname = current_user AND (rolsuper OR rolcreaterole)",
    );
    if (own.rows.length === 0) context.skip("the tests' role may not make another");
    const role = `compare_${randomBytes(4).toString("hex")}`;
    await other.pool.query(`CREATE ROLE ${role} LOGIN PASSWORD 'hush'`);
    try {
      const url = new URL(other.databaseUrl);
      url.username = role;
      url.password = "hush";
      const address = readTableAddress(addressOf("public.events", url.href));
      await there("a");
      await expect(run({ address })).rejects.toThrow("GRANT SELECT ON events");
      await other.pool.query(`GRANT SELECT (event_id, at) ON events TO ${role}`);
      expect(await run({ address, columns: { id: "event_id", time: "at" } })).toMatchObject({
        onlyInTable: { events: 1 },
      });
    } finally {
      await other.pool.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
    }
  });

  it("stops between two pages when it is interrupted, and leaves no connection behind", async () => {
    for (const id of ["a", "b", "c"]) await there(id);
    const abort = new AbortController();
    await expect(run({ pageRows: 1, signal: abort.signal, onHeld: () => abort.abort() })).rejects.toThrow("aborted");
  });
});
