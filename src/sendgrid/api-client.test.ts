import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { API_RESPONSE_BYTES_MAX } from "../limits.ts";
import { startApiDouble } from "../simulator/api-double.ts";
import { createApiClient, type ApiClient } from "./api-client.ts";

/** Long enough never to end a call that is answered, and too short to matter where none is. */
const TIMEOUT_MS = 20_000;
const HANGING_MS = 100;

describe("the client of SendGrid's API", () => {
  const endings: (() => Promise<void>)[] = [];

  afterEach(async () => {
    for (const end of endings.splice(0).reverse()) await end();
  });

  function client(apiUrl: string, timeoutMs = TIMEOUT_MS): ApiClient {
    const made = createApiClient({ apiKey: "SG.test", apiUrl, timeoutMs });
    endings.push(() => made.close());
    return made;
  }

  async function serve(listener: RequestListener): Promise<string> {
    const server: Server = createServer(listener);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    endings.push(async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    });
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  it("asks with the key, the whole query and the largest limit", async () => {
    const seen: string[] = [];
    const url = await serve((request, response) => {
      let body = "";
      request.on("data", (chunk: Buffer) => (body += chunk.toString()));
      request.on("end", () => {
        seen.push(
          `${request.method} ${decodeURIComponent(request.url ?? "")} ${request.headers.authorization} ${body}`,
        );
        response.end('{"messages":[]}');
      });
    });
    const api = client(url);
    await api.list("messages", 'subject = "50% & more"');
    await api.list("logs", 'subject = "x"');
    await api.get("logs", "a/b.1");
    expect(seen).toEqual([
      'GET /v3/messages?limit=1000&query=subject = "50% & more" Bearer SG.test ',
      String.raw`POST /v3/logs Bearer SG.test {"query":"subject = \"x\"","limit":1000}`,
      "GET /v3/logs/a/b.1 Bearer SG.test ",
    ]);
  });

  it("reads lists and single messages of both APIs", async () => {
    const double = await startApiDouble({ visibleAfterSeconds: 0, apiKey: "SG.test" });
    endings.push(() => double.stop());
    double.record({
      email: "jo@example.com",
      timestamp: 1_772_355_600,
      event: "delivered",
      sg_message_id: "abc.1",
      sg_event_id: "e1",
    });
    const api = client(double.url);
    for (const name of ["messages", "logs"] as const) {
      const list = await api.list(name, 'to_email = "jo@example.com"');
      expect(list).toMatchObject({ kind: "ok", value: { messages: [{ messageId: "abc.1", status: "delivered" }] } });
      expect(await api.get(name, "abc.1")).toMatchObject({
        kind: "ok",
        value: { messageId: "abc.1", recipient: "jo@example.com" },
      });
      expect(await api.get(name, "other")).toEqual({ kind: "not_found" });
      expect(await api.list(name, "nonsense = 1")).toMatchObject({ kind: "bad_request" });
    }
  });

  it("says that a wrong key is forbidden", async () => {
    const double = await startApiDouble({ apiKey: "another" });
    endings.push(() => double.stop());
    expect(await client(double.url).get("logs", "a")).toMatchObject({ kind: "forbidden" });
  });

  it.each(["500", "garbage", "half"] as const)("says that the API is unavailable when it answers %s", async (fault) => {
    const double = await startApiDouble({ apiKey: "SG.test" });
    endings.push(() => double.stop());
    double.fault(fault);
    expect(await client(double.url).list("logs", 'to_email = "x"')).toMatchObject({ kind: "unavailable" });
  });

  it("gives up on an API that never answers", async () => {
    const url = await serve(() => undefined);
    expect(await client(url, HANGING_MS).get("logs", "a")).toEqual({
      kind: "unavailable",
      reason: "no answer in time",
    });
  });

  it("gives up on an API that never ends its answer", async () => {
    const url = await serve((_, response) => {
      response.write('{"messages":[');
      const timer = setInterval(() => response.write(" "), HANGING_MS / 10);
      response.on("close", () => clearInterval(timer));
    });
    expect(await client(url, HANGING_MS).list("logs", "x")).toEqual({
      kind: "unavailable",
      reason: "no answer in time",
    });
  });

  it("stops reading an answer that is too large", async () => {
    const chunk = Buffer.alloc(1024 * 1024, " ");
    const url = await serve((_, response) => {
      const pour = (): void => {
        while (response.write(chunk));
      };
      response.on("drain", pour);
      pour();
    });
    const answer = await client(url).list("logs", "x");
    expect(answer).toMatchObject({ kind: "unavailable" });
    expect(JSON.stringify(answer)).toContain(String(API_RESPONSE_BYTES_MAX));
  });

  it("says that an API nobody serves is unavailable", async () => {
    const url = await serve(() => undefined);
    await endings.pop()?.();
    expect(await client(url).get("messages", "a")).toMatchObject({ kind: "unavailable" });
  });

  it("does not carry the key to where a redirect points", async () => {
    let visits = 0;
    const target = await serve((_, response) => {
      visits += 1;
      response.end("{}");
    });
    const url = await serve((_, response) => response.writeHead(302, { location: target }).end());
    expect(await client(url).get("logs", "a")).toMatchObject({ kind: "unavailable" });
    expect(visits).toBe(0);
  });

  it("says that a key that no header can hold leaves the API unavailable", async () => {
    const api = createApiClient({ apiKey: "SG.\n", apiUrl: "http://127.0.0.1:1" });
    endings.push(() => api.close());
    expect(await api.get("logs", "a")).toMatchObject({ kind: "unavailable" });
  });

  it("ends the call under way when it is closed", async () => {
    let asked: (() => void) | undefined;
    const isAsked = new Promise<void>((resolve) => (asked = resolve));
    const url = await serve(() => asked?.());
    const api = client(url);
    const answer = api.get("logs", "a");
    await isAsked;
    await api.close();
    expect(await answer).toMatchObject({ kind: "unavailable" });
  });
});
