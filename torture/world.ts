import { execFile } from "node:child_process";
import type { KeyObject } from "node:crypto";
import { chmod, copyFile, mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { findRunningService } from "../src/commands/running-service.ts";
import { createLog, type Log } from "../src/log.ts";
import { endServer, readPidFile, serverProcesses } from "../src/postgres/embedded-process.ts";
import { startEmbeddedPostgres } from "../src/postgres/embedded.ts";
import { createPool } from "../src/postgres/pool.ts";
import { startApiDouble, type ApiDouble } from "../src/simulator/api-double.ts";
import { simulatorKey } from "../src/simulator/key.ts";
import { createInstance, type Instance, type InstanceOptions } from "./instance.ts";
import { proxyFolder, startPgProxy, throughSocket, type PgProxy } from "./proxy.ts";

/**
 * `embedded`: one service with its own PostgreSQL. `small-disk`: the same on a small file system of its own. `shared`:
 * several services, each through a proxy, on one PostgreSQL that is not theirs.
 */
export const WORLD_KINDS = ["embedded", "shared", "small-disk"] as const;
export type WorldKind = (typeof WORLD_KINDS)[number];

export interface World {
  kind: WorldKind;
  instances: readonly Instance[];
  /** One for each instance in a shared world; none elsewhere. */
  proxies: readonly PgProxy[];
  api: ApiDouble;
  privateKey: KeyObject;
  /** Leads to PostgreSQL without a proxy. */
  databaseUrl: string;
  /** PostgreSQL's own folder. */
  cluster: string;
  /** The folder on the small file system, or of the only service. */
  dataDir: string;
  clockFile: string;
  /** Runs one statement, again and again until PostgreSQL answers it. */
  ask<T extends object>(sql: string, values?: unknown[]): Promise<T[]>;
  /** The processes of PostgreSQL that run now. */
  server(): Promise<{ postmaster: number | undefined; others: number[] }>;
  stop(): Promise<void>;
}

export interface WorldOptions {
  kind: WorldKind;
  /** The checkout, or a changed copy of it. */
  root: string;
  /** Where the services' output is kept; default: with the data, and gone with it. */
  logFolder?: string;
  /** In a shared world, the settings of each instance beside the common ones. */
  instances?: readonly InstanceOptions["settings"][];
  /** Of a small disk. */
  diskMib?: number;
  /** False: PostgreSQL skips fsync where the harness runs it, for short tests. */
  durable?: boolean;
}

/** PostgreSQL needs 50 MiB; the rest is room for the run, and the fault fills it up. */
const SMALL_DISK_MIB = 1_024;
/** Below this a service on the small disk must refuse by itself. */
const SMALL_DISK_FREE_MIB = 48;
/** A first start with nothing in its way. */
const FIRST_START_MS_MAX = 90_000;
const ASK_MS_MAX = 180_000;
const ASK_AGAIN_MS = 100;

const SIMULATOR_KEY_FILE = "simulator.key";

export const ROOT = join(import.meta.dirname, "..");

/** Starts a world of processes in a temporary folder. `stop` ends and removes all of it. */
export async function startWorld(options: WorldOptions): Promise<World> {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-torture-"));
  // PostgreSQL's own user must pass through.
  await chmod(folder, 0o711);
  const stops: (() => Promise<unknown>)[] = [() => rm(folder, { recursive: true, force: true })];
  const stop = async (): Promise<void> => {
    for (const stopPart of stops.splice(0).reverse()) await stopPart();
  };
  try {
    return await build(options, folder, stops, stop);
  } catch (error) {
    await stop();
    throw error;
  }
}

type Stops = (() => Promise<unknown>)[];

async function build(options: WorldOptions, folder: string, stops: Stops, stop: () => Promise<void>): Promise<World> {
  const { kind, logFolder = folder } = options;
  const api = await startApiDouble({ callsPerMinute: Infinity, visibleAfterSeconds: 0 });
  stops.push(() => api.stop());
  const parts: Parts = { options, folder, logFolder, stops, api, clockFile: join(folder, "clock") };
  await writeFile(parts.clockFile, "0");
  const made = kind === "shared" ? await buildShared(parts) : await buildAlone(parts, kind === "small-disk");
  const { databaseUrl, instances } = made;
  const pool = createPool({ databaseUrl, log: silentLog(), connectionsMax: 4, name: "torture" });
  stops.push(() => pool.end());
  const cluster = await realpath(join(made.serverDir, "postgres"));

  async function ask<T extends object>(sql: string, values: unknown[] = []): Promise<T[]> {
    const deadlineMs = performance.now() + ASK_MS_MAX;
    for (;;) {
      try {
        return (await pool.query<T>(sql, values)).rows;
      } catch (error) {
        if (performance.now() > deadlineMs) throw error;
        await delay(ASK_AGAIN_MS);
      }
    }
  }

  async function server(): Promise<{ postmaster: number | undefined; others: number[] }> {
    const pids = await serverProcesses(cluster);
    const postmaster = (await readPidFile(cluster))?.pid;
    return {
      postmaster: postmaster !== undefined && pids.includes(postmaster) ? postmaster : undefined,
      others: pids.filter((pid) => pid !== postmaster),
    };
  }

  const { proxies, privateKey, dataDir } = made;
  const { clockFile } = parts;
  return { kind, instances, proxies, api, privateKey, databaseUrl, cluster, dataDir, clockFile, ask, server, stop };
}

interface Parts {
  options: WorldOptions;
  folder: string;
  logFolder: string;
  stops: Stops;
  api: ApiDouble;
  clockFile: string;
}

interface Made {
  instances: Instance[];
  proxies: PgProxy[];
  privateKey: KeyObject;
  databaseUrl: string;
  dataDir: string;
  /** The data directory that holds PostgreSQL's folder. */
  serverDir: string;
}

async function buildAlone(parts: Parts, isSmallDisk: boolean): Promise<Made> {
  const { options, folder, stops } = parts;
  const { diskMib = SMALL_DISK_MIB } = options;
  const dataDir = join(folder, "data");
  await mkdir(dataDir, { mode: 0o711 });
  if (isSmallDisk) {
    await run("mount", ["-t", "tmpfs", "-o", `size=${diskMib}m,mode=711`, "tmpfs", dataDir]);
    stops.push(() => run("umount", [dataDir]));
  }
  const { privateKey } = await simulatorKey(dataDir);
  const instance = await addInstance(parts, "alone", dataDir, {});
  stops.push(async () => {
    await instance.end("SIGTERM");
    // What a killed service leaves running must not outlive the world.
    const cluster = await realpath(join(dataDir, "postgres")).catch(() => undefined);
    if (cluster !== undefined) await endServer(cluster);
  });
  await instance.start(FIRST_START_MS_MAX);
  const databaseUrl = (await findRunningService(dataDir))?.databaseUrl;
  if (databaseUrl === undefined) throw new Error("the service is ready and names no database");
  return { instances: [instance], proxies: [], privateKey, databaseUrl, dataDir, serverDir: dataDir };
}

async function buildShared(parts: Parts): Promise<Made> {
  const { options, folder, stops } = parts;
  const { durable = true, instances: settings = [{}, {}, {}] } = options;
  const serverDir = join(folder, "pg");
  await mkdir(serverDir, { mode: 0o711 });
  const postgres = await startEmbeddedPostgres({ dataDir: serverDir, log: silentLog(), durable });
  stops.push(() => postgres.stop());
  const socket = join(new URL(postgres.databaseUrl).searchParams.get("host") ?? "", ".s.PGSQL.5432");
  const { privateKey } = await simulatorKey(folder);
  const instances: Instance[] = [];
  const proxies: PgProxy[] = [];
  for (const [index, own] of settings.entries()) {
    const dataDir = join(folder, `data-${index + 1}`);
    await mkdir(dataDir);
    // One key for all: the POSTs go round the services.
    await copyFile(join(folder, SIMULATOR_KEY_FILE), join(dataDir, SIMULATOR_KEY_FILE));
    const proxy = await startPgProxy(proxyFolder(folder), socket);
    stops.push(() => proxy.stop());
    const databaseUrl = throughSocket(postgres.databaseUrl, proxy.folder);
    const instance = await addInstance(parts, `instance-${index + 1}`, dataDir, { DATABASE_URL: databaseUrl, ...own });
    stops.push(() => instance.end("SIGTERM"));
    // One after the other: the first one migrates.
    await instance.start(FIRST_START_MS_MAX);
    instances.push(instance);
    proxies.push(proxy);
  }
  return { instances, proxies, privateKey, databaseUrl: postgres.databaseUrl, dataDir: folder, serverDir };
}

async function addInstance(
  { options, logFolder, api, clockFile }: Parts,
  name: string,
  dataDir: string,
  own: InstanceOptions["settings"],
): Promise<Instance> {
  return createInstance({
    name,
    root: options.root,
    dataDir,
    clockFile,
    logFile: join(logFolder, `${name}.log`),
    settings: {
      HOLDFAST_LOG_LEVEL: "info",
      HOLDFAST_ALLOW_UNSAFE: String(options.durable === false),
      HOLDFAST_DISK_FREE_MIB: String(SMALL_DISK_FREE_MIB),
      HOLDFAST_ENRICH_SIMULATED: "true",
      // What a fault loses must stay lost, to be seen.
      HOLDFAST_RECONCILE: "off",
      HOLDFAST_ENRICHMENT_SETTLE_SECONDS: "1",
      HOLDFAST_API_CALLS_PER_MINUTE: "6000",
      SENDGRID_API_KEY: api.apiKey,
      SENDGRID_API_URL: api.url,
      ...own,
    },
  });
}

async function run(command: string, args: readonly string[]): Promise<void> {
  await promisify(execFile)(command, args);
}

function silentLog(): Log {
  return createLog("silent");
}
