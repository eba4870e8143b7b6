import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { once } from "node:events";
import { chmod, mkdir, mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createLog } from "../../src/log.ts";
import { startEmbeddedPostgres, type EmbeddedPostgres } from "../../src/postgres/embedded.ts";
import { createPool } from "../../src/postgres/pool.ts";
import { publicKeyText, signBody, SIGNATURE_HEADER, TIMESTAMP_HEADER } from "../../src/sendgrid/signature.ts";
import { spawnService, type SpawnedService } from "../service-process.ts";

/** A service as a process of its own, started before the PostgreSQL that it is to use. */

const keys = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
const foreign = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
const log = createLog("silent");
let folder: string;
let databaseUrl: string;

const startServer = (): Promise<EmbeddedPostgres> =>
  startEmbeddedPostgres({ dataDir: join(folder, "pg"), log, durable: false });

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "holdfast-away-"));
  // PostgreSQL's own user must pass through.
  await chmod(folder, 0o711);
  await mkdir(join(folder, "pg"), { mode: 0o711 });
  // Its address stays the same from start to start.
  const server = await startServer();
  ({ databaseUrl } = server);
  await server.stop();
});
afterAll(async () => rm(folder, { recursive: true, force: true }));

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (address === null || typeof address === "string") throw new Error("no free port");
  return address.port;
}

interface Started extends SpawnedService {
  url: string;
  /** Waits until it has said so, or has ended. */
  says(text: string): Promise<void>;
}

async function start(name: string, settings: Record<string, string> = {}): Promise<Started> {
  const port = await freePort();
  const spawned = spawnService(join(folder, name), {
    DATABASE_URL: databaseUrl,
    PORT: String(port),
    SENDGRID_WEBHOOK_PUBLIC_KEY: publicKeyText(keys.publicKey),
    HOLDFAST_ALLOW_UNSAFE: "true",
    ...settings,
  });
  const { child, output, ended } = spawned;
  async function says(text: string): Promise<void> {
    while (!output().includes(text)) {
      const said = Promise.race([child.stdout, child.stderr].map((stream) => once(stream ?? child, "data"))).then(
        () => "said",
      );
      if ((await Promise.race([said, ended])) !== "said")
        throw new Error(`ended without saying "${text}":\n${output()}`);
    }
  }
  return { ...spawned, url: `http://127.0.0.1:${port}`, says };
}

async function post(url: string, id: string, key: KeyObject = keys.privateKey): Promise<Response> {
  const timestamp = String(Math.floor(Date.now() / 1000));
  const event = { email: "a@example.com", timestamp: Number(timestamp), event: "processed", sg_event_id: id };
  const body = Buffer.from(JSON.stringify([{ ...event, sg_message_id: `message-${id}` }]));
  return fetch(`${url}/webhooks/sendgrid`, {
    method: "POST",
    body,
    headers: { [SIGNATURE_HEADER]: signBody(key, timestamp, body), [TIMESTAMP_HEADER]: timestamp },
  });
}

const AWAY = "PostgreSQL does not answer";

describe("a start while PostgreSQL is away", () => {
  test("spools and refuses what the settings' keys verify, and files it when PostgreSQL has come", async () => {
    const service = await start("waits");
    let server: EmbeddedPostgres | undefined;
    try {
      await service.says(AWAY);
      const refused = await post(service.url, "spooled");
      expect(refused.status).toBe(503);
      expect(refused.headers.get("retry-after")).not.toBeNull();
      // It may be signed with a key that only the database knows: no reason for a 4xx, nor to keep it.
      expect((await post(service.url, "forged", foreign.privateKey)).status).toBe(503);
      expect((await fetch(`${service.url}/webhooks/sendgrid/of-the-page`, { method: "POST", body: "[]" })).status).toBe(
        503,
      );
      expect((await fetch(`${service.url}/healthz`)).status).toBe(200);
      const ready = await fetch(`${service.url}/readyz`);
      expect(ready.status).toBe(503);
      expect(await ready.json()).toMatchObject({ error: { code: "not_ready" }, spool: { posts: 1 } });
      expect((await fetch(`${service.url}/api/messages`)).status).toBe(503);
      // It asks every second, and says so once a minute.
      expect(service.output().split(AWAY)).toHaveLength(2);

      server = await startServer();
      await service.says("Holdfast is ready");
      expect((await fetch(`${service.url}/readyz`)).status).toBe(200);
      expect((await post(service.url, "later")).status).toBe(200);
      const pool = createPool({ databaseUrl, log });
      try {
        let filed: unknown[] = [];
        while (filed.length < 2) {
          const { rows } = await pool.query<{ id: string; signed: boolean }>(
            `SELECT e.event_id AS id, k.public_key = $1 AS signed FROM events AS e JOIN receipts AS r ON r.id = e.receipt
             JOIN source_keys AS k ON k.id = r.key ORDER BY 1`,
            [keys.publicKey.export({ format: "der", type: "spki" })],
          );
          filed = rows;
        }
        expect(filed).toEqual([
          { id: "later", signed: true },
          { id: "spooled", signed: true },
        ]);
      } finally {
        await pool.end();
      }
      service.child.kill("SIGTERM");
      expect(await service.ended).toBe(0);
    } finally {
      service.child.kill("SIGKILL");
      await service.ended;
      await server?.stop();
    }
  });

  test("ends with 0 at a SIGTERM, and gives its data free", async () => {
    const service = await start("ends");
    try {
      await service.says(AWAY);
      service.child.kill("SIGTERM");
      expect(await service.ended).toBe(0);
      const next = await start("ends");
      await next.says(AWAY);
      next.child.kill("SIGTERM");
      expect(await next.ended).toBe(0);
    } finally {
      service.child.kill("SIGKILL");
    }
  });

  test("with a wrong password, or for a database that does not exist, is refused at once", async () => {
    const server = await startServer();
    try {
      const password = new URL(databaseUrl);
      password.password = "wrong";
      const database = new URL(databaseUrl);
      database.pathname = "/nowhere";
      for (const [url, reason] of [
        [password, "password authentication failed"],
        [database, 'database "nowhere" does not exist'],
      ] as const) {
        const service = await start("refused", { DATABASE_URL: url.href });
        expect(await service.ended).toBe(2);
        expect(service.output()).toContain(reason);
      }
    } finally {
      await server.stop();
    }
  });
});
