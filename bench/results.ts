import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { VERSION } from "../src/version.ts";
import { addRounds } from "./add-rounds.ts";
import type { Bench } from "./context.ts";
import { describeMachine, type Machine } from "./machine.ts";
import type { Result } from "./recorder.ts";

/** A scenario's results as they are kept, with all that is needed to read them. */
export interface KeptResult extends Result, RunDescription {
  scenario: string;
  startedAt: string;
}

export interface RunDescription {
  holdfast: string;
  machine: Machine;
  postgres: string;
  postgresSettings: Record<string, string>;
  /** What was given beside the defaults. */
  settings: Record<string, string>;
}

const FOLDER = join(import.meta.dirname, "results");

export function describeRun(bench: Bench): RunDescription {
  const { flags, server } = bench;
  return {
    holdfast: VERSION,
    machine: describeMachine(),
    postgres: server.version,
    postgresSettings: server.settings,
    settings: { ...flags.settings },
  };
}

/** Keeps a result in the place of the scenario's last one, whose figures the history of the file still has, or adds it to that. */
export async function writeResult(result: KeptResult, before?: KeptResult): Promise<void> {
  await mkdir(FOLDER, { recursive: true });
  const kept = before === undefined ? result : addRounds(before, result);
  await writeFile(join(FOLDER, `${result.scenario}.json`), `${JSON.stringify(kept, roundNumbers, 2)}\n`);
}

/** The kept results, by scenario. */
export async function readResults(): Promise<Map<string, KeptResult>> {
  const results = new Map<string, KeptResult>();
  for (const name of await readdir(FOLDER).catch(() => [])) {
    if (!name.endsWith(".json")) continue;
    const result = JSON.parse(await readFile(join(FOLDER, name), "utf8")) as KeptResult;
    results.set(result.scenario, result);
  }
  return results;
}

/** Five digits are more than any of this is exact to. */
function roundNumbers(_key: string, value: unknown): unknown {
  return typeof value === "number" && !Number.isInteger(value) ? Number(value.toPrecision(5)) : value;
}
