import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { request as httpRequest } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { FastifyInstance } from "fastify";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { testDatabase, type TestDatabase } from "../../test/database.ts";
import { createHttpServer } from "../http.ts";
import { APPEND_QUEUE_BYTES_MAX, BODY_BYTES_MAX, TIMESTAMP_HEADER_CHARS_MAX } from "../limits.ts";
import { createLog } from "../log.ts";
import { unpackBody, type PackedBody } from "../receipt-body.ts";
import { publicKeyText, signBody, SIGNATURE_HEADER, TIMESTAMP_HEADER } from "../sendgrid/signature.ts";
import { createAppender } from "./append.ts";
import { registerIntake } from "./route.ts";
import { configuredSources, registerSources, UNNUMBERED_KEY, unnumberedSources } from "./sources.ts";
import { openSpool, type Spool } from "./spool.ts";

const log = createLog("silent");
const keys = generateKeyPairSync("ec", { namedCurve: "P-256" });
const newerKeys = generateKeyPairSync("ec", { namedCurve: "P-256" });
const foreignKeys = generateKeyPairSync("ec", { namedCurve: "P-256" });
const body = Buffer.from('[{"event":"open","name":"Zoë 日本 😀"},\r\n{"event":"click"}]\r\n');
const TIMESTAMP = "1764511327";

let db: TestDatabase;
let app: FastifyInstance;
let spoolFolder: string;
let spool: Spool;
let refusals: [source: string, code: string][] = [];
let isDiskLow = false;

beforeAll(async () => {
  db = await testDatabase();
  spoolFolder = await mkdtemp(join(tmpdir(), "holdfast-spool-"));
  spool = await openSpool(spoolFolder, 1_000_000);
  app = await intake({
    SENDGRID_WEBHOOK_PUBLIC_KEY: `${publicKeyText(keys.publicKey)}, ${newerKeys.publicKey.export({ format: "pem", type: "spki" }).toString()}`,
    HOLDFAST_SOURCES: new Map([["marketing", publicKeyText(newerKeys.publicKey)]]),
    HOLDFAST_ALLOW_UNSIGNED: false,
  });
  await app.listen({ host: "127.0.0.1", port: 0 });
});
afterAll(async () => {
  await app.close();
  await db.drop();
  await rm(spoolFolder, { recursive: true, force: true });
});

async function intake(settings: Parameters<typeof configuredSources>[0]): Promise<FastifyInstance> {
  const server = createHttpServer({ log });
  const sources = await registerSources(db.pool, configuredSources(settings));
  await registerIntake(server, {
    appender: createAppender({ pool: db.pool, log }),
    spool,
    sources,
    log,
    onRefused: (source, code) => refusals.push([source, code]),
    isDiskLow: () => isDiskLow,
  });
  return server;
}

interface Post {
  url?: string;
  payload?: Buffer;
  key?: KeyObject;
  headers?: Record<string, string>;
  server?: FastifyInstance;
}

async function post(options: Post = {}): Promise<{ status: number; answer: unknown }> {
  const { url = "/webhooks/sendgrid", payload = body, key = keys.privateKey, headers = {}, server = app } = options;
  const response = await server.inject({
    method: "POST",
    url,
    payload,
    headers: {
      "user-agent": "SendGrid Event API",
      "content-type": "application/json;charset=utf-8",
      [SIGNATURE_HEADER]: signBody(key, TIMESTAMP, payload),
      [TIMESTAMP_HEADER]: TIMESTAMP,
      ...headers,
    },
  });
  return { status: response.statusCode, answer: response.json() };
}

async function receipts(): Promise<number> {
  const { rows } = await db.pool.query<{ count: number }>("SELECT count(*) AS count FROM receipts");
  return rows[0]?.count ?? -1;
}

async function expectRefused(options: Post, status: number, code: string): Promise<void> {
  const before = await receipts();
  const { status: given, answer } = await post(options);
  expect([given, answer]).toMatchObject([status, { error: { code } }]);
  expect(JSON.stringify(answer)).not.toMatch(/\bat .*\.ts|node_modules/);
  expect(await receipts()).toBe(before);
}

