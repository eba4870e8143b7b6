import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { FastifyInstance } from "fastify";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { testDatabase, type TestDatabase } from "../../test/database.ts";
import { createHttpServer } from "../http.ts";
import { createLog } from "../log.ts";
import { parsePublicKeys, publicKeyText, signBody, SIGNATURE_HEADER, TIMESTAMP_HEADER } from "../sendgrid/signature.ts";
import { createAppender } from "./append.ts";
import { createKeyRing, type KeyRing } from "./keys.ts";
import { registerIntake } from "./route.ts";
import { configuredSources, registerSources, simulationSource } from "./sources.ts";
import { openSpool } from "./spool.ts";

const log = createLog("silent");
const newKeys = (): { privateKey: KeyObject; publicKey: KeyObject } =>
  generateKeyPairSync("ec", { namedCurve: "P-256" });
const environment = newKeys();
const simulator = newKeys();

let db: TestDatabase;
let spoolFolder: string;
/** Two intake processes on one database. */
let first: Intake;
let second: Intake;

interface Intake {
  app: FastifyInstance;
  ring: KeyRing;
}

async function startIntake(): Promise<Intake> {
  const settings = {
    SENDGRID_WEBHOOK_PUBLIC_KEY: publicKeyText(environment.publicKey),
    HOLDFAST_SOURCES: undefined,
    HOLDFAST_ALLOW_UNSIGNED: false,
  };
  const sources = [...configuredSources(settings), simulationSource(publicKeyText(simulator.publicKey))];
  const ring = createKeyRing({ pool: db.pool, log, configured: await registerSources(db.pool, sources) });
  await ring.tick();
  const app = createHttpServer({ log });
  await registerIntake(app, {
    appender: createAppender({ pool: db.pool, log }),
    spool: await openSpool(spoolFolder, 1_000_000),
    sources: ring.sources,
    log,
    onVerified: (key) => ring.noteUse(key),
    onRefused: () => undefined,
    isDiskLow: () => false,
  });
  return { app, ring };
}

beforeAll(async () => {
  db = await testDatabase();
  spoolFolder = await mkdtemp(join(tmpdir(), "holdfast-spool-"));
  first = await startIntake();
  second = await startIntake();
});
afterAll(async () => {
  await first.app.close();
  await second.app.close();
  await db.drop();
  await rm(spoolFolder, { recursive: true, force: true });
});

let posts = 0;

async function post({ app }: Intake, key: KeyObject, source = "default"): Promise<number> {
  posts += 1;
  const body = Buffer.from(`[{"event":"open","number":${posts}}]`);
  const response = await app.inject({
    method: "POST",
    url: `/webhooks/sendgrid/${source}`,
    payload: body,
    headers: { [SIGNATURE_HEADER]: signBody(key, "1764511327", body), [TIMESTAMP_HEADER]: "1764511327" },
  });
  return response.statusCode;
}

interface Order {
  source?: string;
  publicKey?: KeyObject;
  othersUntil?: Date;
  key?: number;
  validUntil?: Date | null;
}

async function order({ source, publicKey, othersUntil, key, validUntil }: Order): Promise<void> {
  const der = publicKey?.export({ format: "der", type: "spki" });
  await db.pool.query(
    "INSERT INTO source_key_orders (source, public_key, others_until, key, valid_until) VALUES ($1, $2, $3, $4, $5)",
    [source ?? null, der ?? null, othersUntil ?? null, key ?? null, validUntil ?? null],
  );
}

async function learn(): Promise<void> {
  await first.ring.tick();
  await second.ring.tick();
}

async function keyNumber(key: KeyObject): Promise<number> {
  const der = parsePublicKeys(publicKeyText(key))[0]?.der;
  const { rows } = await db.pool.query<{ id: number }>("SELECT id FROM source_keys WHERE public_key = $1", [der]);
  return rows[0]?.id ?? 0;
}

const anHour = (): Date => new Date(Date.now() + 3_600_000);

