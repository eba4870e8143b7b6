import { connect, type AddressInfo } from "node:net";
import type { FastifyInstance } from "fastify";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ClientError } from "./errors.ts";
import { createHttpServer } from "./http.ts";
import { createLog } from "./log.ts";

let app: FastifyInstance;

beforeEach(() => {
  app = createHttpServer({ log: createLog("silent") });
  app.get("/refused", async () => {
    throw new ClientError("role_too_low");
  });
  app.get("/away", async () => {
    throw new ClientError("unavailable");
  });
  app.get("/broken", async () => {
    throw new Error("the password is hunter2");
  });
  app.get("/things/:id", async () => ({ ok: true }));
  app.post("/body", async () => ({ ok: true }));
});
afterEach(async () => app.close());

describe("an error of the HTTP server", () => {
  test.each([
    ["GET", "/refused", 403, "role_too_low"],
    ["GET", "/nowhere", 404, "not_found"],
    ["GET", "/broken", 500, "internal"],
    ["GET", "/things/%E0%A4%A", 400, "bad_request"],
    ["GET", `/things/${"a".repeat(10_000)}`, 404, "not_found"],
    ["POST", "/body", 400, "bad_request"],
  ] as const)(
    "for %s %.20s is %d %s, in the form of the table, without any detail",
    async (method, url, status, code) => {
      const broken = { payload: "{", headers: { "content-type": "application/json" } };
      const response = await app.inject({ method, url, ...(method === "POST" ? broken : {}) });
      expect([response.statusCode, response.json<{ error: { code: string } }>().error.code]).toEqual([status, code]);
      expect(response.body).not.toContain("hunter2");
      expect(Object.keys(response.json<object>())).toEqual(["error"]);
    },
  );

  test.each(["/things/%E0%A4%A", `/things/${"a".repeat(10_000)}`])(
    "leads a browser that opens %.20s to a page that says so, and never a program",
    async (url) => {
      const accept = "text/html,application/xhtml+xml";
      const opened = await app.inject({ method: "GET", url, headers: { accept } });
      expect([opened.statusCode, opened.headers["location"]]).toEqual([303, "/no-such-page"]);
      const asked = await app.inject({ method: "GET", url: `/api${url}`, headers: { accept } });
      expect(asked.statusCode).toBeGreaterThanOrEqual(400);
      expect((await app.inject({ method: "GET", url })).statusCode).toBeGreaterThanOrEqual(400);
    },
  );

  test("that will pass says when to come again", async () => {
    expect((await app.inject({ url: "/away" })).headers["retry-after"]).toBe("5");
  });
});

describe("a stopping server", () => {
  test("ends a kept connection with the answer under way, and so does not wait for it", async () => {
    let finish = (): void => undefined;
    const started = new Promise<void>((resolve) => {
      app.get("/slow", async () => {
        resolve();
        await new Promise<void>((done) => (finish = done));
        return { ok: true };
      });
    });
    const closing = new Promise<void>((resolve) => {
      app.addHook("preClose", async () => resolve());
    });
    await app.listen({ host: "127.0.0.1", port: 0 });
    const { port } = app.server.address() as AddressInfo;
    const socket = connect(port, "127.0.0.1");
    let received = "";
    socket.setEncoding("utf8").on("data", (chunk: string) => (received += chunk));
    const ended = new Promise((resolve) => socket.on("end", resolve));
    socket.write("GET /slow HTTP/1.1\r\nhost: x\r\nconnection: keep-alive\r\n\r\n");
    await started;
    const closed = app.close();
    await closing;
    finish();
    await Promise.all([closed, ended]);
    expect(received).toMatch(/^HTTP\/1\.1 200 OK[\s\S]*connection: close[\s\S]*\{"ok":true\}/i);
  });
});