describe("a signed POST", () => {
  test("is answered 200 with its receipt, kept byte for byte with the key that verified it", async () => {
    const { status, answer } = await post();
    expect(status).toBe(200);
    const { receipt } = answer as { receipt: string };
    const { rows } = await db.pool.query<PackedBody & Record<string, unknown>>(
      `SELECT r.codec, r.bytes, r.body, r.signature IS NOT NULL AS signed, r.signed_at, s.name, k.public_key
       FROM receipts AS r JOIN sources AS s ON s.id = r.source JOIN source_keys AS k ON k.id = r.key WHERE r.id = $1`,
      [receipt],
    );
    const [row] = rows;
    expect(row).toMatchObject({
      signed: true,
      signed_at: TIMESTAMP,
      name: "default",
      public_key: keys.publicKey.export({ format: "der", type: "spki" }),
    });
    expect(row === undefined ? undefined : unpackBody(row)).toEqual(body);
  });

  test.each(["text/plain", "application/x-www-form-urlencoded", "application/json", "multipart/form-data", "nonsense"])(
    "is kept whatever its content type says: %s (case 16)",
    async (type) => {
      expect((await post({ headers: { "content-type": type } })).status).toBe(200);
    },
  );

  test.each(["", "not json", "1", "{}", "null", '[[{"Key":"event","Value":"open"}]]', "\u0000\uFFFD"])(
    "is kept even when its body is %j (case 9)",
    async (text) => {
      expect((await post({ payload: Buffer.from(text) })).status).toBe(200);
    },
  );

  test("is taken with any of the source's keys, and at the source's own path (cases 11 and 12)", async () => {
    expect((await post({ key: newerKeys.privateKey })).status).toBe(200);
    expect((await post({ url: "/webhooks/sendgrid/marketing", key: newerKeys.privateKey })).status).toBe(200);
    await expectRefused({ url: "/webhooks/sendgrid/marketing", key: keys.privateKey }, 401, "signature_invalid");
  });

  test("is taken with a slash too many, since SendGrid follows no redirect (case 80)", async () => {
    expect((await post({ url: "/webhooks/sendgrid/" })).status).toBe(200);
  });

  test("hours old is taken: SendGrid retries for a day, and a repeated event is only a duplicate (case 13)", async () => {
    const signed = signBody(keys.privateKey, "1500000000", body);
    expect((await post({ headers: { [TIMESTAMP_HEADER]: "1500000000", [SIGNATURE_HEADER]: signed } })).status).toBe(
      200,
    );
  });
});

describe("a POST is refused with 401 and nothing stored when its signature", () => {
  test("is missing or empty (case 7)", async () => {
    await expectRefused({ headers: { [SIGNATURE_HEADER]: "" } }, 401, "signature_missing");
    await expectRefused({ headers: { [TIMESTAMP_HEADER]: "" } }, 401, "signature_missing");
  });

  test.each([
    ["is a truncated DER", "MEU="],
    ["is not base64", "%%%%%%%%%%%%"],
    ["is r = s = 0", Buffer.from("3006020100020100", "hex").toString("base64")],
    ["is r = s = 1", Buffer.from("3006020101020101", "hex").toString("base64")],
    ["is an HMAC (case 10)", Buffer.alloc(32, 7).toString("base64")],
    ["is far too long", "A".repeat(10_000)],
  ])("%s", async (_what, signature) => {
    await expectRefused({ headers: { [SIGNATURE_HEADER]: signature } }, 401, "signature_invalid");
  });

  test("is of a foreign key", async () => expectRefused({ key: foreignKeys.privateKey }, 401, "signature_invalid"));

  test("is over a timestamp of the longest kind, and not of a longer one", async () => {
    const signedAt = (chars: number): Post => {
      const timestamp = "1".repeat(chars);
      const signature = signBody(keys.privateKey, timestamp, body);
      return { headers: { [TIMESTAMP_HEADER]: timestamp, [SIGNATURE_HEADER]: signature } };
    };
    expect((await post(signedAt(TIMESTAMP_HEADER_CHARS_MAX))).status).toBe(200);
    await expectRefused(signedAt(TIMESTAMP_HEADER_CHARS_MAX + 1), 401, "signature_invalid");
  });

  test("is over other bytes: a lost CRLF, a changed character, another timestamp (cases 1 to 3)", async () => {
    const signature = signBody(keys.privateKey, TIMESTAMP, body);
    const headers = { [SIGNATURE_HEADER]: signature };
    await expectRefused({ payload: body.subarray(0, -2), headers }, 401, "signature_invalid");
    await expectRefused(
      { payload: Buffer.from(body.toString().replace("open", "opem")), headers },
      401,
      "signature_invalid",
    );
    await expectRefused({ headers: { ...headers, [TIMESTAMP_HEADER]: "1764511328" } }, 401, "signature_invalid");
  });
});

