import { mkdtemp, readdir, readFile, rm, truncate } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pickOne, type Fault } from "../fault.ts";
import { madeUpEvents } from "../posts.ts";
import { attachStrace } from "./strace.ts";
import { straceUnavailable } from "./tools.ts";

const POSTS = 12;

/**
 * A power cut while the spool is the only one that holds some POSTs. strace records which files and folders the service
 * has fsynced; after kill -9 the spool is put into the state that a disk may be left in: a file that was not fsynced
 * is empty, and a name that its folder was not fsynced for is gone. SendGrid sends these POSTs never again.
 */
export const powerCut: Fault = {
  name: "power-cut",
  description: "while PostgreSQL is away the power is cut: of the spool only stays what was fsynced",
  worlds: ["shared"],
  holdSeconds: [0.5, 3],
  unavailable: straceUnavailable,
  strike({ world, load, posts, random }) {
    const instance = pickOne(random, world.instances);
    const target = world.instances.indexOf(instance);
    const proxy = world.proxies[target];
    const name = `power${random.between(0, 999_999)}`;
    const problems: string[] = [];
    let refused = 0;
    let lost: string[] = [];
    return {
      async inject() {
        const pid = instance.pid();
        if (pid === undefined || proxy === undefined) throw new Error("there is no service to cut the power of");
        const folder = await mkdtemp(join(tmpdir(), "holdfast-strace-"));
        const record = join(folder, "record");
        const calls = "trace=fsync,fdatasync,rename,renameat,renameat2";
        const strace = await attachStrace([pid], ["-f", "-y", "-s", "4096", "-e", calls, "-o", record]);
        try {
          proxy.mode("refuse");
          const answers = await Promise.all(
            Array.from({ length: POSTS }, (_post, n) =>
              load.send(
                posts.make(madeUpEvents(random, `${name}-${n}`, ["processed", "delivered"]), { isLastTry: true }),
                {
                  target,
                  process: 3_000 + n,
                },
              ),
            ),
          );
          refused = answers.filter(({ error }) => error === "unavailable").length;
          if (refused === 0) problems.push("no POST was refused as unavailable: the fault did not strike");
          await instance.end("SIGKILL");
        } finally {
          await strace.stop();
        }
        lost = await cutPower(join(instance.dataDir, "spool"), await readFile(record, "utf8"));
        await rm(folder, { recursive: true });
      },
      async heal() {
        proxy?.mode("pass");
        await instance.start();
      },
      get hit() {
        return `${instance.name}, ${refused} POSTs refused, ${lost.length} files lost with the power`;
      },
      problems,
    };
  },
};

/**
 * Puts a folder into the state that a power cut may leave it in. @returns the files that were not safe.
 * Files from before the record began are taken for safe.
 */
export async function cutPower(folder: string, record: string): Promise<string[]> {
  const { contentLost, nameLost } = readRecord(folder, record);
  const lost: string[] = [];
  for (const name of await readdir(folder).catch(() => [])) {
    const path = join(folder, name);
    if (nameLost.has(path)) await rm(path);
    else if (contentLost.has(path)) await truncate(path);
    else continue;
    lost.push(name);
  }
  return lost;
}

/** Reads strace's lines in their order. Only what ended with 0 happened. */
function readRecord(folder: string, record: string): { contentLost: Set<string>; nameLost: Set<string> } {
  const synced = new Set<string>();
  const contentLost = new Set<string>();
  let nameLost = new Set<string>();
  const begun = new Map<string, string>();
  for (const line of record.split("\n")) {
    const [, thread = "", call = ""] = /^(\d+)\s+(.*)$/.exec(line) ?? [];
    // Two threads' calls interleave: strace cuts the line of the one and gives its rest later.
    if (call.endsWith("<unfinished ...>")) {
      begun.set(thread, call.slice(0, -"<unfinished ...>".length));
      continue;
    }
    const whole = call.replace(/^<\.\.\. \w+ resumed>/, () => begun.get(thread) ?? "");
    const [, fsynced] = /^f(?:data)?sync\(\d+<([^>]*)>\s*\)\s+= 0/.exec(whole) ?? [];
    if (fsynced === folder) nameLost = new Set();
    else if (fsynced !== undefined) synced.add(fsynced);
    const [, from, to] = /^rename(?:at2?)?\(.*?"([^"]*)".*?"([^"]*)".*\)\s+= 0/.exec(whole) ?? [];
    if (from === undefined || to === undefined || !to.startsWith(`${folder}/`)) continue;
    nameLost.add(to);
    if (!synced.has(from)) contentLost.add(to);
  }
  return { contentLost, nameLost };
}
