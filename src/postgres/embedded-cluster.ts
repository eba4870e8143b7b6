import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import {
  chmod,
  chown,
  lstat,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  readlink,
  realpath,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { UsageError } from "../errors.ts";
import { POSTGRES_INITDB_MS_MAX, SOCKET_PATH_BYTES_MAX } from "../limits.ts";
import type { Log } from "../log.ts";
import { canEnter, serverAccount, type Account } from "./embedded-account.ts";
import { findBinaries, type Binaries } from "./embedded-binaries.ts";

/** The name of the database and of its superuser. */
export const NAME = "holdfast";
/** Names only the socket file: no TCP port is opened. */
export const SOCKET_PORT = 5432;

/** Where else root's server keeps what its user cannot reach where it is. */
export interface Places {
  /** Clusters, when the data directory is closed to that user. */
  stateFolder: string;
  /** The programs, when the checkout is closed to that user. */
  cacheFolder: string;
  /** The npm package with the programs; undefined: found by its name. */
  packageFolder: string | undefined;
}

const PLACES: Places = {
  stateFolder: "/var/lib/holdfast",
  cacheFolder: "/var/cache/holdfast",
  packageFolder: undefined,
};

/** A made cluster, ready to be started. */
export interface Cluster {
  account: Account | undefined;
  binaries: Binaries;
  /** PostgreSQL's data directory, a real path: processes are recognised by it. */
  folder: string;
  socketFolder: string;
  logFile: string;
  databaseUrl: string;
  /** The database that every cluster has, for what needs one to exist. */
  maintenanceUrl: string;
}

export interface ClusterOptions {
  dataDir: string;
  log: Log;
  durable: boolean;
  places?: Partial<Places> | undefined;
}

/** The paths in a data directory. `cluster` is a folder, or a symbolic link to one. */
export function dataDirPaths(dataDir: string): {
  cluster: string;
  passwordFile: string;
  socketNote: string;
  logFile: string;
} {
  return {
    cluster: join(dataDir, "postgres"),
    passwordFile: join(dataDir, "postgres.password"),
    socketNote: join(dataDir, "postgres.socket"),
    logFile: join(dataDir, "postgres.log"),
  };
}

/** The form that both node-postgres and libpq understand. It names all that they would else take from PG* variables. */
export function socketUrl(socketFolder: string, password: string, database = NAME): string {
  const host = encodeURIComponent(socketFolder);
  return `postgres://${NAME}:${password}@localhost:${SOCKET_PORT}/${database}?host=${host}&sslmode=disable`;
}

/**
 * Finds the cluster of a data directory, or makes it. The caller holds the data directory's lock.
 *
 * Layout: `postgres/` the cluster, `postgres.password` (0600), `run/` (0700) the socket, `postgres.log`. Only when root hands
 * the server to another user who may not pass into the data directory, the cluster stands in `stateFolder` and `postgres` is a
 * symbolic link to it.
 *
 * @throws UsageError when the files are out of the server's reach.
 */
export async function prepareCluster(options: ClusterOptions): Promise<Cluster> {
  const { dataDir, log, durable } = options;
  const { stateFolder, cacheFolder, packageFolder } = { ...PLACES, ...options.places };
  const paths = dataDirPaths(dataDir);
  await rejectLostCluster(paths.cluster);
  const account = await serverAccount(paths.cluster);
  const binaries = await findBinaries({
    account,
    cacheFolder: account === undefined ? dataDir : cacheFolder,
    packageFolder,
  });
  const isMade = await isFolder(paths.cluster);
  const password = await readOrMakePassword(paths.passwordFile, isMade);
  if (!isMade) {
    const base = await chooseBase({ dataDir, account, stateFolder, log });
    await makeCluster({ base, link: paths.cluster, account, binaries, password, durable, log });
  }
  const folder = await realpath(paths.cluster);
  await rejectUnreachable(folder, account);
  const isDataDirOpen = account === undefined || (await canEnter(dataDir, account));
  const socketFolder = await makeSocketFolder(isDataDirOpen ? dataDir : dirname(folder), paths.socketNote, account);
  return {
    account,
    binaries,
    folder,
    socketFolder,
    logFile: paths.logFile,
    databaseUrl: socketUrl(socketFolder, password),
    maintenanceUrl: socketUrl(socketFolder, password, "postgres"),
  };
}

/** A link whose folder is gone must not silently become a new, empty ledger. */
async function rejectLostCluster(cluster: string): Promise<void> {
  const isLink = await lstat(cluster).then(
    (stats) => stats.isSymbolicLink(),
    () => false,
  );
  if (isLink && !(await isFolder(cluster))) {
    throw new UsageError(
      `${cluster} points to ${await readlink(cluster)}, which is not there. Bring that folder back; ` +
        "or remove the link to begin with an empty ledger.",
    );
  }
}

async function rejectUnreachable(folder: string, account: Account | undefined): Promise<void> {
  if (account === undefined || (await canEnter(folder, account))) return;
  throw new UsageError(
    `PostgreSQL does not run as root, and the user ${account.uid} may not pass into ${folder}. Give that user the folder and the right to ` +
      "pass through each folder above it (chmod o+x), or move the data directory.",
  );
}

async function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (stats) => stats.isDirectory(),
    () => false,
  );
}