describe("a POST", () => {
  test.each([
    "/webhooks/sendgrid/unknown",
    "/webhooks/sendgrid/__proto__",
    "/webhooks/sendgrid/a%00b",
    "/webhooks/sendgrid/%F0%9F%98%80",
  ])("to the unknown source %s gets 404", async (url) => expectRefused({ url }, 404, "source_unknown"));

  test("over 5 MiB gets 413 before it is read whole", async () => {
    const { port } = app.server.address() as AddressInfo;
    const answer = await new Promise<{ status: number | undefined; sent: number }>((resolve, reject) => {
      const request = httpRequest({
        port,
        host: "127.0.0.1",
        method: "POST",
        path: "/webhooks/sendgrid",
        headers: {
          "content-length": String(BODY_BYTES_MAX + 1),
          [SIGNATURE_HEADER]: "MEUxxxxxxxxx",
          [TIMESTAMP_HEADER]: TIMESTAMP,
        },
      });
      const sent = 1000;
      request.on("response", (response) => {
        resolve({ status: response.statusCode, sent });
        request.destroy();
      });
      request.on("error", reject);
      request.write(Buffer.alloc(sent));
    });
    expect(answer.status).toBe(413);
  });

  test("of exactly 5 MiB is taken", async () => {
    expect((await post({ payload: Buffer.alloc(BODY_BYTES_MAX, "x") })).status).toBe(200);
  });

  test("is let go of once it is kept: more than the queue holds, one after the other, are all taken", async () => {
    const count = Math.ceil(APPEND_QUEUE_BYTES_MAX / BODY_BYTES_MAX) + 1;
    const bodies = Array.from({ length: count }, (_, index) => Buffer.alloc(BODY_BYTES_MAX, index));
    for (const payload of bodies) expect((await post({ payload })).status).toBe(200);
  });

  test("to a source without a key is refused, and says how to turn it on", async () => {
    const server = await intake({
      SENDGRID_WEBHOOK_PUBLIC_KEY: undefined,
      HOLDFAST_SOURCES: undefined,
      HOLDFAST_ALLOW_UNSIGNED: false,
    });
    await expectRefused({ server }, 401, "no_key");
    await server.close();
  });

  test("without a signature is taken only where that was allowed, and a wrong signature not even there", async () => {
    const settings = { HOLDFAST_SOURCES: undefined, HOLDFAST_ALLOW_UNSIGNED: true };
    const withKey = await intake({ ...settings, SENDGRID_WEBHOOK_PUBLIC_KEY: publicKeyText(keys.publicKey) });
    const unsigned = { [SIGNATURE_HEADER]: "", [TIMESTAMP_HEADER]: "" };
    expect((await post({ server: withKey, headers: unsigned })).status).toBe(200);
    await expectRefused({ server: withKey, key: foreignKeys.privateKey }, 401, "signature_invalid");
    await withKey.close();
  });

  test.each([
    ["overloaded", 0],
    ["unavailable", 1],
  ] as const)(
    "that cannot be stored now gets 503 %s, and %d file in the spool (promise P1)",
    async (outcome, files) => {
      const server = createHttpServer({ log });
      const settings = { SENDGRID_WEBHOOK_PUBLIC_KEY: publicKeyText(keys.publicKey), HOLDFAST_SOURCES: undefined };
      const configured = configuredSources({ ...settings, HOLDFAST_ALLOW_UNSIGNED: false });
      const sources = await registerSources(db.pool, configured);
      const appender = { append: async () => ({ outcome }), drained: async () => undefined };
      await registerIntake(server, {
        appender,
        spool,
        sources,
        log,
        onRefused: () => undefined,
        isDiskLow: () => false,
      });
      const response = await server.inject({
        method: "POST",
        url: "/webhooks/sendgrid",
        payload: body,
        headers: { [SIGNATURE_HEADER]: signBody(keys.privateKey, TIMESTAMP, body), [TIMESTAMP_HEADER]: TIMESTAMP },
      });
      expect([response.statusCode, response.json<{ error: { code: string } }>().error.code]).toEqual([503, outcome]);
      expect(response.headers["retry-after"]).toBe("5");
      expect(spool.state().posts).toBe(files);
      await server.close();
    },
  );

  test("while the disk is low gets 503, before PostgreSQL would have to stop", async () => {
    isDiskLow = true;
    await expectRefused({}, 503, "disk_low");
    isDiskLow = false;
    expect((await post()).status).toBe(200);
  });

  test("that is refused is reported with its code, under the name of a configured source only", async () => {
    refusals = [];
    await post({ key: foreignKeys.privateKey });
    await post({ url: "/webhooks/sendgrid/whatever" });
    await post();
    expect(refusals).toEqual([
      ["default", "signature_invalid"],
      ["", "source_unknown"],
    ]);
  });

  test("that cannot be judged before the database is there hears 503 and nothing else, and is not spooled", async () => {
    const server = createHttpServer({ log });
    const before = spool.state().posts;
    await registerIntake(server, {
      appender: { append: async () => ({ outcome: "unavailable" }), drained: async () => undefined },
      spool,
      sources: unnumberedSources(
        configuredSources({
          SENDGRID_WEBHOOK_PUBLIC_KEY: publicKeyText(keys.publicKey),
          HOLDFAST_SOURCES: undefined,
          HOLDFAST_ALLOW_UNSIGNED: false,
        }),
      ),
      knowsAllKeys: false,
      log,
      onRefused: () => undefined,
      isDiskLow: () => false,
    });
    await expectRefused({ server, key: foreignKeys.privateKey }, 503, "unavailable");
    await expectRefused({ server, url: "/webhooks/sendgrid/of-the-page" }, 503, "unavailable");
    await expectRefused({ server, headers: { [SIGNATURE_HEADER]: "" } }, 503, "unavailable");
    expect(spool.state().posts).toBe(before);
    const payload = Buffer.from('[{"event":"open","before":"numbers"}]');
    await expectRefused({ server, payload }, 503, "unavailable");
    const kept = await Promise.all((await spool.names()).map((name) => spool.read(name)));
    expect(kept.find((one) => one.body.equals(payload))).toMatchObject({ key: UNNUMBERED_KEY, sourceName: "default" });
    await server.close();
  });

  test("that nobody signed never reaches the spool", async () => {
    const before = spool.state().posts;
    await post({ key: foreignKeys.privateKey, payload: Buffer.from("forged") });
    expect(spool.state().posts).toBe(before);
  });
});

