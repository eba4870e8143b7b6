import { Command } from "commander";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { testDatabase, type TestDatabase } from "../../test/database.ts";
import { findViewer, signIn } from "../views/tokens.ts";
import { addTokenCommand } from "./token.ts";

let db: TestDatabase;

beforeAll(async () => {
  db = await testDatabase();
});
afterAll(async () => {
  await db.drop();
});

/** Runs `holdfast token …` and gives what it printed. */
async function token(...args: string[]): Promise<string> {
  const printed: string[] = [];
  const program = new Command("holdfast").exitOverride().configureOutput({ writeErr: () => undefined });
  addTokenCommand(program, { withPool: async (work) => work(db.pool), print: (text) => void printed.push(text) });
  await program.parseAsync(["token", ...args], { from: "user" });
  return printed.join("\n");
}

describe("holdfast token", () => {
  it("makes a token that works, and prints nothing else", async () => {
    const text = await token("create", "helpdesk", "--role", "compliance");
    expect(await findViewer(db.pool, "api", text)).toMatchObject({ name: "helpdesk", role: "compliance" });
  });

  it("gives the role support unless told otherwise", async () => {
    expect(JSON.parse(await token("create", "plain", "--json"))).toMatchObject({ name: "plain", role: "support" });
  });

  it("makes a token for a time, and lists it as ended when that is over", async () => {
    await token("create", "monthly", "--days", "30");
    const ends = await db.pool.query(
      "SELECT expires_at - created_at = interval '30 days' AS month FROM tokens WHERE name = $1",
      ["monthly"],
    );
    expect(ends.rows).toEqual([{ month: true }]);
    await db.pool.query("UPDATE tokens SET expires_at = now() WHERE name = 'monthly'");
    expect(await token("list")).toMatch(/ monthly .* \(ended\)$/m);
    await token("create", "lasting", "--days", "never");
    expect(await token("list")).toMatch(/ lasting .* -$/m);
  });

  it("lists what is valid, without any secret", async () => {
    const secret = await token("create", "listed");
    const text = await token("list");
    expect(text).toMatch(/^\d+ +api +support +listed +\d{4}-\d\d-\d\d \d\d:\d\d +- +-$/m);
    expect(text).not.toContain(secret);
    const rows = JSON.parse(await token("list", "--json")) as { name: string }[];
    expect(rows.map(({ name }) => name)).toContain("listed");
  });

  it("revokes a token with its sessions", async () => {
    const made = JSON.parse(await token("create", "leaving", "--json")) as { id: number; token: string };
    const session = await signIn(db.pool, made.token);
    expect(await token("revoke", String(made.id))).toBe("Ended: 2.");
    expect(await findViewer(db.pool, "api", made.token)).toBeUndefined();
    expect(await findViewer(db.pool, "session", session?.token ?? "")).toBeUndefined();
    await expect(token("revoke", String(made.id))).rejects.toMatchObject({ name: "UsageError" });
  });

  it("makes a login link with its token behind the #", async () => {
    const link = new URL(await token("link"));
    expect(link.pathname).toBe("/login");
    expect((await signIn(db.pool, link.hash.slice(1)))?.viewer.role).toBe("admin");
  });

  it.each([
    ["create"],
    ["create", ""],
    ["create", "a\nb"],
    ["create", "x".repeat(101)],
    ["create", "a", "--role", "king"],
    ["create", "a", "--days", "31"],
    ["revoke", "x"],
    ["revoke", "-1"],
    ["nonsense"],
  ])("refuses %j", async (...args) => {
    await expect(token(...args)).rejects.toMatchObject({ name: "CommanderError" });
  });

  it("refuses a name that is taken, and says what to do", async () => {
    await token("create", "twice");
    await expect(token("create", "twice")).rejects.toThrow("revoke it first");
  });

  it("says that a database is not migrated", async () => {
    const empty = await testDatabase({ migrated: false });
    const program = new Command("holdfast").exitOverride();
    addTokenCommand(program, { withPool: async (work) => work(empty.pool), print: () => undefined });
    await expect(program.parseAsync(["token", "list"], { from: "user" })).rejects.toThrow("holdfast migrate");
    await empty.drop();
  });
});
