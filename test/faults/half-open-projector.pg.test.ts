import { chmod, mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createProjector } from "../../src/ledger/projector.ts";
import { createLog } from "../../src/log.ts";
import { startEmbeddedPostgres, type EmbeddedPostgres } from "../../src/postgres/embedded.ts";
import { migrate } from "../../src/postgres/migrate.ts";
import { createPool, type Pool } from "../../src/postgres/pool.ts";
import { createSockets } from "../../src/postgres/sockets.ts";
import { proxyFolder, startPgProxy, throughSocket } from "../../torture/proxy.ts";
import { receiptWriter } from "../receipts.ts";

const log = createLog("silent");
let folder: string;
let server: EmbeddedPostgres;
let pool: Pool;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "holdfast-half-"));
  // PostgreSQL's own user must pass through.
  await chmod(folder, 0o711);
  await mkdir(join(folder, "pg"), { mode: 0o711 });
  server = await startEmbeddedPostgres({ dataDir: join(folder, "pg"), log, durable: false });
  pool = createPool({ databaseUrl: server.databaseUrl, log });
  await migrate(pool);
});
afterAll(async () => {
  await pool.end();
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});

async function rows<T extends object>(sql: string, values: unknown[] = []): Promise<T[]> {
  return (await pool.query<T>(sql, values)).rows;
}

async function until(sql: string, values: unknown[] = []): Promise<void> {
  while ((await rows(sql, values)).length === 0) await pool.query("SELECT pg_sleep(0.05)");
}

function item(message: string, id: string): object {
  return { email: "a@example.com", timestamp: 1764511327, event: "open", sg_event_id: id, sg_message_id: message };
}

test("A projector that vanishes in mid-transaction holds its receipts for seconds only, and another files them once.", async () => {
  const socket = join(new URL(server.databaseUrl).searchParams.get("host") ?? "", ".s.PGSQL.5432");
  const proxy = await startPgProxy(proxyFolder(folder), socket);
  const sockets = createSockets();
  const vanishing = createPool({
    databaseUrl: throughSocket(server.databaseUrl, proxy.folder),
    log,
    sockets,
    name: "vanishing",
  });
  const write = await receiptWriter(pool);
  const survivor = createProjector({ pool, log, settleSeconds: 90 });
  await write([item("m", "m1")]);
  while (await survivor.tick());

  // Somebody holds the message, so that the projector stands in the middle of its transaction when the network breaks.
  await write([item("m", "m2"), item("n", "n1")]);
  const holder = await pool.connect();
  await holder.query("BEGIN");
  await holder.query("SELECT FROM messages WHERE message_id = 'm' FOR UPDATE");
  const ticking = createProjector({ pool: vanishing, log, settleSeconds: 90 })
    .tick()
    .then(() => "filed", String);
  const ofVanishing = "SELECT pid FROM pg_stat_activity WHERE application_name = 'vanishing'";
  await until(`${ofVanishing} AND cardinality(pg_blocking_pids(pid)) > 0`);
  proxy.mode("half-open");
  await holder.query("COMMIT");
  holder.release();
  await until(`${ofVanishing} AND state = 'idle in transaction'`);

  // It still holds them.
  expect(await survivor.tick()).toBe(false);
  expect(await rows("SELECT event_id FROM events")).toEqual([{ event_id: "m1" }]);

  while ((await rows("SELECT FROM inbox")).length > 0) {
    await pool.query("SELECT pg_sleep(0.1)");
    await survivor.tick();
  }
  expect(await rows(ofVanishing)).toEqual([]);
  expect(await rows("SELECT event_id FROM events ORDER BY event_id")).toEqual(
    ["m1", "m2", "n1"].map((id) => ({ event_id: id })),
  );
  expect(await rows("SELECT sum(accepted) AS accepted, sum(stored) AS stored FROM tallies")).toEqual([
    { accepted: 3, stored: 3 },
  ]);
  expect(await rows("SELECT opens FROM messages ORDER BY message_id")).toEqual([{ opens: 1 }, { opens: 1 }]);

  sockets.cut();
  expect(await ticking).toContain("cut");
  await vanishing.end();
  await proxy.stop();
});
