import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { findRunningService } from "./running-service.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "holdfast-service-"));
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

const write = async (text: string): Promise<void> => writeFile(join(folder, "service.json"), text);

it("a running service is found by the file in its data folder", async () => {
  await write(
    JSON.stringify({
      url: "http://127.0.0.1:8025",
      pid: process.pid,
      adminLink: "http://127.0.0.1:8025/login#x",
      databaseUrl: "postgres://x",
    }),
  );
  expect(await findRunningService(folder)).toEqual({
    url: "http://127.0.0.1:8025",
    pid: process.pid,
    adminLink: "http://127.0.0.1:8025/login#x",
    databaseUrl: "postgres://x",
  });
});

it("no service is found where there is no file, half a file, or the file of a dead process", async () => {
  expect(await findRunningService(folder)).toBeUndefined();
  await write('{"url":"http://127.0');
  expect(await findRunningService(folder)).toBeUndefined();
  // No process has this number: Linux numbers end at 4,194,304.
  await write(JSON.stringify({ url: "http://127.0.0.1:8025", pid: 4_194_305 }));
  expect(await findRunningService(folder)).toBeUndefined();
});
