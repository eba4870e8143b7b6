import { createHmac } from "node:crypto";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { testDatabase, type TestDatabase } from "../../test/database.ts";
import { createLog } from "../log.ts";
import { createAlertWatch } from "./alerts.ts";
import { createAlertDelivery, type AlertDelivery } from "./delivery.ts";

interface Received {
  path: string;
  headers: IncomingMessage["headers"];
  body: string;
}

const SECRET = `whsec_${Buffer.alloc(24, 7).toString("base64")}`;
const log = createLog("silent");

let db: TestDatabase;
let server: Server;
let delivery: AlertDelivery;
const received: Received[] = [];
let onReceived = (): void => undefined;
let refusals = 1;
let isSlackDown = false;

beforeAll(async () => {
  db = await testDatabase();
  server = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (chunk: string) => (body += chunk));
    request.on("end", () => {
      // The first delivery in the signed form is refused: it must come again.
      const isRefused =
        (request.url === "/standard" && (refusals -= 1) >= 0) || (request.url === "/slack" && isSlackDown);
      received.push({ path: request.url ?? "", headers: request.headers, body });
      response.writeHead(isRefused ? 500 : 204).end();
      onReceived();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  delivery = createAlertDelivery({
    pool: db.pool,
    log,
    secret: SECRET,
    retrySeconds: 1,
    receivers: [
      { form: "slack", url: `http://127.0.0.1:${port}/slack` },
      { form: "standard", url: `http://127.0.0.1:${port}/standard` },
    ],
  });
  await delivery.start();
});
afterAll(async () => {
  await delivery.stop();
  await new Promise((resolve) => server.close(resolve));
  await db.drop();
});

async function arrival(): Promise<void> {
  await new Promise<void>((resolve) => {
    onReceived = resolve;
  });
}

async function deliveries(count: number): Promise<Received[]> {
  while (received.length < count) await arrival();
  return received;
}

describe("an alert's delivery", () => {
  test("goes to every receiver in its own form, signed, and again to the one that refused it", async () => {
    await db.pool.query("INSERT INTO inbox (receipt, received_at, bytes, attempts) VALUES (1, now(), 1, 1)");
    await createAlertWatch({ pool: db.pool, log, delivery }).tick();
    const all = await deliveries(3);
    const slack = all.filter(({ path }) => path === "/slack");
    const standard = all.filter(({ path }) => path === "/standard");
    expect(slack.map(({ body }) => JSON.parse(body) as unknown)).toEqual([
      { text: expect.stringContaining("1 receipts cannot be projected") as string },
    ]);
    expect(standard).toHaveLength(2);
    expect(standard[1]?.headers["webhook-id"]).toBe(standard[0]?.headers["webhook-id"]);
    for (const { headers, body } of standard) {
      const signed = `${String(headers["webhook-id"])}.${String(headers["webhook-timestamp"])}.${body}`;
      const key = Buffer.from(SECRET.slice("whsec_".length), "base64");
      expect(headers["webhook-signature"]).toBe(`v1,${createHmac("sha256", key).update(signed).digest("base64")}`);
      expect(JSON.parse(body)).toMatchObject({ type: "alert.opened", data: { kind: "receipt_failing", count: 1 } });
    }
  });

  test("is ordered in the alert's own transaction: without the commit nobody hears of it", async () => {
    const tx = await db.pool.connect();
    const before = await db.pool.query("SELECT FROM pgboss.job");
    await tx.query("BEGIN");
    const news = {
      alert: 1,
      state: "opened",
      kind: "disk_low",
      source: "",
      count: 1,
      since: "",
      sentence: "",
    } as const;
    await delivery.order(tx, [news]);
    await tx.query("ROLLBACK");
    tx.release();
    expect((await db.pool.query("SELECT FROM pgboss.job")).rowCount).toBe(before.rowCount);
  });

  test("that fails again and again opens an alert of its own, told to others only and never with the address", async () => {
    isSlackDown = true;
    const watch = createAlertWatch({ pool: db.pool, log, delivery });
    const states = async (): Promise<unknown[]> =>
      (
        await db.pool.query<object>(
          "SELECT source, count, resolved_at IS NULL AS open FROM alerts WHERE kind = 'receiver_failing' ORDER BY id",
        )
      ).rows;
    const heard = (): unknown[] =>
      received
        .filter(({ body }) => body.includes("receiver"))
        .map(({ path, body }) => ({ path, body: JSON.parse(body) as unknown }));
    const waiting = await db.pool.query<{ count: number }>("SELECT count(*) FROM pgboss.job WHERE state = 'retry'");
    expect(waiting.rows).toEqual([{ count: 0 }]);

    // The end of an alert is news too.
    await db.pool.query("DELETE FROM inbox");
    await watch.tick();
    expect(await states()).toEqual([]);
    const refusedTries = (): number =>
      received.filter(({ path, body }) => path === "/slack" && body.includes("resolved")).length;
    while (refusedTries() < 2) await arrival();
    // The second refusal is written down a moment after it was given.
    while ((await states()).length === 0) await watch.tick();
    expect(await states()).toEqual([{ source: "slack receiver 1", count: 1, open: true }]);
    while (heard().length === 0) await arrival();
    expect(heard()).toMatchObject([
      {
        path: "/standard",
        body: { type: "alert.opened", data: { kind: "receiver_failing", source: "slack receiver 1" } },
      },
    ]);
    expect(JSON.stringify(heard())).not.toContain("127.0.0.1");

    isSlackDown = false;
    const before = refusedTries();
    while (refusedTries() === before) await arrival();
    do await watch.tick();
    while ((await states()).some((row) => (row as { open: boolean }).open));
    // Nobody was told of the end, and nothing is left to be told to the one that failed.
    const jobs = await db.pool.query("SELECT FROM pgboss.job WHERE data -> 'news' ->> 'kind' = 'receiver_failing'");
    expect(jobs.rowCount).toBe(1);
  });
});
