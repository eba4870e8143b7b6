/**
 * The rules of oxlint.config.ts that carry the architecture, each with something that breaks it: a pattern that matches
 * nothing would otherwise never be noticed.
 */
import { execFile } from "node:child_process";
import { copyFile, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const ROOT = join(import.meta.dirname, "..");
const STAGES = ["intake", "ledger", "enrichment", "reconcile", "audit", "health", "alerts", "views", "simulator"];

/** Every file of the other checkout, by name: what it holds. */
const FILES: Record<string, string> = {};
const forbidden: { file: string; rule: string }[] = [];
const allowed: string[] = [];

function forbid(file: string, text: string, rule = "eslint(no-restricted-imports)"): void {
  FILES[file] = text;
  forbidden.push({ file, rule });
}

function allow(file: string, text: string): void {
  FILES[file] = text;
  allowed.push(file);
}

const use = (from: string): string => `import { one } from "${from}";\n\nexport const two = one + 1;\n`;
const useType = (from: string): string => `import type { One } from "${from}";\n\nexport type Two = One;\n`;

for (const stage of STAGES) {
  for (const other of STAGES.filter((name) => name !== stage)) {
    const add = other === "ledger" && ["views", "audit"].includes(stage) ? allow : forbid;
    add(`src/${stage}/to-${other}.ts`, use(`../${other}/one.ts`));
  }
  allow(`src/${stage}/to-shared.ts`, use("../postgres/one.ts"));
  forbid(`src/${stage}/deep/types.ts`, useType(`../../${stage === "intake" ? "ledger" : "intake"}/one.ts`));
  forbid(`src/${stage}/to-main.ts`, use("../main.ts"));
  forbid(`src/${stage}/to-service.ts`, use("../service.ts"));
  forbid(`src/${stage}/to-commands.ts`, use("../commands/one.ts"));
  forbid(`src/${stage}/to-test.ts`, use("../../test/one.ts"));
  forbid(`src/postgres/to-${stage}.ts`, use(`../${stage}/one.ts`));
  forbid(`src/to-${stage}.ts`, use(`./${stage}/one.ts`));
  allow(`src/commands/to-${stage}.ts`, use(`../${stage}/one.ts`));
}
allow(
  "src/cli.ts",
  `import { two } from "./commands/to-intake.ts";\n\nexport const three = two + 1;\nconsole.log(three);\n`,
);
allow("src/ledger/flow.test.ts", use("../intake/one.ts"));
forbid("src/ledger/more.test.ts", use("./flow.test.ts"));
forbid("src/ledger/environment-import.ts", `import { env } from "node:process";\n\nexport const two = env;\n`);
forbid("src/ledger/environment.ts", "export const two = process.env;\n", "node(no-process-env)");
allow("src/config.ts", "export const two = process.env;\n");
forbid("src/ledger/console.ts", `console.log("two");\n`, "eslint(no-console)");
forbid("src/ledger/default.ts", "export default 2;\n", "import(no-default-export)");
forbid("src/ledger/barrel.ts", `export * from "./one.ts";\n`, "oxc(no-barrel-file)");
forbid("src/ledger/long.ts", "export {};\n".repeat(401), "eslint(max-lines)");
forbid(
  "src/ledger/long-function.ts",
  `export function long(): number {\n  let sum = 0;\n${"  sum += 1;\n".repeat(70)}  return sum;\n}\n`,
  "eslint(max-lines-per-function)",
);
forbid("src/ledger/cycle-a.ts", use("./cycle-b.ts").replace("one }", "two as one }"), "import(no-cycle)");
forbid("src/ledger/cycle-b.ts", use("./cycle-a.ts").replace("one }", "two as one }"), "import(no-cycle)");
forbid(
  "src/ledger/floating.ts",
  "async function later(): Promise<number> {\n  return Promise.resolve(1);\n}\nlater();\n",
  "typescript(no-floating-promises)",
);
forbid("web/src/value.ts", use("../../src/views/contract.ts"));
forbid("web/src/other.ts", useType("../../src/ledger/one.ts"));
forbid("web/src/parts/limits.ts", use("../../../src/limits.ts"));
allow("web/src/type.ts", useType("../../src/views/contract.ts"));

describe("the lint", () => {
  let folder: string;
  let found: Set<string>;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "holdfast-lint-"));
    await symlink(join(ROOT, "node_modules"), join(folder, "node_modules"));
    for (const file of ["oxlint.config.ts", "tsconfig.json", "package.json"]) {
      await copyFile(join(ROOT, file), join(folder, file));
    }
    const targets = [...STAGES, "postgres", "commands"].map((name) => `src/${name}/one.ts`);
    const one = "export const one = 1;\nexport type One = number;\n";
    for (const file of [
      ...targets,
      "src/main.ts",
      "src/service.ts",
      "src/limits.ts",
      "src/views/contract.ts",
      "test/one.ts",
    ]) {
      FILES[file] = one;
    }
    for (const [file, text] of Object.entries(FILES)) {
      await mkdir(dirname(join(folder, file)), { recursive: true });
      await writeFile(join(folder, file), text);
    }
    found = await lint(folder);
  });
  afterAll(async () => rm(folder, { recursive: true, force: true }));

  it.each(Object.entries(Object.groupBy(forbidden, ({ rule }) => rule)))(
    "stops what breaks %s",
    (rule, breaches = []) => {
      const stopped = breaches.filter(({ file }) => found.has(`${file} ${rule}`));
      expect(stopped).toEqual(breaches);
    },
  );

  it("lets the rest pass", () => {
    expect([...found].filter((fault) => allowed.some((file) => fault.startsWith(`${file} `)))).toEqual([]);
  });
});

interface Diagnostics {
  diagnostics: { code: string; filename: string }[];
}

/** @returns what it found, each as `file rule`. */
async function lint(folder: string): Promise<Set<string>> {
  const oxlint = join(ROOT, "node_modules/oxlint/bin/oxlint");
  const output = await new Promise<string>((resolve) => {
    const options = { cwd: folder, maxBuffer: 64 * 1024 * 1024 };
    // The folders are named, or it would follow the link to node_modules. It ends with 1 when it finds anything.
    execFile(process.execPath, [oxlint, "--format", "json", "src", "web"], options, (_error, stdout) =>
      resolve(stdout),
    );
  });
  const { diagnostics } = JSON.parse(output) as Diagnostics;
  return new Set(diagnostics.map(({ code, filename }) => `${filename} ${code}`));
}
