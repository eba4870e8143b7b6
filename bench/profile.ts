import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { BenchServer } from "./server.ts";

/** Where a service spent its time: its own CPU profile, and what its statements cost the server. For `--profile` only. */

const TOP = 10;
const STATEMENTS_TOP = 12;
const STATEMENT_CHARS_MAX = 70;

let turns = 0;

export interface ProfiledTurn {
  /** Begins the names of its files. */
  name: string;
  nodeArgs: string[];
  /** To be called before the service stops. */
  readStatements(): Promise<void>;
  /** To be called when it has stopped: prints what was found. */
  print(): Promise<void>;
}

/** Begins a turn's profile: what was counted before is forgotten. */
export async function startProfile(folder: string, subject: string, server: BenchServer): Promise<ProfiledTurn> {
  turns += 1;
  const name = `${String(turns).padStart(3, "0")}-${subject}`;
  await server.ask("postgres", "CREATE EXTENSION IF NOT EXISTS pg_stat_statements");
  await server.ask("postgres", "SELECT pg_stat_statements_reset()");
  let lines: string[] = [];
  return {
    name,
    nodeArgs: ["--cpu-prof", `--cpu-prof-dir=${folder}`, `--cpu-prof-name=${name}.cpuprofile`],
    async readStatements() {
      const statements = await server.ask<Statement>(
        "postgres",
        `SELECT query, calls::float8, total_exec_time::float8 AS ms, wal_bytes::float8 AS wal FROM pg_stat_statements
         WHERE query NOT LIKE '%pg_stat_statements%' ORDER BY total_exec_time DESC LIMIT 50`,
      );
      await writeFile(join(folder, `${name}.statements.json`), JSON.stringify(statements, null, 2));
      lines = describeStatements(statements);
    },
    async print() {
      const text = await readFile(join(folder, `${name}.cpuprofile`), "utf8");
      console.log([`  profile of ${name}:`, ...describeProfile(JSON.parse(text) as CpuProfile), ...lines].join("\n"));
    },
  };
}

interface Statement {
  query: string;
  calls: number;
  ms: number;
  wal: number;
}

function describeStatements(statements: readonly Statement[]): string[] {
  const all = statements.reduce((sum, { ms }) => sum + ms, 0);
  // The same statement for another number of rows begins alike.
  const kinds = new Map<string, Statement>();
  for (const statement of statements) {
    const query = statement.query.replaceAll(/\s+/g, " ").slice(0, STATEMENT_CHARS_MAX);
    const { calls = 0, ms = 0, wal = 0 } = kinds.get(query) ?? {};
    kinds.set(query, { query, calls: calls + statement.calls, ms: ms + statement.ms, wal: wal + statement.wal });
  }
  const top = [...kinds.values()].sort((a, b) => b.ms - a.ms).slice(0, STATEMENTS_TOP);
  const lines = top.map(({ query: text, calls, ms, wal }) => {
    const each = `${(ms / calls).toFixed(2)} ms × ${calls}`;
    return `    ${percent(ms, all)} ${each.padStart(20)}  WAL ${(wal / 1e6).toFixed(0).padStart(5)} MB  ${text}`;
  });
  return [`  statements, of ${(all / 1000).toFixed(1)} s:`, ...lines];
}

interface CpuProfile {
  nodes: { id: number; callFrame: { functionName: string; url: string; lineNumber: number } }[];
  samples: number[];
  timeDeltas: number[];
}

function describeProfile(profile: CpuProfile): string[] {
  const names = new Map(profile.nodes.map(({ id, callFrame }) => [id, nameOf(callFrame)]));
  const selfUs = new Map<string, number>();
  for (const [at, id] of profile.samples.entries()) {
    const name = names.get(id) ?? "?";
    selfUs.set(name, (selfUs.get(name) ?? 0) + (profile.timeDeltas[at] ?? 0));
  }
  const idle = selfUs.get("(idle)") ?? 0;
  selfUs.delete("(idle)");
  const busy = [...selfUs.values()].reduce((sum, us) => sum + us, 0);
  const top = [...selfUs].sort(([, a], [, b]) => b - a).slice(0, TOP);
  const share = percent(busy, busy + idle).trim();
  return [
    `  functions, of ${(busy / 1e6).toFixed(1)} s busy (${share}):`,
    ...top.map(([name, us]) => `    ${percent(us, busy)} ${name}`),
  ];
}

function nameOf({ functionName, url, lineNumber }: CpuProfile["nodes"][number]["callFrame"]): string {
  const file = url.replace(/^.*\/(node_modules|src)\//, "$1/");
  return `${functionName === "" ? "(anonymous)" : functionName}${file === "" ? "" : ` ${file}:${lineNumber + 1}`}`;
}

function percent(part: number, whole: number): string {
  return `${((part / whole) * 100).toFixed(1)} %`.padStart(7);
}
