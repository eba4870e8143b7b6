import { execFileSync } from "node:child_process";
import { existsSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { ROOT, SetupFailed } from "./root.mjs";

/** The first whose zstd takes a dictionary: receipts are packed with one (src/receipt-body.ts). */
const NODE_MIN = [24, 6];

/**
 * What the service's Node is started with. Node 22 warns at every start that it strips types. New objects get 4 MiB of room
 * instead of 16: under saturation that keeps the process at 310 MB where it was 480, for 6 % of the events a second.
 * Old ones may double before they are collected: V8 counts bodies among them, and collected 22 times for 350 POSTs of 500
 * events where it now does 8 times. The intake's largest size stays what it was.
 * 4 MiB are collected by the thread that made them: to wake others for it took 3 % of the processor at one event a POST.
 */
export const NODE_ARGS = [
  "--disable-warning=ExperimentalWarning",
  "--max-semi-space-size=4",
  "--heap-growing-percent=100",
  "--no-parallel-scavenge",
];

/**
 * The environment of every command.
 * NODE_COMPILE_CACHE: what Node makes of the sources is kept, with the types stripped. Without the stripper in memory the
 * service is 25 MB smaller, and there in half the time. `npm ci` removes it with the rest.
 * MALLOC_*: glibc keeps two heaps for its threads instead of eight for each core, and what buffers of some 100 KB took at their top,
 * up to 8 MiB: taken from the system anew for each POST of 500 events, page by page, their copies took 0.9 ms and now 0.03.
 * UV_THREADPOOL_SIZE: signatures are checked on Node's pool of threads, and waking four for the POSTs of one turn cost more than two
 * that find the next one waiting: 1.07 times the POSTs of one event. One alone gave 1.09, but a name that nobody resolves would
 * hold up every signature; of two, libuv lets such work have one.
 */
export const NODE_ENV = {
  NODE_COMPILE_CACHE: join(ROOT, "node_modules/.cache/compiled"),
  MALLOC_ARENA_MAX: "2",
  MALLOC_MMAP_THRESHOLD_: "4194304",
  MALLOC_TRIM_THRESHOLD_: "8388608",
  UV_THREADPOOL_SIZE: "2",
};

/**
 * The Node to run Holdfast with: the checkout's own, else the one that runs this.
 *
 * @returns {string} its path
 * @throws {SetupFailed} when that is too old
 */
export function findNode() {
  const own = join(ROOT, "node_modules/.bin/node");
  const ownVersion = versionOf(own);
  if (isNewEnough(ownVersion)) return own;
  if (isNewEnough(process.version)) return process.execPath;
  throw new SetupFailed(
    `Node ${NODE_MIN.join(".")} or newer is needed, and this is ${process.version.slice(1)}. ` +
      "The checkout brings its own, but npm was told to leave out install scripts: run `npm ci --ignore-scripts=false`.",
    2,
  );
}

/** @param {string} file */
function versionOf(file) {
  if (!existsSync(file)) return undefined;
  // Inside an npm script this process is the checkout's Node already, and asking it would take 40 ms.
  if (realpathSync(file) === realpathSync(process.execPath)) return process.version;
  try {
    return execFileSync(file, ["--version"], { encoding: "utf8" }).trim();
  } catch {
    return undefined;
  }
}

/** @param {string | undefined} version */
function isNewEnough(version) {
  const [major = 0, minor = 0] = (version ?? "").replace(/^v/u, "").split(".").map(Number);
  const [majorMin = 0, minorMin = 0] = NODE_MIN;
  return major > majorMin || (major === majorMin && minor >= minorMin);
}
