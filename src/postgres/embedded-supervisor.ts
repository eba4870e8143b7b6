import { spawn, type ChildProcess } from "node:child_process";
import { open, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { POSTGRES_LOG_CHECK_MS, POSTGRES_RESTART_MS_MAX, POSTGRES_START_MS_MAX } from "../limits.ts";
import type { Log } from "../log.ts";
import { serverEnvironment, SOCKET_PORT, type Cluster } from "./embedded-cluster.ts";
import { logBytes, logSince, rotateServerLog } from "./embedded-log.ts";
import { endServer, readPidFile } from "./embedded-process.ts";

const READY_POLL_MS = 20;
const STILL_STARTING_MS = 10_000;
const RESTART_MS_FIRST = 200;
/** A server that ran this long was well: its next end is not part of the same trouble. */
const WELL_MS = 60_000;

export interface SupervisedServer {
  stop(): Promise<void>;
}

/**
 * Starts the server of a cluster and keeps it running until `stop`: when it ends by itself, it is started again, the wait before
 * each further try twice as long. There is no last try: without its database the service is of no use, and the cause (a full disk)
 * may go away.
 *
 * @throws Error with the end of the server's log when the first start fails.
 */
export async function supervise(cluster: Cluster, durable: boolean, log: Log): Promise<SupervisedServer> {
  const stopping = new AbortController();
  let server = await launch(cluster, durable, log, stopping.signal);
  let startedAt = performance.now();
  // When the service ends without a stop (a bug, process.exit), the server at least gets the word to end cleanly.
  const onExit = (): void => void server.child.kill("SIGINT");
  process.on("exit", onExit);
  const logTimer = setInterval(() => {
    rotateServerLog(cluster.logFile).catch((error: unknown) =>
      log.warn({ err: error }, "the log of PostgreSQL cannot be rotated"),
    );
  }, POSTGRES_LOG_CHECK_MS).unref();

  async function startAgain(): Promise<boolean> {
    try {
      server = await launch(cluster, durable, log, stopping.signal);
      startedAt = performance.now();
      log.info("PostgreSQL is back");
      return true;
    } catch (error) {
      if (!stopping.signal.aborted) log.error({ err: error }, "PostgreSQL did not start again");
      return false;
    }
  }

  async function keepRunning(): Promise<void> {
    let restartMs = RESTART_MS_FIRST;
    for (;;) {
      const cause = await server.ended;
      if (performance.now() - startedAt > WELL_MS) restartMs = RESTART_MS_FIRST;
      do {
        if (stopping.signal.aborted) return;
        log.error({ cause, restartMs }, "PostgreSQL is not running and will be started again");
        await delay(restartMs, undefined, { signal: stopping.signal }).catch(() => undefined);
        if (stopping.signal.aborted) return;
        restartMs = Math.min(restartMs * 2, POSTGRES_RESTART_MS_MAX);
      } while (!(await startAgain()));
    }
  }

  const running = keepRunning();
  return {
    async stop() {
      stopping.abort();
      clearInterval(logTimer);
      const ending = await endServer(cluster.folder);
      if (ending === "immediate" || ending === "killed")
        log.warn({ ending }, "PostgreSQL did not stop in time and was cut short");
      await running;
      process.off("exit", onExit);
    },
  };
}

interface LaunchedServer {
  child: ChildProcess;
  /** How the process ended, in words. Never rejects. */
  ended: Promise<string>;
}

async function launch(cluster: Cluster, durable: boolean, log: Log, stopping: AbortSignal): Promise<LaunchedServer> {
  await clearAway(cluster, log);
  await rotateServerLog(cluster.logFile);
  const logStart = await logBytes(cluster.logFile);
  stopping.throwIfAborted();
  const server = await spawnServer(cluster, durable);
  try {
    await untilReady(cluster, server, stopping, log);
    return server;
  } catch (error) {
    await endServer(cluster.folder);
    const said = await logSince(cluster.logFile, logStart);
    throw new Error(`PostgreSQL does not start: ${error instanceof Error ? error.message : String(error)}\n${said}`, {
      cause: error,
    });
  }
}

/**
 * Ends what a service killed with -9 left running, and removes what a crash left behind. This process holds the data directory,
 * so no other may be starting a server here; and once no PostgreSQL works in the cluster, its pid file names a stranger.
 */
async function clearAway(cluster: Cluster, log: Log): Promise<void> {
  const ending = await endServer(cluster.folder);
  if (ending !== "none") log.warn({ ending }, "a PostgreSQL that outlived its service was ended");
  await rm(join(cluster.folder, "postmaster.pid"), { force: true });
  for (const name of await readdir(cluster.socketFolder))
    await rm(join(cluster.socketFolder, name), { recursive: true });
}

async function spawnServer(cluster: Cluster, durable: boolean): Promise<LaunchedServer> {
  const { account, binaries, folder, logFile } = cluster;
  const logHandle = await open(logFile, "a", 0o600);
  try {
    const child = spawn(binaries.postgres, serverArguments(cluster, durable), {
      ...account,
      cwd: folder,
      env: serverEnvironment(),
      // A session of its own: the terminal's Ctrl-C must reach the service alone, which drains before the server may stop.
      detached: true,
      stdio: ["ignore", logHandle.fd, logHandle.fd],
    });
    const ended = new Promise<string>((resolve) => {
      child.once("error", (error) => resolve(error.message));
      child.once("exit", (code, signal) => resolve(signal ?? `exit code ${code}`));
    });
    return { child, ended };
  } finally {
    await logHandle.close();
  }
}

/** The server itself says in its pid file when it takes connections; trying to connect would fill its log with refusals. */
async function untilReady(cluster: Cluster, server: LaunchedServer, stopping: AbortSignal, log: Log): Promise<void> {
  let cause: string | undefined;
  void server.ended.then((how) => (cause = how));
  const start = performance.now();
  let saidAt = start;
  for (;;) {
    const file = await readPidFile(cluster.folder);
    if (cause !== undefined) throw new Error(`it ended (${cause})`);
    if (file?.ready === true && file.pid === server.child.pid) return;
    stopping.throwIfAborted();
    const now = performance.now();
    if (now - start > POSTGRES_START_MS_MAX)
      throw new Error(`it is not ready after ${POSTGRES_START_MS_MAX / 60_000} minutes`);
    if (now - saidAt > STILL_STARTING_MS) {
      saidAt = now;
      log.info(
        { seconds: Math.round((now - start) / 1000) },
        "PostgreSQL is still starting (after a crash it replays its log)",
      );
    }
    await delay(READY_POLL_MS);
  }
}

/** Settings that must not be changed by a postgresql.conf: they stand on the command line, which wins. */
function serverArguments(cluster: Cluster, durable: boolean): string[] {
  const settings: Record<string, string | number> = {
    listen_addresses: "",
    port: SOCKET_PORT,
    // Quoted, since it is a list and a path may hold a comma.
    unix_socket_directories: `"${cluster.socketFolder.replaceAll('"', '""')}"`,
    unix_socket_permissions: "0700",
    max_connections: 100,
    shared_buffers: "128MB",
    max_wal_size: "2GB",
    fsync: durable ? "on" : "off",
    full_page_writes: durable ? "on" : "off",
    synchronous_commit: "on",
    jit: "off",
    timezone: "UTC",
    log_timezone: "UTC",
    // No wal_compression and no other default_toast_compression: these builds have no lz4, and pglz costs more than it saves.
  };
  return ["-D", cluster.folder, ...Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`])];
}
