/**
 * The system that Holdfast replaces, as DESIGN describes it, of Debian's packages: a Django view that checks the signature and
 * sends a signal for each event; a receiver that stores it with `atomic` and `get_or_create` and retries deadlocks; `on_commit`
 * hands the row to Celery. gunicorn, Redis and PostgreSQL 15 stand beside it. With `anymail` the view is that of
 * django-anymail, in front of the same receiver. This file starts and stops all of it, on sockets and a free port of its own.
 */
import { chmod, mkdir, rm } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { serverAccount } from "../../src/postgres/embedded-account.ts";
import type { Bench } from "../context.ts";
import { eventIds } from "../load/posts.ts";
import { says } from "../machine.ts";
import { query } from "../server.ts";
import type { Acknowledged, Running, Subject } from "../subjects/subject.ts";
import { isThere, runProgram, startProgram, type Program } from "./debian.ts";
import type { FoundPeer } from "./peers.ts";

type Front = "django" | "anymail";

const PYTHON = "/usr/bin/python3";
const REDIS = "/usr/bin/redis-server";
const POSTGRES = "/usr/lib/postgresql/15/bin";
const PROJECT = join(import.meta.dirname, "django");
const PACKAGES =
  "python3-django gunicorn python3-celery python3-redis python3-psycopg2 python3-cryptography python3-requests redis-server postgresql-15";

const LABELS: Record<Front, string> = {
  django: "Django system (gunicorn, Celery, Redis, PostgreSQL 15)",
  anymail: "the same behind django-anymail (no signatures)",
};
const PATHS: Record<Front, string> = { django: "webhooks/sendgrid", anymail: "anymail/sendgrid/tracking/" };

export interface DjangoOptions {
  /** SendGrid's API, or its double; unset: the tasks ask nobody. */
  api?: { url: string; key: string };
}

/** Whether its parts are installed. */
export async function findDjango(bench: Bench, front: Front): Promise<FoundPeer> {
  const modules = `django, gunicorn, celery, redis, psycopg2, cryptography, requests${front === "anymail" ? ", anymail" : ""}`;
  const isPython = (await says(PYTHON, "-c", `import ${modules}; print("ok")`)) === "ok";
  if (!isPython || !(await isThere(REDIS)) || !(await isThere(join(POSTGRES, "postgres")))) {
    return { missing: `needs Debian's ${PACKAGES}${front === "anymail" ? " python3-django-anymail" : ""}` };
  }
  return { subject: django(bench, front) };
}

export interface DjangoSubject extends Subject {
  start(): Promise<RunningDjango>;
}

export function django(bench: Bench, front: Front, options: DjangoOptions = {}): DjangoSubject {
  return { name: front, label: LABELS[front], start: async () => start(bench, front, options) };
}

export interface RunningDjango extends Running {
  databaseUrl: string;
}

