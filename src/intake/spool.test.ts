import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { SPOOL_DRAIN_POSTS_MAX, SPOOL_UNVERIFIED_MS } from "../limits.ts";
import { createLog } from "../log.ts";
import { signBody } from "../sendgrid/signature.ts";
import type { Appended, Posted } from "./append.ts";
import { createSpoolDrain } from "./drain.ts";
import { UNNUMBERED_KEY } from "./sources.ts";
import { openSpool, type SpooledPost } from "./spool.ts";

const MIB = 1024 * 1024;

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "holdfast-spool-"));
});
afterEach(async () => rm(folder, { recursive: true, force: true }));

function post(body: Buffer | string, sourceName = "default"): SpooledPost {
  return {
    source: 7,
    sourceName,
    key: 3,
    signedAt: "1764511327",
    signature: "sig",
    body: Buffer.from(body),
    receivedAt: new Date("2026-11-30T10:00:00Z"),
  };
}

describe("the spool", () => {
  test("keeps a POST byte for byte with all that came with it, across a restart", async () => {
    const body = Buffer.from([0, 10, 13, 255, 10]);
    await (await openSpool(folder, MIB)).keep(post(body));
    const reopened = await openSpool(folder, MIB);
    const [name = ""] = await reopened.names();
    expect(name).toMatch(/^[0-9a-f]{64}\.default$/);
    expect(await reopened.read(name)).toEqual({ ...post(body), source: 0 });
  });

  test("keeps the same POST once, however often SendGrid retries it, also at the same moment", async () => {
    const spool = await openSpool(folder, MIB);
    await Promise.all(Array.from({ length: 10 }, () => spool.keep(post("[]"))));
    await spool.keep({ ...post("[]"), signature: "made anew" });
    await spool.keep(post("[]", "other"));
    expect(await readdir(folder)).toHaveLength(2);
    const { posts, bytes } = spool.state();
    expect([posts, bytes]).toEqual([2, (await openSpool(folder, MIB)).state().bytes]);
  });

  test("is full at its limit, says so, and has room again once something is dropped", async () => {
    const spool = await openSpool(folder, 1_000);
    expect(await spool.keep(post("a".repeat(500)))).toEqual({ outcome: "spooled" });
    expect(await spool.keep(post("b".repeat(500)))).toEqual({ outcome: "full" });
    expect(await readdir(folder)).toHaveLength(1);
    for (const name of await spool.names()) await spool.drop(name);
    expect(await spool.keep(post("b".repeat(500)))).toEqual({ outcome: "spooled" });
  });

  test("forgets what was being written when the process died: it was promised to nobody", async () => {
    await writeFile(join(folder, `${"a".repeat(64)}.default.12345678.part`), "half");
    const spool = await openSpool(folder, MIB);
    expect(await spool.names()).toEqual([]);
    expect(await readdir(folder)).toEqual([]);
  });

  test("sets a broken file aside at the start, says so once, and goes on with the others", async () => {
    await (await openSpool(folder, MIB)).keep(post("[]"));
    await writeFile(join(folder, `${"b".repeat(64)}.default`), "");
    const broken: string[] = [];
    const spool = await openSpool(folder, MIB, (name) => broken.push(name));
    expect(broken).toEqual([`${"b".repeat(64)}.default`]);
    expect(spool.state().posts).toBe(1);
    await openSpool(folder, MIB, (name) => broken.push(name));
    expect(broken).toHaveLength(1);
    expect(await readdir(folder)).toContain(`${"b".repeat(64)}.default.broken`);
  });

  test("knows the earliest event it holds, from which SendGrid's 24 hours run", async () => {
    const spool = await openSpool(folder, MIB);
    expect(spool.state().oldestEventAt).toBeUndefined();
    await spool.keep(post("no json"));
    expect(spool.state().oldestEventAt).toEqual(new Date("2026-11-30T10:00:00Z"));
    await spool.keep(post('[{"timestamp":1764400000},{"timestamp": "1764300000"},{"timestamp":17643000001}]'));
    expect(spool.state().oldestEventAt).toEqual(new Date(1764300000_000));
    expect((await openSpool(folder, MIB)).state()).toEqual(spool.state());
  });
});

