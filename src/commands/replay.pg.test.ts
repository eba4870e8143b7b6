import { Command } from "commander";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { testDatabase, type TestDatabase } from "../../test/database.ts";
import { ledgerWorld, type LedgerWorld } from "../../test/ledger-world.ts";
import { addReplayCommand } from "./replay.ts";

let db: TestDatabase;
let world: LedgerWorld;
let receipts: number[];

beforeAll(async () => {
  db = await testDatabase();
  world = await ledgerWorld(db.pool);
});
afterAll(async () => db.drop());
beforeEach(async () => {
  await world.clear();
  receipts = await world.fill();
});

/** Runs `holdfast replay …`. */
async function replay(...args: string[]): Promise<{ code: number; text: string }> {
  const printed: string[] = [];
  const program = new Command("holdfast").exitOverride().configureOutput({ writeErr: () => undefined });
  addReplayCommand(program, {
    withPool: async (work) => work(db.pool),
    print: (text) => void printed.push(text),
  });
  for (const command of program.commands) command.exitOverride();
  try {
    await program.parseAsync(["replay", ...args], { from: "user" });
    return { code: Number(process.exitCode), text: printed.join("\n") };
  } finally {
    process.exitCode = undefined;
  }
}

describe("holdfast replay --receipts", () => {
  test("announces in a dry run, ends with 1, and then does it", async () => {
    await db.pool.query("DELETE FROM events WHERE event_id = 'ev6'");
    const range = `${receipts[0]}..${receipts[4]}`;
    const announced = await replay("--receipts", range, "--dry-run");
    expect(announced.code).toBe(1);
    expect(announced.text).toMatch(/^Nothing was changed\. A replay would give:\nreceipts {5}5\nstored {7}1 events/);
    const done = await replay("--receipts", range);
    expect(done).toEqual({ code: 0, text: announced.text.split("\n").slice(1).join("\n") });
    expect((await world.verify()).outcome).toBe("clean");
    expect((await replay("--receipts", range, "--dry-run")).code).toBe(0);
  });

  test("names the tallies it set", async () => {
    await db.pool.query("UPDATE tallies SET stored = 0");
    const { text } = await replay("--receipts", String(receipts[0]));
    expect(text).toMatch(
      /^tallies {6}1 set to what was counted\n {2}2026-03-01T09:00:00.000Z default: stored 0 to 9$/m,
    );
  });

  test("takes times and a source, and gives JSON", async () => {
    const args = ["--receipts", "2026-03-01T09:00:00Z..2026-03-01T10:00:00Z", "--source", "default", "--json"];
    expect(JSON.parse((await replay(...args)).text)).toMatchObject({ receipts: 5, stored: 0, tallies: [] });
    expect(JSON.parse((await replay("--receipts", "2026-03-01T10:00:00Z..", "--json")).text)).toMatchObject({
      receipts: 0,
    });
    expect(JSON.parse((await replay("--receipts", `..${receipts[1]}`, "--json")).text)).toMatchObject({ receipts: 2 });
  });
});

describe("holdfast replay --quarantine", () => {
  test("ends with 1 while something still cannot be read, and names it", async () => {
    const { code, text } = await replay("--quarantine", "--all");
    expect(code).toBe(1);
    expect(text).toMatch(/^filed {7}0 items \(0 events stored, 0 duplicates\)\nunreadable {2}3: \d+, \d+, \d+$/);
  });

  test("takes numbers and a reason", async () => {
    const [row] = await world.rows<{ id: number }>("SELECT id FROM quarantine WHERE ordinal = -1");
    expect((await replay("--quarantine", String(row?.id), "999999")).text).toMatch(
      /^unreadable {2}1: \d+\nnot open {4}999999$/m,
    );
    expect((await replay("--quarantine", "--reason", "no_timestamp")).text).toMatch(/^unreadable {2}1: /m);
    expect((await replay("--quarantine", "--reason", "too_deep")).code).toBe(0);
  });
});

describe("holdfast replay", () => {
  test.each([
    [[]],
    [["--quarantine"]],
    [["--all"]],
    [["--quarantine", "1", "--all"]],
    [["--quarantine", "x"]],
    [["--quarantine", "--all", "--receipts", "1"]],
    [["--receipts", "1", "--reason", "x"]],
    [["--receipts", ".."]],
    [["--receipts", "1..2..3"]],
    [["--receipts", "yesterday..today"]],
    [["--receipts", "2026-03-01"]],
    [["--receipts", "1", "--source", "nobody"]],
  ])("is used wrongly with %j", async (args) => {
    await expect(replay(...args)).rejects.toThrow(/say w|--quarantine|must|not the number|no source/);
  });
});
