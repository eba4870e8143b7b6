import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { signBody, SIGNATURE_HEADER, TIMESTAMP_HEADER } from "../src/sendgrid/signature.ts";
import { simulatorKey } from "../src/simulator/key.ts";
import {
  makeDataDir,
  removeDataDir,
  spawnService,
  startServiceProcess,
  type ServiceProcess,
} from "./service-process.ts";

/** The whole service as a process of its own, with its embedded PostgreSQL: started, used, killed and stopped for real. */

let dataDir: string;
let service: ServiceProcess;

beforeAll(async () => {
  dataDir = await makeDataDir();
  service = await startServiceProcess(dataDir);
});
afterAll(async () => {
  await service.end("SIGTERM");
  await removeDataDir(dataDir);
});

async function post(items: readonly object[]): Promise<Response> {
  const body = Buffer.from(`[${items.map((item) => JSON.stringify(item)).join(",\r\n")}]\r\n`);
  const { privateKey } = await simulatorKey(dataDir);
  const timestamp = String(Math.floor(Date.now() / 1000));
  return fetch(`${service.url}/webhooks/sendgrid/simulation`, {
    method: "POST",
    body,
    headers: {
      "content-type": "application/json;charset=utf-8",
      [SIGNATURE_HEADER]: signBody(privateKey, timestamp, body),
      [TIMESTAMP_HEADER]: timestamp,
    },
  });
}

function itemOf(message: string, event: string): object {
  const id = createHash("sha256").update(`${message} ${event}`).digest("base64url").slice(0, 22);
  return {
    email: "customer@example.com",
    timestamp: Math.floor(Date.now() / 1000),
    event,
    sg_event_id: id,
    sg_message_id: message,
  };
}

async function signIn(): Promise<string> {
  const token = new URL(service.adminLink ?? "").hash.slice(1);
  const response = await fetch(`${service.url}/api/session`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ token }),
  });
  expect(response.status).toBe(200);
  return response.headers.getSetCookie()[0]?.split(";")[0] ?? "";
}

/** What the tests look at of the several answers. */
interface Answer {
  message: { delivery: string };
  events: { type: string }[] & { lost: number };
  receipts: { pending: number };
  messages: { id: string }[];
}

async function ask(cookie: string, path: string): Promise<{ status: number; body: Answer }> {
  const response = await fetch(`${service.url}${path}`, { headers: { cookie } });
  return { status: response.status, body: (await response.json()) as Answer };
}

/** Asks until the answer satisfies; the test's own time-out ends a wait in vain. */
async function eventually<T>(question: () => Promise<T>, satisfies: (answer: T) => boolean): Promise<T> {
  for (;;) {
    const answer = await question();
    if (satisfies(answer)) return answer;
  }
}

describe("the service", () => {
  test("says at its start where the page and the webhook are, and what is off", () => {
    expect(service.output()).toMatch(/page +http:\/\/127\.0\.0\.1:\d+\/login#\S+/);
    expect(service.output()).toMatch(/webhook +http:\/\/127\.0\.0\.1:\d+\/webhooks\/sendgrid/);
    expect(service.output()).toMatch(/off .*SENDGRID_WEBHOOK_PUBLIC_KEY.*SENDGRID_API_KEY/);
  });

  test("takes a signed batch, and shows its timeline", async () => {
    const answer = await post([itemOf("m1.recvd-1.0", "processed"), itemOf("m1.recvd-1.0", "delivered")]);
    expect([answer.status, await answer.json()]).toMatchObject([
      200,
      { receipt: expect.stringMatching(/^\d+$/) as string },
    ]);
    const cookie = await signIn();
    const { body } = await eventually(
      () => ask(cookie, `/api/messages/${encodeURIComponent("m1.recvd-1.0")}`),
      ({ status }) => status === 200,
    );
    expect(body.message.delivery).toBe("delivered");
    expect(body.events.map(({ type }) => type)).toEqual(["processed", "delivered"]);
  });

  test("accepts nothing on its default source before a key is set", async () => {
    const response = await fetch(`${service.url}/webhooks/sendgrid`, { method: "POST", body: "[]" });
    expect([response.status, await response.json()]).toMatchObject([401, { error: { code: "no_key" } }]);
  });

  test("refuses a second one on the same data, which says what holds it and exits with 2", async () => {
    const second = spawnService(dataDir);
    expect(await second.ended).toBe(2);
    expect(second.output()).toMatch(new RegExp(`held by another Holdfast.*${service.child.pid}`));
  });

  test.each([
    ["HOLDFAST_PROT", "1", /HOLDFAST_PROT is not a setting/],
    ["PORT", "http", /PORT must be a whole number/],
    ["SENDGRID_WEBHOOK_PUBLIC_KEY", "nonsense", /SENDGRID_WEBHOOK_PUBLIC_KEY key 1/],
  ])("refuses to start with %s=%s, names it and exits with 2", async (name, value, message) => {
    const wrong = spawnService(dataDir, { [name]: value });
    expect(await wrong.ended).toBe(2);
    expect(wrong.output()).toMatch(message);
    expect(wrong.output()).not.toMatch(/\n +at /);
  });
});

describe("killed under load", () => {
  test("by kill -9, it has every event that it acknowledged when it is back, once (promises P1 and P2)", async () => {
    const acknowledged: string[] = [];
    let sent = 0;
    let killed = false;
    async function send(): Promise<void> {
      while (!killed) {
        const message = `killed-${(sent += 1)}.0`;
        const response = await post([itemOf(message, "processed"), itemOf(message, "delivered")]).catch(
          () => undefined,
        );
        if (response?.status === 200) acknowledged.push(message);
        if (acknowledged.length >= 200 && !killed) {
          killed = true;
          service.child.kill("SIGKILL");
        }
      }
    }
    await Promise.all(Array.from({ length: 8 }, send));
    service = await startServiceProcess(dataDir);
    const cookie = await signIn();
    await eventually(
      () => ask(cookie, "/api/balance?simulated=all"),
      ({ body }) => body.receipts.pending === 0,
    );
    for (const message of acknowledged) {
      const { body } = await ask(cookie, `/api/messages/${encodeURIComponent(message)}`);
      expect(body.events.map(({ type }) => type)).toEqual(["processed", "delivered"]);
    }
    const { body: balance } = await ask(cookie, "/api/balance?simulated=all");
    expect(balance.events.lost).toBe(0);
  });

  test("by SIGTERM, it answers what is under way, ends with 0, and leaves no file that says it runs", async () => {
    const answers: Promise<number>[] = [];
    for (let n = 0; n < 100; n += 1) {
      answers.push(
        post([itemOf(`term-${n}.0`, "delivered")]).then(
          ({ status }) => status,
          () => 0,
        ),
      );
    }
    // Once the first is answered, the others are under way.
    await Promise.race(answers);
    expect(await service.end("SIGTERM")).toBe(0);
    const acknowledged = (await Promise.all(answers)).filter((status) => status === 200).length;
    expect(existsSync(join(dataDir, "service.json"))).toBe(false);

    service = await startServiceProcess(dataDir);
    const cookie = await signIn();
    const found = await eventually(
      () => ask(cookie, "/api/messages?q=term-&simulated=all&limit=200"),
      ({ body }) => body.messages.length >= acknowledged,
    );
    expect(found.body.messages.length).toBeGreaterThan(0);
  });

  test("keeps its secrets readable by their owner only", async () => {
    const { mode } = await stat(join(dataDir, "service.json"));
    expect(mode % 0o100).toBe(0);
    expect(await readFile(join(dataDir, "simulator.key"), "utf8")).toContain("PRIVATE KEY");
  });
});
