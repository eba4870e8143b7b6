#!/usr/bin/env node
// Runs before every command of this checkout: `node scripts/bootstrap.mjs COMMAND [ARGUMENT …]`.
// A fresh clone has nothing but the system's Node (20 or newer) and npm, so this file and those of setup/ use nothing
// else: plain JavaScript, no dependencies. They install what is missing, build the page and compile the sources where
// they changed, and hand over to the Node that the checkout brings. What they have to say goes to standard error:
// standard output belongs to the command.
import { join } from "node:path";
import { endLike, runChild } from "./setup/child.mjs";
import { compiledIsCurrent, compileSources } from "./setup/compile.mjs";
import { installationIsCurrent, install } from "./setup/install.mjs";
import { withLock } from "./setup/lock.mjs";
import { findNode, NODE_ARGS, NODE_ENV } from "./setup/node.mjs";
import { buildPage, pageIsCurrent } from "./setup/page.mjs";
import { Interrupted, ROOT, SetupFailed, say } from "./setup/root.mjs";

/**
 * @typedef {object} Command
 * @property {string} script what to run, from the checkout's root
 * @property {string[]} [first] arguments before those of the person
 * @property {boolean | ((args: string[]) => boolean)} [serves] whether it starts the service with its page
 * @property {boolean} [tests] whether its last line is the tests' count, whatever happens
 */

/** @type {Readonly<Record<string, Command>>} */
const COMMANDS = {
  start: { script: "src/cli.ts", first: ["start"], serves: true },
  demo: { script: "src/cli.ts", first: ["demo"], serves: true },
  holdfast: { script: "src/cli.ts", serves: (args) => args[0] === "start" || args[0] === "demo" },
  test: { script: "scripts/test.ts", serves: true, tests: true },
  check: { script: "scripts/check.ts", tests: true },
  format: { script: "node_modules/oxfmt/bin/oxfmt" },
  lint: { script: "node_modules/oxlint/bin/oxlint" },
  types: { script: "scripts/check.ts", first: ["types"] },
  schema: { script: "scripts/schema.ts" },
  screenshots: { script: "test/browser/screenshots.ts", serves: true },
  torture: { script: "torture/main.ts" },
  // Its live scenario looks at the page.
  bench: { script: "bench/main.ts", serves: true },
  "env-example": { script: "scripts/env-example.ts" },
};

const [name = "", ...args] = process.argv.slice(2);
const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
if (command === undefined) {
  say(`there is no command ${JSON.stringify(name)}; there are ${Object.keys(COMMANDS).join(", ")}`);
  process.exit(2);
}

try {
  const node = await setUp(command, args);
  const script = join(ROOT, command.script);
  const nodeArgs = [...NODE_ARGS, script, ...(command.first ?? []), ...args];
  endLike(await runChild(node, nodeArgs, { hidden: false, env: { ...process.env, ...NODE_ENV } }));
} catch (error) {
  if (command.tests === true) console.log("0 passed, 1 failed");
  if (error instanceof Interrupted) {
    endLike({ code: null, signal: error.signal });
  } else if (error instanceof SetupFailed) {
    say(error.message);
    process.exitCode = error.exitCode;
  } else {
    throw error;
  }
}

/**
 * Makes the checkout ready for a command. Where there is something to do it is done under a lock, so that `npm start`
 * and `npm test` in a fresh clone do not both write node_modules.
 *
 * @param {Command} wanted
 * @param {string[]} wantedArgs
 * @returns {Promise<string>} the Node to run it with
 */
async function setUp(wanted, wantedArgs) {
  const serves = typeof wanted.serves === "function" ? wanted.serves(wantedArgs) : wanted.serves === true;
  const isReady = () => installationIsCurrent() && (!serves || (pageIsCurrent() && compiledIsCurrent()));
  if (isReady()) return findNode();
  return withLock(async (lock) => {
    // Whoever held the lock before may have done it all.
    if (!installationIsCurrent()) await install(lock);
    const node = findNode();
    if (serves && !pageIsCurrent()) await buildPage(node, lock);
    if (serves && !compiledIsCurrent()) await compileSources(node, lock);
    return node;
  });
}
