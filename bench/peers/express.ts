/**
 * The Express peer: its packages are installed on demand, outside the checkout, in the versions that its own lock file names,
 * so that Holdfast itself never depends on them.
 */
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { copyFile, mkdir, readFile, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Bench } from "../context.ts";
import { eventIds } from "../load/posts.ts";
import { query } from "../server.ts";
import type { Acknowledged, Running, Subject } from "../subjects/subject.ts";
import { runProgram, startProgram } from "./debian.ts";
import type { FoundPeer } from "./peers.ts";

const SOURCE = join(import.meta.dirname, "express");
const DATABASE = "peer_express";

/** Installs its packages where that was not done before. */
export async function findExpress(bench: Bench): Promise<FoundPeer> {
  try {
    const folder = await install(bench);
    return { subject: express(bench, folder) };
  } catch (error) {
    const [reason = ""] = (error instanceof Error ? error.message : String(error)).split("\n");
    return { missing: `its packages cannot be installed (${reason})` };
  }
}

async function install(bench: Bench): Promise<string> {
  const lock = await readFile(join(SOURCE, "package-lock.json"));
  const folder = join(
    tmpdir(),
    `holdfast-bench-express-${createHash("sha256").update(lock).digest("hex").slice(0, 12)}`,
  );
  if (!existsSync(folder)) {
    bench.say("installing the packages of the peer express");
    const draft = `${folder}.${process.pid}`;
    await mkdir(draft, { recursive: true });
    try {
      for (const file of ["package.json", "package-lock.json"]) await copyFile(join(SOURCE, file), join(draft, file));
      const { PATH = "", HOME = "" } = process.env;
      const args = ["npm", "ci", "--omit=dev", "--no-audit", "--no-fund", "--ignore-scripts"];
      await runProgram({ file: "/usr/bin/env", args, cwd: draft, env: { PATH, HOME, ...npmSettings() } });
      await rename(draft, folder);
    } finally {
      await rm(draft, { recursive: true, force: true });
    }
  }
  await copyFile(join(SOURCE, "server.mjs"), join(folder, "server.mjs"));
  return folder;
}

/** Where npm was told to look, in whatever way. */
function npmSettings(): Record<string, string> {
  const entries = Object.entries(process.env).filter(([name]) => /^(npm_config_|https?_proxy$|no_proxy$)/i.test(name));
  return Object.fromEntries(entries.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));
}

function express(bench: Bench, folder: string): Subject {
  return {
    name: "express",
    label: "Express (official @sendgrid/eventwebhook)",
    async start(): Promise<Running> {
      const { server, key } = bench;
      const databaseUrl = await server.create(DATABASE);
      const program = await startProgram({
        file: process.execPath,
        args: ["server.mjs"],
        cwd: folder,
        env: { DATABASE_URL: databaseUrl, PUBLIC_KEY: key.publicKeyText, NODE_ENV: "production" },
        ready: /listens on port \d+/,
      });
      const [, port] = /listens on port (\d+)/.exec(program.output()) ?? [];
      return {
        url: `http://127.0.0.1:${port}/webhooks/sendgrid`,
        pids: [program.pid, await server.pid()],
        check: async (acknowledged) => check(databaseUrl, acknowledged),
        async stop() {
          await program.stop();
          await delay(100);
          await server.drop(DATABASE);
        },
      };
    },
  };
}

async function check(databaseUrl: string, acknowledged: Acknowledged): Promise<string[]> {
  const rows = await query<{ event_id: string }>(databaseUrl, "SELECT event_id FROM events");
  const stored = new Set(rows.map((row) => row.event_id));
  if (stored.size < acknowledged.events)
    return [`${acknowledged.events} events acknowledged, but ${stored.size} stored`];
  let missing = 0;
  for (const body of acknowledged.bodies?.() ?? []) {
    for (const { eventId } of eventIds(body)) if (!stored.has(eventId)) missing += 1;
  }
  return missing > 0 ? [`${missing} acknowledged events are missing`] : [];
}
