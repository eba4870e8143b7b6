import { Command } from "commander";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { testDatabase, type TestDatabase } from "../../test/database.ts";
import { addDoctorCommand } from "./doctor.ts";

let db: TestDatabase;

beforeAll(async () => {
  db = await testDatabase();
});
afterAll(async () => db.drop());
afterEach(() => {
  process.exitCode = undefined;
});

async function doctor(...args: string[]): Promise<{ text: string; exitCode: unknown }> {
  const printed: string[] = [];
  const program = new Command("holdfast").exitOverride();
  addDoctorCommand(program, { withPool: async (work) => work(db.pool), print: (text) => void printed.push(text) });
  await program.parseAsync(["doctor", ...args], { from: "user" });
  return { text: printed.join("\n"), exitCode: process.exitCode };
}

describe("holdfast doctor", () => {
  test("says what it looked at, a line each, and as JSON", async () => {
    const { text } = await doctor();
    for (const what of [
      "durability",
      "clocks",
      "balance: 0 events lost",
      "inbox: 0 receipts wait",
      "processes: none runs",
    ]) {
      expect(text).toContain(what);
    }
    expect(JSON.parse((await doctor("--json")).text)).toContainEqual({
      what: "balance",
      state: "ok",
      found: "0 events lost",
    });
  });

  test("finds a balance that does not come out, a failing receipt, a spool in use and an open alert, and exits with 1", async () => {
    await db.pool.query(
      "INSERT INTO tallies (hour, source, accepted) VALUES (now(), 1, 2), (now() - interval '1 hour', 1, 1)",
    );
    await db.pool.query("INSERT INTO inbox (receipt, received_at, bytes, attempts) VALUES (1, now(), 1, 1)");
    await db.pool.query(
      "INSERT INTO instances (id, host, pid, version, roles, spool_posts) VALUES ('a', 'h', 7, '1', '{}', 3)",
    );
    await db.pool.query("INSERT INTO alerts (kind, count, since) VALUES ('spool_in_use', 3, now())");
    const { text, exitCode } = await doctor();
    expect(text).toContain("WRONG  balance: 3 events lost");
    expect(text).toContain("WRONG  inbox: 1 receipts wait, 1 of them after a failure");
    expect(text).toContain("WRONG  process 7 on h: 0 MiB free, 3 POSTs in its spool");
    expect(text).toContain("look   alert: spool_in_use (3)");
    expect(exitCode).toBe(1);
  });
});
