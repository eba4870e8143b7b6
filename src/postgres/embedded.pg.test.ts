import { execFile, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import {
  chmod,
  chown,
  lstat,
  mkdir,
  mkdtemp,
  readFile,
  realpath,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import pg from "pg";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { UsageError } from "../errors.ts";
import { createLog } from "../log.ts";
import { endServer, isServerProcess, readPidFile, serverProcesses } from "./embedded-process.ts";
import { runningEmbeddedDatabaseUrl, startEmbeddedPostgres, type EmbeddedPostgres } from "./embedded.ts";

const SERVICE = join(import.meta.dirname, "../../test/embedded-service.ts");
const log = createLog("silent");
const isRoot = process.getuid?.() === 0;
const NOBODY = 65_534;

/** One statement over a connection of its own. */
async function query(databaseUrl: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: databaseUrl });
  client.on("error", () => undefined);
  try {
    await client.connect();
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}

async function mode(path: string): Promise<number> {
  return (await stat(path)).mode % 0o1000;
}

async function start(dataDir: string): Promise<EmbeddedPostgres> {
  return startEmbeddedPostgres({ dataDir, log, durable: false });
}

async function postmaster(dataDir: string): Promise<number> {
  const file = await readPidFile(join(dataDir, "postgres"));
  if (file === undefined) throw new Error("there is no postmaster.pid");
  return file.pid;
}

describe("the embedded PostgreSQL, running", () => {
  let dataDir: string;
  let server: EmbeddedPostgres;

  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), "holdfast-embedded-"));
    // The real thing, with fsync: this is what `npm start` runs.
    server = await startEmbeddedPostgres({ dataDir, log });
  });

  afterAll(async () => {
    await server.stop();
    await rm(dataDir, { recursive: true });
  });

  it("keeps what it acknowledges, checks its pages and sorts by PostgreSQL's own rules", async () => {
    const rows = await query(
      server.databaseUrl,
      `SELECT name || '=' || setting AS setting FROM pg_settings WHERE name IN
         ('data_checksums', 'fsync', 'full_page_writes', 'jit', 'listen_addresses', 'server_encoding', 'synchronous_commit') ORDER BY name`,
    );
    expect(rows.map((row) => row["setting"])).toEqual([
      "data_checksums=on",
      "fsync=on",
      "full_page_writes=on",
      "jit=off",
      "listen_addresses=",
      "server_encoding=UTF8",
      "synchronous_commit=on",
    ]);
    const locale = await query(
      server.databaseUrl,
      "SELECT datlocprovider AS provider, datlocale AS locale FROM pg_database WHERE datname = 'holdfast'",
    );
    expect(locale).toEqual([{ provider: "b", locale: "C.UTF-8" }]);
  });

  it("lets nobody in without the password, and nobody else to the socket", async () => {
    await expect(query(server.databaseUrl.replace(/:[^:@]+@/, ":wrong@"), "SELECT 1")).rejects.toThrow(
      /password authentication failed/,
    );
    const running = await readPidFile(join(dataDir, "postgres"));
    expect(await mode(running?.socketFolder ?? "")).toBe(0o700);
    expect(await mode(join(dataDir, "postgres.password"))).toBe(0o600);
    expect(await mode(join(dataDir, "postgres.log"))).toBe(0o600);
  });

  it("does not write into its log what a failing statement's rows held", async () => {
    await query(
      server.databaseUrl,
      "CREATE TABLE told (address text PRIMARY KEY); INSERT INTO told VALUES ('ada@example.org')",
    );
    await expect(query(server.databaseUrl, "INSERT INTO told SELECT address FROM told")).rejects.toThrow(
      /duplicate key/,
    );
    const text = await readFile(join(dataDir, "postgres.log"), "utf8");
    expect(text).toContain("duplicate key");
    expect(text).not.toContain("ada@example.org");
  });

  it("never runs as root", async () => {
    expect((await stat(join(dataDir, "postgres"))).uid).not.toBe(0);
  });

  it.runIf(process.platform === "linux")(
    "is out of reach of the terminal's Ctrl-C, in a session of its own",
    async () => {
      const pid = await postmaster(dataDir);
      // After the name in parentheses: state, parent, process group, session.
      const [, , group, session] = (await readFile(`/proc/${pid}/stat`, "utf8")).replace(/^.*\) /s, "").split(" ");
      expect([group, session]).toEqual([`${pid}`, `${pid}`]);
    },
  );

  it("is found by the commands beside it, under the same address", async () => {
    expect(await runningEmbeddedDatabaseUrl(dataDir)).toBe(server.databaseUrl);
  });

  it("refuses a second start on the same data", async () => {
    const refusal: unknown = await start(dataDir).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(UsageError);
    expect(String(refusal)).toContain(`process ${process.pid}, since `);
    await expect(query(server.databaseUrl, "SELECT 1 AS one")).resolves.toEqual([{ one: 1 }]);
  });

  it("comes back under the same address after kill -9, with everything that was committed", async () => {
    await query(server.databaseUrl, "CREATE TABLE kept AS SELECT 42 AS answer");
    for (let time = 0; time < 2; time += 1) {
      const before = await postmaster(dataDir);
      process.kill(before, "SIGKILL");
      await expect
        .poll(async () => query(server.databaseUrl, "SELECT * FROM kept").catch(() => "away"), {
          timeout: 50_000,
        })
        .toEqual([{ answer: 42 }]);
      expect(await postmaster(dataDir)).not.toBe(before);
    }
  });
});

