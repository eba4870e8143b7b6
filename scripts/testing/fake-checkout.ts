import { spawn, type ChildProcess } from "node:child_process";
import { chmod, cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

/**
 * A checkout with nothing in it but the bootstrap, a lock file, a page and a command line that tells what it was given.
 * Its npm is a double: it notes each run, waits while the file `hold` exists, and then "installs".
 */
export interface FakeCheckout {
  root: string;
  /** Starts the bootstrap as npm's scripts do. */
  start(command: string, ...args: string[]): Run;
  write(file: string, text: string): Promise<void>;
  remove(file: string): Promise<void>;
  /** How often npm and vite ran, and the command line only to be loaded. */
  runs(tool: "npm" | "vite" | "cli"): Promise<number>;
  /** Ends what still runs and removes the folder. */
  stop(): Promise<void>;
}

/** A bootstrap that runs or ran. */
export interface Run {
  process: ChildProcess;
  /** Resolves when it has ended. */
  ended: Promise<Ended>;
  /** Resolves once it has written this to standard output or standard error. */
  says(text: string): Promise<void>;
}

export interface Ended {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

const SCRIPTS = join(import.meta.dirname, "..");

const LOCK = {
  packages: {
    "": { name: "fake" },
    "node_modules/a": { version: "1.0.0", integrity: "sha512-a" },
    "node_modules/only-elsewhere": { version: "1.0.0", integrity: "sha512-b", optional: true },
  },
};

/** What `npm ci` leaves: npm's own lock file without what is for another system, a Node, and vite. */
const NPM = `#!${process.execPath}
const fs = require("node:fs");
fs.appendFileSync("npm.runs", process.pid + "\\n");
console.log("npm was told " + process.argv.slice(2).join(" "));
if (fs.existsSync("npm.fails")) process.exit(1);
const timer = setInterval(() => {
  if (fs.existsSync("hold")) return;
  clearInterval(timer);
  const lock = JSON.parse(fs.readFileSync("package-lock.json", "utf8"));
  delete lock.packages[""];
  delete lock.packages["node_modules/only-elsewhere"];
  fs.mkdirSync("node_modules/.bin", { recursive: true });
  if (!fs.existsSync("npm.ignores-scripts")) {
    fs.rmSync("node_modules/.bin/node", { force: true });
    fs.symlinkSync(process.execPath, "node_modules/.bin/node");
  }
  fs.cpSync("vite.js", "node_modules/vite/bin/vite.js");
  fs.writeFileSync("node_modules/.package-lock.json", JSON.stringify(lock));
}, 10);
`;

const VITE = `
const fs = require("node:fs");
fs.appendFileSync("vite.runs", process.pid + "\\n");
const folder = process.argv[process.argv.indexOf("--outDir") + 1];
fs.mkdirSync(folder, { recursive: true });
fs.copyFileSync("web/index.html", folder + "/index.html");
`;

/** Says what it was given. With \`wait\` it counts the signals it gets and ends shortly after the first, with their number. */
const CLI = `
if (process.argv[2] === "--version") require("node:fs").appendFileSync("cli.runs", process.pid + "\\n");
console.log(JSON.stringify(process.argv.slice(2)));
if (process.argv[2] === "exit") process.exit(Number(process.argv[3]));
if (process.argv[2] === "die") process.kill(process.pid, "SIGTERM");
if (process.argv[2] === "wait") {
  let signals = 0;
  const count = () => {
    signals += 1;
    console.log("signal " + signals);
    if (signals === 1) setTimeout(() => process.exit(10 + signals), 300);
  };
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, count);
  setInterval(() => undefined, 1000);
  console.log("waiting for a signal");
}
`;

/** Makes one in a folder of its own. */
export async function createFakeCheckout(): Promise<FakeCheckout> {
  const root = await mkdtemp(join(tmpdir(), "holdfast-bootstrap-"));
  const running = new Set<ChildProcess>();
  const write = async (file: string, text: string): Promise<void> => {
    await mkdir(dirname(join(root, file)), { recursive: true });
    await writeFile(join(root, file), text);
  };
  await cp(join(SCRIPTS, "bootstrap.mjs"), join(root, "scripts/bootstrap.mjs"));
  await cp(join(SCRIPTS, "setup"), join(root, "scripts/setup"), { recursive: true });
  await write("package.json", `{ "type": "commonjs" }`);
  await write("package-lock.json", JSON.stringify(LOCK));
  await write("path/npm", NPM);
  await chmod(join(root, "path/npm"), 0o755);
  await write("vite.js", VITE);
  await write("src/cli.ts", CLI);
  await write("web/index.html", "the page");
  return {
    root,
    start(command, ...args) {
      const run = startRun(root, process.execPath, [join(root, "scripts/bootstrap.mjs"), command, ...args]);
      running.add(run.process);
      return run;
    },
    write,
    remove: async (file) => rm(join(root, file), { recursive: true, force: true }),
    async runs(tool) {
      const notes = await readFile(join(root, `${tool}.runs`), "utf8").catch(() => "");
      return notes.split("\n").length - 1;
    },
    async stop() {
      for (const { pid } of running) endGroup(pid);
      await rm(root, { recursive: true, force: true });
    },
  };
}

function endGroup(leader: number | undefined): void {
  if (leader === undefined) return;
  try {
    process.kill(-leader, "SIGKILL");
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) throw error;
  }
}

/** Runs a program of the checkout, with its npm first on the path and nothing that tells of the npm around the tests. */
export function startRun(root: string, file: string, args: readonly string[]): Run {
  const { npm_execpath: _npm, NODE_OPTIONS: _options, ...env } = process.env;
  const child = spawn(file, args, {
    cwd: root,
    // Not in the foreground of the terminal that may run these tests: what is sent to it came from no terminal.
    detached: true,
    env: { ...env, PATH: `${join(root, "path")}:${process.env["PATH"] ?? ""}` },
  });
  const ended: Ended = { code: null, signal: null, stdout: "", stderr: "" };
  const listeners = new Set<() => void>();
  for (const name of ["stdout", "stderr"] as const) {
    child[name].setEncoding("utf8").on("data", (text: string) => {
      ended[name] += text;
      for (const listener of listeners) listener();
    });
  }
  return {
    process: child,
    ended: new Promise((resolve, reject) => {
      child.once("error", reject);
      child.once("close", (code, signal) => resolve({ ...ended, code, signal }));
    }),
    says: (text) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          if (!`${ended.stdout}${ended.stderr}`.includes(text)) return;
          listeners.delete(look);
          resolve();
        };
        listeners.add(look);
        child.once("close", () => reject(new Error(`ended without saying ${text}:\n${ended.stdout}${ended.stderr}`)));
        look();
      }),
  };
}