async function start(bench: Bench, front: Front, options: DjangoOptions): Promise<RunningDjango> {
  const folder = join(bench.folder, "django");
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  // PostgreSQL's own user must pass through.
  await chmod(folder, 0o711);
  const parts: Program[] = [];
  const stop = async (): Promise<void> => {
    for (const part of parts.splice(0).reverse()) await part.stop();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    const socket = await startPostgres(folder, parts);
    const databaseUrl = `postgres://peer@localhost/peer?host=${encodeURIComponent(socket)}`;
    const redisSocket = join(folder, "redis.sock");
    const redisArgs = ["--port", "0", "--unixsocket", redisSocket, "--save", "", "--appendonly", "no"];
    parts.push(await startProgram({ file: REDIS, args: redisArgs, cwd: folder, ready: /ready to accept connections/ }));
    const env = {
      PYTHONPATH: PROJECT,
      // Nothing may be written into the checkout.
      PYTHONPYCACHEPREFIX: join(bench.folder, "pycache"),
      DJANGO_SETTINGS_MODULE: "peer.settings",
      PEER_FRONT: front,
      PEER_DATABASE_SOCKET: socket,
      PEER_REDIS_SOCKET: redisSocket,
      PEER_PUBLIC_KEY: bench.key.publicKeyText,
      ...(options.api === undefined ? {} : { PEER_API_URL: options.api.url, PEER_API_KEY: options.api.key }),
    };
    const port = await startPython(folder, env, parts);
    const url = `http://127.0.0.1:${port}/${PATHS[front]}`;
    const pids = parts.map(({ pid }) => pid);
    return { url, pids, databaseUrl, stop, check: async (acknowledged) => check(databaseUrl, acknowledged) };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** @returns the folder of its socket. */
async function startPostgres(folder: string, parts: Program[]): Promise<string> {
  const account = await serverAccount(join(folder, "none"));
  const data = join(folder, "postgres");
  await runProgram({ file: "/usr/bin/install", args: ["-d", "-m", "700", ...owner(account), data], cwd: folder });
  const init = ["-D", data, "-U", "peer", "--auth=trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync"];
  await runProgram({ file: join(POSTGRES, "initdb"), args: init, cwd: data, account });
  // The same settings as the embedded server's, so that the comparison is one of programs and not of settings.
  const settings = {
    listen_addresses: "",
    unix_socket_directories: data,
    shared_buffers: "128MB",
    max_wal_size: "2GB",
    jit: "off",
    fsync: "on",
    synchronous_commit: "on",
  };
  const args = ["-D", data, ...Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`])];
  const file = join(POSTGRES, "postgres");
  const ready = /ready to accept connections/;
  parts.push(await startProgram({ file, args, cwd: data, account, ready, stopSignal: "SIGINT" }));
  const root = `postgres://peer@localhost/postgres?host=${encodeURIComponent(data)}`;
  await query(root, "CREATE DATABASE peer");
  return data;
}

function owner(account: { uid: number; gid: number } | undefined): string[] {
  return account === undefined ? [] : ["-o", String(account.uid), "-g", String(account.gid)];
}

/** @returns gunicorn's port. */
async function startPython(folder: string, env: Record<string, string>, parts: Program[]): Promise<number> {
  await runProgram({
    file: PYTHON,
    args: ["-m", "django", "migrate", "--run-syncdb", "--verbosity", "0"],
    cwd: folder,
    env,
  });
  const processes = String(availableParallelism());
  const gunicorn = await startProgram({
    file: PYTHON,
    // Threads let a worker serve others while one waits for its commit; connections are kept open.
    args: [
      "-m gunicorn peer.wsgi:application --bind 127.0.0.1:0 --worker-class gthread --threads 8 --keep-alive 120",
      `--workers ${processes} --timeout 600 --worker-tmp-dir /dev/shm`,
    ].flatMap((words) => words.split(" ")),
    cwd: folder,
    env,
    ready: /Listening at: http:\/\/127\.0\.0\.1:\d+[\s\S]*Booting worker/,
  });
  parts.push(gunicorn);
  const worker = `-m celery --app peer.worker worker --concurrency ${processes} --loglevel WARNING`;
  const quiet = "--without-gossip --without-mingle --without-heartbeat";
  // It refuses to run as root with a warning only, which is all right in a throwaway folder.
  parts.push(
    await startProgram({
      file: PYTHON,
      args: `${worker} ${quiet}`.split(" "),
      cwd: folder,
      env: { ...env, C_FORCE_ROOT: "true" },
      ready: /worker is ready/,
      stopSignal: "SIGQUIT",
    }),
  );
  const [, port] = /Listening at: http:\/\/127\.0\.0\.1:(\d+)/.exec(gunicorn.output()) ?? [];
  return Number(port);
}

/** Every acknowledged event is one row. */
async function check(databaseUrl: string, acknowledged: Acknowledged): Promise<string[]> {
  const rows = await query<{ event_id: string }>(databaseUrl, "SELECT event_id FROM peer_emailevent");
  const stored = new Set(rows.map((row) => row.event_id));
  if (stored.size < acknowledged.events)
    return [`${acknowledged.events} events acknowledged, but ${stored.size} stored`];
  let missing = 0;
  for (const body of acknowledged.bodies?.() ?? []) {
    for (const { eventId } of eventIds(body)) if (!stored.has(eventId)) missing += 1;
  }
  return missing > 0 ? [`${missing} acknowledged events are missing`] : [];
}