async function readOrMakePassword(file: string, isClusterMade: boolean): Promise<string> {
  const known = await readFile(file, "utf8").catch(() => "");
  if (known.trim() !== "") return known.trim();
  if (isClusterMade) throw new UsageError(`${file} is missing: it belongs to the cluster beside it. Bring it back.`);
  const password = randomBytes(32).toString("base64url");
  await writeFile(file, `${password}\n`, { mode: 0o600, flush: true });
  return password;
}

interface BaseOptions {
  dataDir: string;
  account: Account | undefined;
  stateFolder: string;
  log: Log;
}

/** The folder in which the cluster is made. */
async function chooseBase({ dataDir, account, stateFolder, log }: BaseOptions): Promise<string> {
  if (account === undefined) return dataDir;
  // Passing through is enough: what is secret in the data directory has modes of its own.
  const { mode } = await stat(dataDir);
  // oxlint-disable-next-line no-bitwise -- A mode is made of bits.
  await chmod(dataDir, (mode & 0o7777) | 0o111);
  if (await canEnter(dataDir, account)) return dataDir;
  await mkdir(stateFolder, { recursive: true, mode: 0o755 });
  const base = await mkdtemp(join(stateFolder, "data-"));
  await chmod(base, 0o755);
  log.warn(
    { dataDir, uid: account.uid, folder: base },
    "PostgreSQL's user may not pass into the data directory: its files stand elsewhere",
  );
  return base;
}

interface MakeOptions {
  base: string;
  link: string;
  account: Account | undefined;
  binaries: Binaries;
  password: string;
  durable: boolean;
  log: Log;
}

