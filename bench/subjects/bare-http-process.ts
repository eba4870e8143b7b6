/** Limit (d): the least that an HTTP server in Node can do. It reads the body and answers. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { serveOrders } from "../child.ts";

const server = createServer((request, response) => {
  let bytes = 0;
  request.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
  });
  request.on("end", () => {
    response.setHeader("content-type", "application/json");
    response.end(`{"bytes":"${bytes}"}`);
  });
});
const listening = new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));

serveOrders(async (): Promise<string> => {
  await listening;
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
});
