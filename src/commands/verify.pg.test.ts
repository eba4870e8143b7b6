import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Command } from "commander";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { testDatabase, type TestDatabase } from "../../test/database.ts";
import { ledgerWorld, type LedgerWorld } from "../../test/ledger-world.ts";
import type { LedgerCommandOptions } from "./ledger-command.ts";
import { addVerifyCommand } from "./verify.ts";

let db: TestDatabase;
let world: LedgerWorld;
let dataDir: string;

beforeAll(async () => {
  db = await testDatabase();
  world = await ledgerWorld(db.pool);
});
afterAll(async () => db.drop());
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "holdfast-verify-"));
  await world.clear();
  await world.fill();
});
afterEach(async () => rm(dataDir, { recursive: true }));

/** Runs `holdfast verify …`. */
async function verify(
  args: readonly string[] = [],
  options: LedgerCommandOptions = {},
): Promise<{ code: number; text: string }> {
  const printed: string[] = [];
  const program = new Command("holdfast").exitOverride().configureOutput({ writeErr: () => undefined });
  addVerifyCommand(program, {
    withPool: async (work) => work(db.pool),
    dataDir,
    print: (text) => void printed.push(text),
    ...options,
  });
  for (const command of program.commands) command.exitOverride();
  try {
    await program.parseAsync(["verify", ...args], { from: "user" });
    return { code: Number(process.exitCode), text: printed.join("\n") };
  } finally {
    process.exitCode = undefined;
  }
}

const interrupted = { signal: AbortSignal.abort() };

describe("holdfast verify", () => {
  test("prints what it counted and ends with 0 when all is as it must be", async () => {
    expect(await verify()).toEqual({
      code: 0,
      text: [
        "receipts     5 (0 pending, 0 unsigned)",
        "events       9 stored, 1 duplicates",
        "quarantined  3",
        "messages     3",
        "tallies      1",
        "differences  0",
      ].join("\n"),
    });
    expect(await readdir(dataDir)).toEqual([]);
  });

  test("lists what differs, and ends with 1", async () => {
    await db.pool.query("DELETE FROM quarantine WHERE ordinal = -1");
    const { code, text } = await verify();
    expect(code).toBe(1);
    expect(text).toMatch(/^differences {2}2$/m);
    expect(text).toMatch(/^ {2}quarantine_missing +receipt \d+, whole body: the item cannot be read/m);
    expect(text).toMatch(
      /^ {2}tally_wrong +hour 2026-03-01T09:00:00.000Z, source default, quarantined 3 instead of 2: the tally/m,
    );
  });

  test("gives the same as JSON", async () => {
    await db.pool.query("UPDATE tallies SET stored = 0");
    const { code, text } = await verify(["--json"]);
    expect(code).toBe(1);
    expect(JSON.parse(text)).toMatchObject({
      outcome: "different",
      receipts: 5,
      stored: 9,
      differences: 1,
      listed: [{ kind: "tally_wrong", source: "default", recorded: { stored: 0 }, counted: { stored: 9 } }],
    });
  });

  test("takes hours and a source", async () => {
    expect((await verify(["--from", "2026-03-01T10:00:00Z"])).text).toMatch(/^receipts {5}0 /);
    // Taken forward to the end of its hour.
    expect((await verify(["--to", "2026-03-01T09:00:01Z", "--source", "default"])).text).toMatch(/^receipts {5}5 /);
  });

  test.each([[["--from", "yesterday"]], [["--nonsense"]], [["--source", "nobody"]], [["--resume"]]])(
    "is used wrongly with %j",
    async (args) => {
      await expect(verify(args)).rejects.toThrow(/time|unknown option|no source|no interrupted/);
    },
  );

  test("keeps how far it is when it is interrupted, and goes on from there", async () => {
    await db.pool.query("UPDATE tallies SET stored = 0");
    const { code, text } = await verify([], interrupted);
    expect(code).toBe(130);
    expect(text).toMatch(/^Interrupted\. Go on with: holdfast verify --resume .*verify\.state\.json$/m);
    expect(await readdir(dataDir)).toEqual(["verify.state.json"]);
    const resumed = await verify(["--resume"]);
    expect(resumed.code).toBe(1);
    expect(resumed.text).toMatch(/^receipts {5}5 /);
    expect(await readdir(dataDir)).toEqual([]);
  });

  test("keeps it where it is told to, and begins there when nothing is kept yet", async () => {
    const file = join(dataDir, "mine.json");
    expect((await verify(["--resume", file], interrupted)).text).toContain(`--resume ${file}`);
    expect(await readdir(dataDir)).toEqual(["mine.json"]);
    expect((await verify(["--resume", file])).code).toBe(0);
  });

  test("does not go on with other limits, another database's state, or what is no state", async () => {
    const file = join(dataDir, "mine.json");
    await verify(["--resume", file], interrupted);
    await expect(verify(["--resume", file, "--from", "2026-03-01"])).rejects.toThrow("other limits");
    const state = JSON.parse(await readFile(file, "utf8")) as object;
    await writeFile(file, JSON.stringify({ ...state, database: "another" }));
    await expect(verify(["--resume", file])).rejects.toThrow("another database");
    await writeFile(file, "{");
    await expect(verify(["--resume", file])).rejects.toThrow("is not the state");
  });

  test("goes on without keeping anything where it cannot write", async () => {
    const warned: string[] = [];
    const options = { ...interrupted, warn: (text: string) => void warned.push(text) };
    const { code, text } = await verify(["--resume", join(dataDir, "no/such/folder.json")], options);
    expect(code).toBe(130);
    expect(text).toMatch(/^Interrupted\.$/m);
    expect(warned).toEqual([expect.stringContaining("cannot be kept in")]);
  });

  test("says that a database is not migrated", async () => {
    const empty = await testDatabase({ migrated: false });
    await expect(verify([], { withPool: async (work) => work(empty.pool) })).rejects.toThrow("holdfast migrate");
    await empty.drop();
  });
});