describe("keys of the page", () => {
  test("a key that is added verifies in every process, beside the settings' own", async () => {
    const added = newKeys();
    expect(await post(first, added.privateKey)).toBe(401);
    await order({ source: "default", publicKey: added.publicKey });
    await learn();
    for (const intake of [first, second]) {
      expect(await post(intake, added.privateKey)).toBe(200);
      expect(await post(intake, environment.privateKey)).toBe(200);
    }
    expect((await db.pool.query("SELECT FROM source_key_orders")).rowCount).toBe(0);
  });

  test("a key whose end has come verifies nothing, and stays for the signatures it made", async () => {
    const ending = newKeys();
    await order({ source: "default", publicKey: ending.publicKey });
    await learn();
    const id = await keyNumber(ending.publicKey);
    await order({ key: id, validUntil: anHour() });
    await learn();
    expect(await post(second, ending.privateKey)).toBe(200);
    await order({ key: id, validUntil: new Date() });
    await learn();
    expect(await post(first, ending.privateKey)).toBe(401);
    expect(await post(second, ending.privateKey)).toBe(401);
    expect(await keyNumber(ending.publicKey)).toBe(id);
    // It can be added once more, under its old number.
    await order({ source: "default", publicKey: ending.publicKey });
    await learn();
    expect(await post(first, ending.privateKey)).toBe(200);
    expect(await keyNumber(ending.publicKey)).toBe(id);
  });

  test("an end is kept by the process's own clock, even when the database cannot be asked", async () => {
    const ending = newKeys();
    await order({ source: "default", publicKey: ending.publicKey });
    await learn();
    const id = await keyNumber(ending.publicKey);
    const soon = new Date(Date.now() + 60);
    await order({ key: id, validUntil: soon });
    await learn();
    while (Date.now() <= soon.getTime()) await db.pool.query("SELECT pg_sleep(0.01)");
    // No tick in between: what the process learnt before is enough.
    expect(await post(first, ending.privateKey)).toBe(401);
  });

  test("a new source has a path of its own as soon as it has a key", async () => {
    const own = newKeys();
    expect(await post(first, own.privateKey, "marketing")).toBe(404);
    await order({ source: "marketing", publicKey: own.publicKey });
    await learn();
    expect(await post(first, own.privateKey, "marketing")).toBe(200);
    expect(await post(second, environment.privateKey, "marketing")).toBe(401);
    expect(await post(first, own.privateKey)).toBe(401);
  });

  test("no order changes a key of the settings or of the simulator", async () => {
    await order({ key: await keyNumber(environment.publicKey), validUntil: new Date() });
    await order({ key: await keyNumber(simulator.publicKey), validUntil: new Date() });
    await order({ source: "simulation", publicKey: newKeys().publicKey, othersUntil: new Date(Date.now() + 1) });
    await order({ source: "default", publicKey: environment.publicKey, othersUntil: new Date(Date.now() + 1) });
    await learn();
    const { rows } = await db.pool.query("SELECT origin, valid_until FROM source_keys WHERE id = ANY ($1)", [
      [await keyNumber(environment.publicKey), await keyNumber(simulator.publicKey)],
    ]);
    expect(rows).toEqual([
      { origin: "environment", valid_until: null },
      { origin: "environment", valid_until: null },
    ]);
    expect(await post(first, environment.privateKey)).toBe(200);
  });

  test("a restart without the key in its settings leaves the page's keys alone", async () => {
    const kept = newKeys();
    await order({ source: "default", publicKey: kept.publicKey });
    await learn();
    const restarted = await startIntake();
    expect(await post(restarted, kept.privateKey)).toBe(200);
    await restarted.app.close();
  });

  test("when a key was last used is written down", async () => {
    const used = newKeys();
    await order({ source: "default", publicKey: used.publicKey });
    await learn();
    const intake = await startIntake();
    await post(intake, used.privateKey);
    await intake.ring.stop();
    const { rows } = await db.pool.query<{ used_at: Date | null }>("SELECT used_at FROM source_keys WHERE id = $1", [
      await keyNumber(used.publicKey),
    ]);
    expect(rows[0]?.used_at?.getTime()).toBeGreaterThan(Date.now() - 60_000);
    await intake.app.close();
  });
});

describe("a rotation with overlap under load", () => {
  test("refuses no POST: not of the old key until its end, not of the new one from its beginning", async () => {
    const [old, next] = [newKeys(), newKeys()];
    await order({ source: "rotated", publicKey: old.publicKey });
    await learn();

    const state = { signer: old, isDone: false };
    const answers: number[] = [];
    const load = async (intake: Intake): Promise<void> => {
      while (!state.isDone) answers.push(await post(intake, state.signer.privateKey, "rotated"));
    };
    const loads = [load(first), load(first), load(second), load(second)];
    const more = async (count: number): Promise<void> => {
      const target = answers.length + count;
      while (answers.length < target) await learn();
    };
    await more(40);
    await order({ source: "rotated", publicKey: next.publicKey, othersUntil: anHour() });
    await more(40);
    // SendGrid's side changes while POSTs of the old key are still under way.
    state.signer = next;
    await more(40);
    state.isDone = true;
    await Promise.all(loads);

    expect(answers.length).toBeGreaterThanOrEqual(120);
    expect(answers.filter((status) => status !== 200)).toEqual([]);
    const { rows } = await db.pool.query(
      `SELECT k.valid_until IS NULL AS open, count(*) > 0 AS used FROM receipts r JOIN source_keys k ON k.id = r.key
       JOIN sources s ON s.id = r.source WHERE s.name = 'rotated' GROUP BY k.id ORDER BY k.id`,
    );
    expect(rows).toEqual([
      { open: false, used: true },
      { open: true, used: true },
    ]);
    // When the overlap is over, only the new one is left.
    await order({ key: await keyNumber(old.publicKey), validUntil: new Date() });
    await learn();
    expect(await post(first, old.privateKey, "rotated")).toBe(401);
    expect(await post(second, next.privateKey, "rotated")).toBe(200);
  });
});
