import { readFileSync } from "node:fs";
import { basename, delimiter, join } from "node:path";
import { runChild, stopUnlessDone } from "./child.mjs";
import { ROOT, say } from "./root.mjs";

/**
 * @typedef {{ version?: string, integrity?: string, optional?: boolean, devOptional?: boolean }} LockedPackage
 */

/**
 * Whether node_modules holds what package-lock.json says. npm leaves a lock file of its own in node_modules when an
 * installation is complete, so the two are compared package by package: neither a clock nor a branch changed and
 * changed back can mislead it.
 */
export function installationIsCurrent() {
  const wanted = readPackages(join(ROOT, "package-lock.json"));
  const installed = readPackages(join(ROOT, "node_modules/.package-lock.json"));
  if (wanted === undefined || installed === undefined) return false;
  return Object.entries(wanted).every(([path, lock]) => {
    if (path === "") return true;
    const found = installed[path];
    // What is optional is made for another system, or left out on purpose.
    if (found === undefined) return lock.optional === true || lock.devOptional === true;
    return found.version === lock.version && found.integrity === lock.integrity;
  });
}

/**
 * @param {string} file
 * @returns {Record<string, LockedPackage> | undefined} undefined where there is none, or half of one
 */
function readPackages(file) {
  try {
    const lock = /** @type {{ packages: Record<string, LockedPackage> }} */ (JSON.parse(readFileSync(file, "utf8")));
    return lock.packages;
  } catch {
    return undefined;
  }
}

/**
 * Runs `npm ci`, with the development dependencies whatever NODE_ENV says: the checkout's Node is one of them.
 *
 * @param {import("./lock.mjs").Lock} lock
 */
export async function install(lock) {
  say("installing the dependencies (npm ci), about half a minute");
  const started = performance.now();
  const { file, args } = npm();
  const outcome = await runChild(
    file,
    [...args, "ci", "--include=dev", "--include=optional", "--no-audit", "--no-fund"],
    {
      hidden: true,
      cwd: ROOT,
      env: { ...process.env, PATH: pathWithoutCheckout() },
      onStart: lock.alsoHeldBy,
    },
  );
  stopUnlessDone(outcome, "npm ci");
  say(`installed in ${((performance.now() - started) / 1000).toFixed(0)} s`);
}

/** The npm that runs us, with the Node that runs it: the one in node_modules/.bin is about to be replaced. */
function npm() {
  const script = process.env["npm_execpath"];
  if (script === undefined || basename(script) !== "npm-cli.js") return { file: "npm", args: [] };
  return { file: process.env["npm_node_execpath"] ?? process.execPath, args: [script] };
}

function pathWithoutCheckout() {
  const path = process.env["PATH"] ?? "";
  return path
    .split(delimiter)
    .filter((folder) => !folder.startsWith(join(ROOT, "node_modules")))
    .join(delimiter);
}
