import { afterAll, beforeAll, expect, it } from "vitest";
import { testDatabase, type TestDatabase } from "../../test/database.ts";
import { openSse, type SseClient } from "../../test/sse-client.ts";
import { viewsApp, type ViewsApp } from "../../test/views-app.ts";
import { SSE_CLIENTS_MAX } from "../limits.ts";

let db: TestDatabase;
let views: ViewsApp;
const open: SseClient[] = [];

beforeAll(async () => {
  db = await testDatabase();
  views = await viewsApp(db);
});
afterAll(async () => {
  for (const client of open) client.close();
  await views.close();
  await db.drop();
});

it("Takes as many live pages as its limit, tells the next one so, and takes it once another has left.", async () => {
  const url = `${await views.listen()}/api/live`;
  const join = async (): Promise<number> => {
    const client = await openSse(url, { authorization: `Bearer ${views.tokens.support}` });
    open.push(client);
    return client.response.status;
  };
  for (let clients = 0; clients < SSE_CLIENTS_MAX; clients += 1) expect(await join()).toBe(200);
  expect(await join()).toBe(503);
  open[0]?.close();
  // The server hears of it a moment later.
  let status = 503;
  while (status === 503) status = await join();
  expect(status).toBe(200);
});
