import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Command } from "commander";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import {
  keysOf,
  loseEvery,
  reconcileWorld,
  traffic,
  type Happening,
  type ReconcileWorld,
} from "../../test/reconcile-world.ts";
import { readConfig } from "../config.ts";
import { addReconcileCommand } from "./reconcile.ts";

const DAY = "2026-03-09";
const DAYS = ["--from", DAY, "--to", DAY];

describe("holdfast reconcile", () => {
  let world: ReconcileWorld;
  let folder: string;

  beforeAll(async () => {
    world = await reconcileWorld();
    folder = await mkdtemp(join(tmpdir(), "holdfast-reconcile-"));
  });

  beforeEach(async () => {
    world.setNow("2026-03-10T12:00:00Z");
    await world.reset({ callsPerMinute: Infinity });
  });

  afterAll(async () => {
    await rm(folder, { recursive: true });
    await world.end();
  });

  /** Runs `holdfast reconcile …`. */
  async function reconcile(
    args: readonly string[],
    env: Record<string, string> = {},
  ): Promise<{ code: number; text: string }> {
    const printed: string[] = [];
    const program = new Command("holdfast").exitOverride().configureOutput({ writeErr: () => undefined });
    addReconcileCommand(program, {
      config: readConfig({
        SENDGRID_API_KEY: world.api.apiKey,
        SENDGRID_API_URL: world.api.url,
        HOLDFAST_API_CALLS_PER_MINUTE: "6000",
        ...env,
      }),
      withPool: async (work) => work(world.db.pool),
      print: (text) => void printed.push(text),
    });
    for (const command of program.commands) command.exitOverride();
    try {
      await program.parseAsync(["reconcile", ...args], { from: "user" });
      return { code: Number(process.exitCode), text: printed.join("\n") };
    } finally {
      process.exitCode = undefined;
    }
  }

  async function lossyDay(): Promise<Happening[]> {
    const events = traffic(`${DAY}T00:00:00Z`, 24);
    const { lost, kept } = loseEvery(events, 60, 7);
    world.happen(events);
    await world.deliver(kept);
    return lost;
  }

  it("ends with 1 while something is missing, and with 0 when all of it is repaired", async () => {
    const lost = await lossyDay();
    const found = await reconcile(DAYS);
    expect(found.code).toBe(1);
    expect(found.text).toContain(`${DAY}  something is missing`);
    expect(found.text).toMatch(/^ {2}kind +SendGrid +held +missing +repaired +open +checked by +sure$/m);
    expect(found.text).toContain(`missing ${lost.length}\nrepaired 0\nopen ${lost.length}`);
    const repaired = await reconcile([...DAYS, "--repair"]);
    expect(repaired.code).toBe(0);
    expect(repaired.text).toContain(`missing ${lost.length}\nrepaired ${lost.length}\nopen 0`);
    expect(await world.gapKeys("repaired")).toEqual(keysOf(lost));
  });

  it("prints its result as JSON", async () => {
    const lost = await lossyDay();
    const { code, text } = await reconcile([...DAYS, "--repair", "--json"]);
    expect(code).toBe(0);
    expect(JSON.parse(text)).toMatchObject({
      outcome: "complete",
      missing: lost.length,
      repaired: lost.length,
      open: 0,
      days: [{ day: DAY, account: "", state: "repaired" }],
    });
  });

  it("says how it is used wrongly", async () => {
    await expect(reconcile(["--from", "2026-02-30"])).rejects.toThrow("It must be a day such as 2026-01-31.");
    await expect(reconcile(["--from", "2026-03-09", "--to", "2026-03-08"])).rejects.toThrow(
      "--from is later than --to",
    );
    await expect(reconcile(["--from", "2026-01-01", "--to", "2026-06-01"])).rejects.toThrow("at most 92 days at once");
    await expect(reconcile(["--to", "2999-01-01"])).rejects.toThrow("--to is later than today");
    await expect(reconcile(DAYS, { SENDGRID_API_KEY: "" })).rejects.toThrow("SENDGRID_API_KEY is not set");
    await expect(reconcile(["--csv", join(folder, "nothing.csv")])).rejects.toThrow("cannot be read");
  });

  /** SendGrid's own export of all that it knows. */
  async function exportFile(): Promise<string> {
    const headers = { authorization: `Bearer ${world.api.apiKey}` };
    await fetch(`${world.api.url}/v3/messages/download`, { method: "POST", headers });
    const link = await fetch(`${world.api.url}/v3/messages/download/${world.api.exports().at(-1)}`, { headers });
    const { presigned_url: url } = (await link.json()) as { presigned_url: string };
    const file = join(folder, "export.csv");
    await writeFile(file, await (await fetch(url)).text());
    return file;
  }

  it("finds and repairs by an export what was lost, without a key and at no calls", async () => {
    const lost = await lossyDay();
    const file = await exportFile();
    const { code, text } = await reconcile(["--csv", file, "--repair"], { SENDGRID_API_KEY: "" });
    expect(code).toBe(0);
    expect(text).toContain(`missing ${lost.length}\nrepaired ${lost.length}\nopen 0\nAPI calls 0`);
    expect(await world.gapKeys("repaired")).toEqual(keysOf(lost));
    expect(await world.rows("SELECT DISTINCT origin FROM repairs")).toEqual([{ origin: "csv" }]);
    // What an export has named is known to the check that asks SendGrid.
    const checked = await reconcile([...DAYS, "--json"]);
    expect(JSON.parse(checked.text)).toMatchObject({ outcome: "complete", missing: lost.length, calls: 2 });
  });

  it("refuses a file that is no export", async () => {
    const file = join(folder, "other.csv");
    await writeFile(file, "a,b\n1,2\n");
    await expect(reconcile(["--csv", file])).rejects.toThrow("holds no event");
  });
});