describe("a wrong key in the settings", () => {
  test.each([
    ["SENDGRID_WEBHOOK_PUBLIC_KEY key 1 is not base64", { SENDGRID_WEBHOOK_PUBLIC_KEY: "not a key!" }],
    ["SENDGRID_WEBHOOK_PUBLIC_KEY holds no key", { SENDGRID_WEBHOOK_PUBLIC_KEY: " , " }],
    [
      "SENDGRID_WEBHOOK_PUBLIC_KEY key 2 is not a public key",
      { SENDGRID_WEBHOOK_PUBLIC_KEY: `${publicKeyText(keys.publicKey)},AAAA` },
    ],
    ["HOLDFAST_SOURCES, source marketing: key 1", { HOLDFAST_SOURCES: new Map([["marketing", "%"]]) }],
  ])("stops the start with %j", (message, settings) => {
    const all = {
      SENDGRID_WEBHOOK_PUBLIC_KEY: undefined,
      HOLDFAST_SOURCES: undefined,
      HOLDFAST_ALLOW_UNSIGNED: false,
      ...settings,
    };
    expect(() => configuredSources(all)).toThrow(message);
  });

  test("of another curve or kind stops the start too", () => {
    for (const wrong of [
      generateKeyPairSync("ec", { namedCurve: "P-384" }),
      generateKeyPairSync("ed25519"),
      generateKeyPairSync("rsa", { modulusLength: 1024 }),
    ]) {
      const settings = {
        SENDGRID_WEBHOOK_PUBLIC_KEY: publicKeyText(wrong.publicKey),
        HOLDFAST_SOURCES: undefined,
        HOLDFAST_ALLOW_UNSIGNED: false,
      };
      expect(() => configuredSources(settings)).toThrow("P-256");
    }
  });

  test("is forgiven its armour, spaces and line breaks (case 8)", () => {
    const bare = publicKeyText(keys.publicKey);
    const pem = keys.publicKey.export({ format: "pem", type: "spki" }).toString();
    for (const form of [
      bare,
      ` ${bare}\n`,
      bare.replace(/(.{64})/, "$1\r\n"),
      pem,
      pem.replaceAll("\n", "\\n"),
      `${pem}${pem}`,
      `${bare},${pem}`,
    ]) {
      const settings = {
        SENDGRID_WEBHOOK_PUBLIC_KEY: form,
        HOLDFAST_SOURCES: undefined,
        HOLDFAST_ALLOW_UNSIGNED: false,
      };
      for (const { der } of configuredSources(settings)[0]?.keys ?? []) expect(der.toString("base64")).toBe(bare);
      expect(configuredSources(settings)[0]?.keys.length).toBeGreaterThan(0);
    }
  });
});