describe("the embedded PostgreSQL, from start to start", () => {
  let seed: string;
  let parent: string;
  let dataDir: string;
  const children: ChildProcess[] = [];

  beforeAll(async () => {
    seed = await mkdtemp(join(tmpdir(), "holdfast-embedded-"));
    await chmod(seed, 0o755);
    const server = await start(join(seed, "data"));
    await query(server.databaseUrl, "CREATE TABLE kept AS SELECT 42 AS answer");
    await server.stop();
  });

  afterAll(async () => {
    await rm(seed, { recursive: true });
  });

  beforeEach(async () => {
    parent = await mkdtemp(join(tmpdir(), "holdfast-embedded-"));
    await chmod(parent, 0o755);
    dataDir = join(parent, "data");
  });

  /** A data directory whose table `kept` holds 42: a copy with owners and modes, which is quicker than another initdb. */
  async function copySeed(): Promise<void> {
    await promisify(execFile)("cp", ["-pR", join(seed, "data"), dataDir]);
  }

  afterEach(async () => {
    for (const child of children.splice(0)) child.kill("SIGKILL");
    const cluster = await realpath(join(dataDir, "postgres")).catch(() => undefined);
    // Only a test that failed leaves one running.
    if (cluster !== undefined) await endServer(cluster);
    await rm(parent, { recursive: true });
  });

  /** Starts it in another process and waits for its address. */
  async function startService(uid?: number): Promise<{ child: ChildProcess; databaseUrl: string }> {
    const as = uid === undefined ? {} : { uid, gid: uid };
    const child = spawn(process.execPath, [SERVICE, dataDir], { ...as, stdio: ["ignore", "pipe", "inherit"] });
    children.push(child);
    const [line] = (await once(child.stdout, "data")) as [Buffer];
    return { child, databaseUrl: line.toString().trim() };
  }

  it("keeps its data over a stop and a start, and is gone in between", async () => {
    await copySeed();
    expect(await runningEmbeddedDatabaseUrl(dataDir)).toBeUndefined();
    expect(await serverProcesses(await realpath(join(dataDir, "postgres")))).toEqual([]);
    const server = await start(dataDir);
    expect(await query(server.databaseUrl, "SELECT * FROM kept")).toEqual([{ answer: 42 }]);
    await server.stop();
    expect(await runningEmbeddedDatabaseUrl(dataDir)).toBeUndefined();
    expect(await serverProcesses(await realpath(join(dataDir, "postgres")))).toEqual([]);
  });

  it("stops while connections are open and a statement runs", async () => {
    await copySeed();
    const server = await start(dataDir);
    const client = new pg.Client({ connectionString: server.databaseUrl });
    client.on("error", () => undefined);
    await client.connect();
    const statement = client.query("SELECT pg_sleep(3600)").catch((error: unknown) => error);
    await server.stop();
    expect(await statement).toBeInstanceOf(Error);
    expect(await serverProcesses(await realpath(join(dataDir, "postgres")))).toEqual([]);
  });

  it("is killed when it hangs, and recovers at the next start", async () => {
    await copySeed();
    const { child, databaseUrl } = await startService();
    await query(databaseUrl, "UPDATE kept SET answer = 43");
    child.kill("SIGKILL");
    process.kill(await postmaster(dataDir), "SIGSTOP");
    expect(await endServer(await realpath(join(dataDir, "postgres")), 0)).toBe("killed");
    const server = await start(dataDir);
    expect(await query(server.databaseUrl, "SELECT * FROM kept")).toEqual([{ answer: 43 }]);
    await server.stop();
  });

  it("replaces a server that outlived its service after kill -9", async () => {
    await copySeed();
    const { child, databaseUrl } = await startService();
    child.kill("SIGKILL");
    await once(child, "exit");
    const orphan = await postmaster(dataDir);
    // It is truly still there and working.
    await query(databaseUrl, "UPDATE kept SET answer = 43");
    const server = await start(dataDir);
    expect(await postmaster(dataDir)).not.toBe(orphan);
    // Asked this way, since a container without an init process keeps it as a zombie.
    expect(await isServerProcess(orphan, await realpath(join(dataDir, "postgres")))).toBe(false);
    expect(await query(server.databaseUrl, "SELECT * FROM kept")).toEqual([{ answer: 43 }]);
    await server.stop();
  });

  it("ends with a service that exits without stopping it", async () => {
    await copySeed();
    const { child } = await startService();
    child.kill("SIGHUP");
    await once(child, "exit");
    const cluster = await realpath(join(dataDir, "postgres"));
    await expect.poll(async () => serverProcesses(cluster), { timeout: 50_000 }).toEqual([]);
  });

  it("starts although the pid files name a process that lives and is somebody else's", async () => {
    await copySeed();
    const first = await start(dataDir);
    const pidFile = join(dataDir, "postgres/postmaster.pid");
    const content = (await readFile(pidFile, "utf8")).replace(/^\d+/, `${process.pid}`);
    const socketFolder = content.split("\n")[4] ?? "";
    await first.stop();
    await writeFile(pidFile, content);
    await writeFile(join(socketFolder, ".s.PGSQL.5432.lock"), content);
    expect(await runningEmbeddedDatabaseUrl(dataDir)).toBeUndefined();
    const second = await start(dataDir);
    expect(await postmaster(dataDir)).not.toBe(process.pid);
    await second.stop();
  });

  it("puts its socket elsewhere under a long path, and finds it there again", async () => {
    dataDir = join(parent, "a-folder-with-a-long-name".repeat(4), "data");
    const first = await start(dataDir);
    await query(first.databaseUrl, "SELECT 1");
    await first.stop();
    const second = await start(dataDir);
    expect(second.databaseUrl).toBe(first.databaseUrl);
    await second.stop();
    await rm((await readFile(join(dataDir, "postgres.socket"), "utf8")).trim(), { recursive: true });
  });

  it("takes a path with spaces, quotes and commas", async () => {
    dataDir = join(parent, `it's "one", 50% of 2`);
    const server = await start(dataDir);
    expect(await query(server.databaseUrl, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
    await server.stop();
  });

  it("says why it does not start, and gives the data free", async () => {
    await copySeed();
    await writeFile(join(dataDir, "postgres/PG_VERSION"), "13\n");
    await expect(start(dataDir)).rejects.toThrow(
      /PostgreSQL does not start: it ended[\s\S]*initialized by PostgreSQL version 13/,
    );
    await expect(start(dataDir)).rejects.toThrow(/initialized by PostgreSQL version 13/);
  });

  it("does not begin an empty ledger in the place of one whose files are missing", async () => {
    await copySeed();
    await rename(join(dataDir, "postgres.password"), join(dataDir, "elsewhere"));
    await expect(start(dataDir)).rejects.toThrow(UsageError);
    await rename(join(dataDir, "elsewhere"), join(dataDir, "postgres.password"));
    await rename(join(dataDir, "postgres"), join(dataDir, "moved"));
    await symlink(join(dataDir, "gone"), join(dataDir, "postgres"));
    await expect(start(dataDir)).rejects.toThrow(/points to .*gone, which is not there/);
  });

  it.runIf(isRoot)("is run by an ordinary user as that user, and by root later as the same", async ({ skip }) => {
    await mkdir(dataDir);
    await chown(dataDir, NOBODY, NOBODY);
    const probe = spawn(process.execPath, ["--check", SERVICE], { uid: NOBODY, gid: NOBODY, stdio: "ignore" });
    const [code] = (await once(probe, "exit").catch(() => [1])) as [number];
    if (code !== 0) skip("an ordinary user may not read this checkout");
    const { child, databaseUrl } = await startService(NOBODY);
    await query(databaseUrl, "CREATE TABLE kept AS SELECT 42 AS answer");
    expect((await stat(`/proc/${child.pid}`)).uid).toBe(NOBODY);
    child.kill("SIGTERM");
    await once(child, "exit");
    const server = await start(dataDir);
    expect(await query(server.databaseUrl, "SELECT * FROM kept")).toEqual([{ answer: 42 }]);
    expect((await stat(join(dataDir, "postgres"))).uid).toBe(NOBODY);
    await server.stop();
  });

  it.runIf(isRoot)(
    "stands elsewhere when its user may not pass into the data directory, and is found there again",
    async () => {
      const closed = join(parent, "closed");
      await mkdir(closed, { mode: 0o700 });
      dataDir = join(closed, "data");
      const places = { stateFolder: join(parent, "state") };
      const first = await startEmbeddedPostgres({ dataDir, log, durable: false, places });
      await query(first.databaseUrl, "CREATE TABLE kept AS SELECT 42 AS answer");
      expect((await lstat(join(dataDir, "postgres"))).isSymbolicLink()).toBe(true);
      expect(await realpath(join(dataDir, "postgres"))).toContain(join(parent, "state", "data-"));
      await first.stop();
      const second = await startEmbeddedPostgres({ dataDir, log, durable: false, places });
      expect(await query(second.databaseUrl, "SELECT * FROM kept")).toEqual([{ answer: 42 }]);
      // A copy of the data directory holds the link, and so leads to the very same cluster.
      await promisify(execFile)("cp", ["-pR", dataDir, join(closed, "copy")]);
      await expect(
        startEmbeddedPostgres({ dataDir: join(closed, "copy"), log, durable: false, places }),
      ).rejects.toThrow(/is held by another/);
      await second.stop();
    },
  );

  it.runIf(isRoot)("says what to open when its data were moved to where its user may not pass", async () => {
    await copySeed();
    await chmod(parent, 0o700);
    await expect(start(dataDir)).rejects.toThrow(/may not pass into .* \(chmod o\+x\)/);
  });
});
