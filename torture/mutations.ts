import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FAULTS } from "./faults/all.ts";
import { planRun } from "./plan.ts";
import { runAct } from "./run.ts";
import { ROOT } from "./world.ts";

/** A promise turned off on purpose. */
export interface Mutation {
  name: string;
  description: string;
  /** Exact replacements. Each must be found exactly once, or the proof itself is out of date. */
  edits: readonly { file: string; from: string; to: string }[];
  /** The faults under which the harness must notice. */
  faults: readonly string[];
  /** What it must say: failing for another reason proves nothing. */
  expected: RegExp;
}

export const MUTATIONS: readonly Mutation[] = [
  {
    name: "answer-before-commit",
    description: "the 2xx is sent before the receipt is committed",
    edits: [
      {
        file: "src/intake/append.ts",
        from: "      await pool.query(statement);\n",
        to: `      for (const [index, { done }] of group.entries()) done({ outcome: "committed", receipt: ids[index] ?? 0 });
      await pool.query(statement);\n`,
      },
    ],
    faults: ["postgres-away", "proxy-reset"],
    expected: /events lost: acknowledged, and not there/,
  },
  {
    name: "no-exactly-once",
    description: "no index keeps an event's id from coming twice, and nobody looks which of them are held",
    edits: [
      {
        file: "sql/0012_event_identity.sql",
        from: "CREATE UNIQUE INDEX events_identity",
        to: "CREATE INDEX events_identity",
      },
      {
        file: "src/ledger/project.ts",
        from: "plan: planGroup(group, held),",
        to: "plan: planGroup(group, []),",
      },
    ],
    faults: ["redelivery-storm"],
    expected: /events double/,
  },
  {
    name: "no-spool-fsync",
    description: "the spool answers before the disk has the file",
    edits: [
      { file: "src/intake/spool.ts", from: "    await file.sync();\n", to: "" },
      { file: "src/intake/spool.ts", from: "    await directory.sync();\n", to: "" },
    ],
    faults: ["power-cut"],
    expected: /events refused as unavailable, and not kept in the spool/,
  },
  {
    name: "no-deadlock-retry",
    description: "a deadlocked transaction is not tried again",
    edits: [
      {
        file: "src/postgres/transaction.ts",
        from: "      if (sqlState(error) !== DEADLOCK_DETECTED) throw error;\n",
        to: "      if (sqlState(error) !== undefined || sqlState(error) !== DEADLOCK_DETECTED) throw error;\n",
      },
    ],
    faults: ["deadlock-storm"],
    expected: /are on no record of retries/,
  },
];

/** @throws Error when the text to be replaced is not there exactly once: the source has changed, and the mutation must follow. */
export function applyEdit(text: string, { file, from, to }: Mutation["edits"][number]): string {
  const times = text.split(from).length - 1;
  if (times !== 1) throw new Error(`${file} holds ${times} times what this mutation replaces:\n${from}`);
  // As a function, or `$1` and the like in the replacement would mean something.
  return text.replace(from, () => to);
}

/** Copies what a service needs to run, and breaks it. The tree itself is never touched. */
async function makeMutant(mutation: Mutation, folder: string): Promise<void> {
  for (const name of ["src", "sql", "package.json"])
    await cp(join(ROOT, name), join(folder, name), { recursive: true });
  for (const name of ["node_modules", "dist"]) await symlink(join(ROOT, name), join(folder, name));
  for (const edit of mutation.edits) {
    const path = join(folder, edit.file);
    await writeFile(path, applyEdit(await readFile(path, "utf8"), edit));
  }
}

export interface ProofOptions {
  seed: string;
  outFolder: string;
  onLine: (line: string) => void;
  signal: AbortSignal;
}

const SHARED = ["shared"] as const;
const POSTS_PER_SECOND = 20;
const BATCH = 10;
const MINUTES = 0.3;
/** What a mutant never files must not hold up the proof for minutes. */
const STILL_MS_MAX = 25_000;

/**
 * Shows that the harness can fail: first the service as it is must pass under all faults used here, then each mutant
 * must be caught, and for the right reason. @returns whether all of that held.
 */
export async function proveChecker(options: ProofOptions): Promise<boolean> {
  const { onLine, signal } = options;
  const control = [...new Set(MUTATIONS.flatMap(({ faults }) => faults))];
  onLine(`the service as it is, under ${control.join(", ")}`);
  const found = await play({ ...options, root: ROOT, name: "unchanged", faults: control });
  let isProven = found.length === 0;
  onLine(
    isProven
      ? "PASSED as it must: nothing is wrong"
      : `NOT PROVEN: the unchanged service failed:\n  ${found.join("\n  ")}`,
  );
  for (const mutation of MUTATIONS) {
    if (signal.aborted) return false;
    const isCaught = await tryMutation(mutation, options);
    isProven &&= isCaught;
  }
  onLine(isProven ? "the checker is proven: every mutation was caught" : "the checker is NOT proven");
  return isProven;
}

async function tryMutation(mutation: Mutation, options: ProofOptions): Promise<boolean> {
  const { name, description, faults, expected } = mutation;
  const { onLine } = options;
  const root = await mkdtemp(join(tmpdir(), "holdfast-mutant-"));
  try {
    await makeMutant(mutation, root);
    onLine(`mutation ${name}: ${description}, under ${faults.join(", ")}`);
    const problems = await play({ ...options, root, name, faults });
    const proof = problems.find((problem) => expected.test(problem));
    onLine(proof === undefined ? `NOT CAUGHT: ${problems.join("; ") || "nothing was found"}` : `CAUGHT: ${proof}`);
    return proof !== undefined;
  } finally {
    await rm(root, { recursive: true, force: true });
  }
}

interface PlayOptions extends ProofOptions {
  root: string;
  name: string;
  faults: readonly string[];
}

/** @returns what was wrong. A world that does not even start again is wrong too. */
async function play({ seed, outFolder, onLine, signal, root, name, faults: names }: PlayOptions): Promise<string[]> {
  const faults = FAULTS.filter((fault) => names.includes(fault.name));
  for (const fault of faults) {
    const reason = await fault.unavailable?.();
    if (reason !== undefined) throw new Error(`the proof needs ${fault.name}, which cannot be made here: ${reason}`);
  }
  const inShared = faults.map(({ name: fault, holdSeconds }) => ({ name: fault, holdSeconds, worlds: SHARED }));
  const [act] = planRun({ faults: inShared, seed, minutes: MINUTES });
  if (act === undefined) throw new Error("the plan is empty");
  const folder = join(outFolder, name);
  await mkdir(folder, { recursive: true });
  try {
    const options = {
      act,
      faults,
      root,
      outFolder: folder,
      postsPerSecond: POSTS_PER_SECOND,
      batch: BATCH,
      onLine,
      signal,
    };
    return (await runAct({ ...options, stillMsMax: STILL_MS_MAX })).problems;
  } catch (error) {
    return [error instanceof Error ? error.message : String(error)];
  }
}
