import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runChild, stopUnlessDone } from "./child.mjs";
import { filesIn, hashFiles } from "./hash.mjs";
import { ROOT, say } from "./root.mjs";

const SOURCE = join(ROOT, "web");
const BUILT = join(ROOT, "dist/web");
/** Holds the hash of what the page was built from. Not in the page's folder, which is served. */
const STAMP = join(ROOT, "dist/web.inputs.sha256");

/** Whether dist/web was built from the sources as they are now. Without sources (a built image) it is what it is. */
export function pageIsCurrent() {
  if (!existsSync(join(SOURCE, "index.html"))) return true;
  if (!existsSync(join(BUILT, "index.html")) || !existsSync(STAMP)) return false;
  return readFileSync(STAMP, "utf8") === inputsHash();
}

/**
 * Builds the page beside the old one and then swaps them, so that a running service never serves half of it.
 *
 * @param {string} node
 * @param {import("./lock.mjs").Lock} lock
 */
export async function buildPage(node, lock) {
  say("building the page (vite build)");
  const hash = inputsHash();
  const next = `${BUILT}.next`;
  const old = `${BUILT}.old`;
  const vite = join(ROOT, "node_modules/vite/bin/vite.js");
  const outcome = await runChild(
    node,
    [vite, "build", SOURCE, "--outDir", next, "--emptyOutDir", "--logLevel", "warn"],
    {
      hidden: true,
      cwd: ROOT,
      // A page built for development is slow and chatty, whatever the shell's NODE_ENV is.
      env: { ...process.env, NODE_ENV: "production" },
      onStart: lock.alsoHeldBy,
    },
  );
  stopUnlessDone(outcome, "vite build");
  mkdirSync(BUILT, { recursive: true });
  rmSync(old, { recursive: true, force: true });
  renameSync(BUILT, old);
  renameSync(next, BUILT);
  rmSync(old, { recursive: true, force: true });
  writeFileSync(STAMP, hash);
}

/** A hash over all that the page is made of: its folder, the types it shares with the server, the dependencies. */
function inputsHash() {
  return hashFiles([...filesIn(SOURCE), join(ROOT, "src/views/contract.ts"), join(ROOT, "package-lock.json")]);
}