async function makeCluster(options: MakeOptions): Promise<void> {
  const { base, link, account, password, log } = options;
  for (const name of await readdir(base)) {
    // What a start left that was killed before it was done.
    if (name.startsWith("postgres.new-")) await rm(join(base, name), { recursive: true, force: true });
  }
  const work = join(base, `postgres.new-${process.pid}`);
  await mkdir(work, { mode: 0o700 });
  const passwordFile = join(work, "password");
  await writeFile(passwordFile, `${password}\n`, { mode: 0o600 });
  if (account !== undefined) {
    await chown(work, account.uid, account.gid);
    await chown(passwordFile, account.uid, account.gid);
  }
  log.info({ folder: base }, "making a PostgreSQL cluster");
  try {
    await runInitdb({ ...options, passwordFile, folder: join(work, "cluster") });
    // Only a complete cluster ever has the name that is looked for.
    const cluster = join(base, "postgres");
    await rename(join(work, "cluster"), cluster);
    if (resolve(cluster) !== resolve(link)) await symlink(cluster, link);
    // A power cut must not undo the renaming once receipts were acknowledged.
    await syncFolder(base);
    await syncFolder(dirname(link));
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function runInitdb(options: MakeOptions & { passwordFile: string; folder: string }): Promise<void> {
  const { account, binaries, durable, passwordFile, folder } = options;
  const locale = process.platform === "darwin" ? "en_US.UTF-8" : "C.UTF-8";
  const args = [
    ["-D", folder, "-U", NAME, "-E", "UTF8", "--data-checksums", `--pwfile=${passwordFile}`],
    ["--auth-local=scram-sha-256", "--auth-host=scram-sha-256"],
    // Sorting and case come from PostgreSQL itself, so no upgrade of the C library can break an index. macOS's library has
    // another name for the same character set.
    ["--locale-provider=builtin", "--builtin-locale=C.UTF-8", `--locale=${locale}`],
    durable ? [] : ["--no-sync"],
  ];
  await new Promise<void>((done, failed) => {
    const child = spawn(binaries.initdb, args.flat(), {
      ...account,
      cwd: dirname(folder),
      env: serverEnvironment(),
      stdio: ["ignore", "ignore", "pipe"],
      timeout: POSTGRES_INITDB_MS_MAX,
    });
    let stderr = "";
    child.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
    child.on("error", failed);
    child.on("close", (code, signal) => {
      if (code === 0) done();
      else failed(new Error(`initdb failed (${signal ?? `exit code ${code}`}): ${stderr.trim()}`));
    });
  });
}

/** Nothing of the caller's environment (PGDATA, PGPORT, locales) may change how the server runs. */
export function serverEnvironment(): NodeJS.ProcessEnv {
  // PATH is for the shell that initdb starts. macOS's postmaster refuses to run with a locale that starts threads.
  return {
    PATH: "/usr/local/bin:/usr/bin:/bin",
    LC_ALL: process.platform === "darwin" ? "en_US.UTF-8" : "C.UTF-8",
    TZ: "UTC",
  };
}

/**
 * The folder of the socket, for the server's user alone. A socket's path may have about a hundred bytes: under a longer path it stands in the
 * system's folder for temporary files, under a name that nobody can guess, which `note` remembers.
 */
async function makeSocketFolder(base: string, note: string, account: Account | undefined): Promise<string> {
  const beside = join(base, "run");
  const isShort = Buffer.byteLength(join(beside, `.s.PGSQL.${SOCKET_PORT}`)) <= SOCKET_PATH_BYTES_MAX;
  const owner = account?.uid ?? process.getuid?.();
  if (isShort) {
    await mkdir(beside, { recursive: true });
    await own(beside, account);
    return beside;
  }
  const noted = (await readFile(note, "utf8").catch(() => "")).trim();
  const stats = await lstat(noted).catch(() => undefined);
  if (stats?.isDirectory() === true && stats.uid === owner) {
    await own(noted, account);
    return noted;
  }
  for (const root of [tmpdir(), "/tmp"]) {
    const folder = await mkdtemp(join(root, "holdfast-"));
    await own(folder, account);
    const fits = Buffer.byteLength(join(folder, `.s.PGSQL.${SOCKET_PORT}`)) <= SOCKET_PATH_BYTES_MAX;
    if (fits && (account === undefined || (await canEnter(folder, account)))) {
      await writeFile(note, `${folder}\n`, { mode: 0o600 });
      return folder;
    }
    await rm(folder, { recursive: true });
  }
  throw new UsageError(
    `No folder is short enough for PostgreSQL's socket: move the data directory to a shorter path than ${base}.`,
  );
}

async function own(folder: string, account: Account | undefined): Promise<void> {
  await chmod(folder, 0o700);
  if (account !== undefined) await chown(folder, account.uid, account.gid);
}