describe("draining the spool", () => {
  const sources = new Map([["default", { id: 42, name: "default", keys: [], unsignedAllowed: false }]]);

  async function drain(
    answer: (posted: Posted) => Appended,
    spoolFolder = folder,
  ): Promise<{ more: boolean; left: number }> {
    const spool = await openSpool(spoolFolder, MIB);
    const appender = { append: async (posted: Posted) => answer(posted), drained: async () => undefined };
    const more = await createSpoolDrain({ spool, appender, sources, log: createLog("silent") }).tick();
    return { more, left: (await openSpool(spoolFolder, MIB)).state().posts };
  }

  test("appends each POST to its source, and drops a file only after its commit", async () => {
    const spool = await openSpool(folder, MIB);
    await spool.keep(post("[1]"));
    await spool.keep(post("[2]"));
    const appended: Posted[] = [];
    const { left } = await drain((posted) => {
      appended.push(posted);
      return { outcome: "committed", receipt: 1 };
    });
    expect(left).toBe(0);
    expect(appended.map(({ body }) => body.toString()).sort()).toEqual(["[1]", "[2]"]);
    expect(appended[0]).toMatchObject({ source: 42, key: 3, signature: "sig", signedAt: "1764511327" });
  });

  test("takes as many at once as its limit, and says whether there are more", async () => {
    const spool = await openSpool(folder, MIB);
    for (let n = 0; n <= SPOOL_DRAIN_POSTS_MAX; n += 1) await spool.keep(post(`[${n}]`));
    const commit = (): Appended => ({ outcome: "committed", receipt: 1 });
    expect(await drain(commit)).toEqual({ more: true, left: 1 });
    expect(await drain(commit)).toEqual({ more: false, left: 0 });
  });

  test("is full exactly when one byte more would not fit", async () => {
    const whole = await openSpool(folder, MIB);
    await whole.keep(post("a".repeat(500)));
    const { bytes } = whole.state();
    for (const name of await whole.names()) await whole.drop(name);
    expect(await (await openSpool(folder, bytes - 1)).keep(post("a".repeat(500)))).toEqual({ outcome: "full" });
    expect(await (await openSpool(folder, bytes)).keep(post("a".repeat(500)))).toEqual({ outcome: "spooled" });
  });

  test("tries one POST while PostgreSQL is away, and leaves all files where they are", async () => {
    const spool = await openSpool(folder, MIB);
    for (let n = 0; n < 5; n += 1) await spool.keep(post(`[${n}]`));
    let tries = 0;
    const { more, left } = await drain(() => {
      tries += 1;
      return { outcome: "unavailable" };
    });
    expect([tries, more, left]).toEqual([1, false, 5]);
  });

  test("gives what was spooled before keys had numbers the number of the key that made its signature", async () => {
    const keys = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
    const others = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
    const spool = await openSpool(folder, MIB);
    const sign = (key: KeyObject, body: string): SpooledPost => {
      const made = { ...post(body), key: UNNUMBERED_KEY };
      return { ...made, signature: signBody(key, made.signedAt ?? "", made.body) };
    };
    await spool.keep(sign(others.privateKey, "[0]"));
    await spool.keep(sign(keys.privateKey, "[1]"));
    await spool.keep({ ...post("[2]"), key: null, signature: null });
    const appended: Posted[] = [];
    let nowMs = 0;
    const known = [{ id: 9, key: keys.publicKey, validUntil: null }];
    const source = { id: 42, name: "default", unsignedAllowed: true, keys: known };
    const worker = createSpoolDrain({
      spool,
      sources: new Map([["default", source]]),
      log: createLog("silent"),
      now: () => nowMs,
      appender: {
        async append(posted) {
          appended.push(posted);
          return { outcome: "committed", receipt: 1 };
        },
        drained: async () => undefined,
      },
    });
    const told = (): unknown[] =>
      appended.map(({ body, key }) => [body.toString(), key]).sort(([a], [b]) => (String(a) < String(b) ? -1 : 1));
    await worker.tick();
    await worker.tick();
    expect(told()).toEqual([
      ["[1]", 9],
      ["[2]", null],
    ]);
    expect(spool.state().posts).toBe(1);

    // The key of the last one is added later, and is looked for now and then.
    known.push({ id: 10, key: others.publicKey, validUntil: null });
    nowMs = SPOOL_UNVERIFIED_MS - 1;
    await worker.tick();
    expect(spool.state().posts).toBe(1);
    nowMs = SPOOL_UNVERIFIED_MS;
    await worker.tick();
    expect(told()).toContainEqual(["[0]", 10]);
    expect(spool.state().posts).toBe(0);
  });

  test("keeps what belongs to a source that is no longer configured", async () => {
    const spool = await openSpool(folder, MIB);
    await spool.keep(post("[]", "gone"));
    await spool.keep(post("[]", "default"));
    expect((await drain(() => ({ outcome: "committed", receipt: 1 }))).left).toBe(1);
    expect((await openSpool(folder, MIB)).state().posts).toBe(1);
    const [name = ""] = await readdir(folder);
    expect(name).toMatch(/\.gone$/);
    expect(await readFile(join(folder, name), "utf8")).toContain("[]");
  });
});
