import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { Command } from "commander";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { testDatabase, type TestDatabase } from "../../test/database.ts";
import { seedSource } from "../../test/seed.ts";
import { SEND_LINE_CHARS_MAX, SENDS_PER_REQUEST_MAX } from "../limits.ts";
import { addSendsCommand } from "./sends.ts";

describe("holdfast sends", () => {
  let db: TestDatabase;
  let folder: string;

  beforeAll(async () => {
    db = await testDatabase();
    folder = await mkdtemp(join(tmpdir(), "holdfast-sends-"));
    await seedSource(db.pool, "default");
    await seedSource(db.pool, "billing");
    await seedSource(db.pool, "simulation", true);
  });
  beforeEach(async () => {
    await db.pool.query("TRUNCATE sends");
  });
  afterAll(async () => {
    await rm(folder, { recursive: true });
    await db.drop();
  });

  interface Ran {
    code: number;
    printed: string;
    warned: string[];
  }

  /** Runs `holdfast sends …`; `pieces` are the standard input. */
  async function sends(
    args: readonly string[],
    pieces: AsyncIterable<string> = piecesOf([]),
    signal?: AbortSignal,
  ): Promise<Ran> {
    const printed: string[] = [];
    const warned: string[] = [];
    const program = new Command("holdfast").exitOverride().configureOutput({ writeErr: () => undefined });
    addSendsCommand(program, {
      withPool: async (work) => work(db.pool),
      print: (text) => void printed.push(text),
      warn: (text) => void warned.push(text),
      stdin: pieces,
      ...(signal === undefined ? {} : { signal }),
    });
    for (const command of program.commands) command.exitOverride();
    try {
      await program.parseAsync(["sends", ...args], { from: "user" });
      return { code: Number(process.exitCode), printed: printed.join("\n"), warned };
    } finally {
      process.exitCode = undefined;
    }
  }

  async function* piecesOf(pieces: readonly string[]): AsyncGenerator<string> {
    yield* pieces;
  }

  async function readLog(text: string, ...args: string[]): Promise<Ran> {
    const file = join(folder, "app.log");
    await writeFile(file, text);
    return sends(["--file", file, ...args]);
  }

  async function registered(): Promise<[string, string | undefined][]> {
    const found = await db.pool.query<{ id: string; at: Date; now: boolean }>(
      "SELECT message_id AS id, sent_at AS at, registered_at - sent_at < interval '1 minute' AS now FROM sends ORDER BY 1",
    );
    return found.rows.map(({ id, at, now }) => [id, now ? undefined : at.toISOString()]);
  }

  it("finds the ids in every usual form of a log, with the time of the line", async () => {
    const lines = [
      "2026-03-01T09:00:00Z INFO sent X-Message-Id: plain-Id_1",
      '{"time":1772355600000,"res":{"headers":{"x-message-id":"pino"}}}',
      "2026-03-01 10:00:00,250 +0100 mail: { 'x-message-id': [ 'python' ] }",
      '2026-03-01T09:00:00+0100 "{\\"x-message-id\\":\\"escaped\\"}"',
      "2026-03-01T09:00:00Z x_message_id=logfmt status=202 X-MESSAGE-ID=second\r",
      "2026-03-01 09:00:00 without a zone, x-message-id => now",
      "2026-03-01T09:00:00Z nothing of that kind",
      "",
    ];
    const { code, printed, warned } = await readLog(lines.join("\n"));
    expect([code, warned]).toEqual([0, []]);
    expect(printed).toBe("7 lines, 7 ids: 7 registered, 0 known already.");
    expect(await registered()).toEqual([
      ["escaped", "2026-03-01T08:00:00.000Z"],
      ["logfmt", "2026-03-01T09:00:00.000Z"],
      ["now", undefined],
      ["pino", "2026-03-01T09:00:00.000Z"],
      ["plain-Id_1", "2026-03-01T09:00:00.000Z"],
      ["python", "2026-03-01T09:00:00.250Z"],
      ["second", "2026-03-01T09:00:00.000Z"],
    ]);
  });

  it("says of each line that it cannot read which it is, reads the others, and ends with 1", async () => {
    const long = "y".repeat(SEND_LINE_CHARS_MAX - "x-message-id=cut ".length);
    const lines = [
      "x-message-id: ok",
      "X-Message-Id:",
      `x-message-id=${"i".repeat(101)}`,
      "x-message-id=abc.recvd-1.0",
      '{"x-message-id":null}',
      "x-message-id is missing",
      `x-message-id=whole ${long.slice(2)}`,
      `x-message-id=cut ${long}z`,
      "x-message-id=last",
    ];
    const { code, printed, warned } = await readLog(lines.join("\n"), "--json");
    expect(code).toBe(1);
    expect(JSON.parse(printed)).toEqual({ lines: 9, found: 4, registered: 4, known: 0, problems: 6 });
    expect(warned).toEqual([
      "line 2: X-Message-Id without an id",
      "line 3: X-Message-Id without an id",
      "line 4: X-Message-Id without an id",
      "line 5: X-Message-Id without an id",
      "line 6: X-Message-Id without an id",
      `line 8: longer than ${SEND_LINE_CHARS_MAX} characters: the rest was not read`,
    ]);
    expect((await registered()).map(([id]) => id)).toEqual(["cut", "last", "ok", "whole"]);
  });

  it("registers nothing twice when a log is read again", async () => {
    const count = 2 * SENDS_PER_REQUEST_MAX + 5;
    const log = Array.from({ length: count }, (_, index) => `2026-03-01T09:00:00Z x-message-id: id-${index}\n`).join(
      "",
    );
    expect((await readLog(log)).printed).toBe(`${count} lines, ${count} ids: ${count} registered, 0 known already.`);
    expect((await readLog(log)).printed).toBe(`${count} lines, ${count} ids: 0 registered, ${count} known already.`);
  });

  it("registers what comes on the standard input as it comes, wherever it is cut", async () => {
    const seen: unknown[] = [];
    async function* slowly(): AsyncGenerator<string> {
      yield "x-message-id: fir";
      yield "st\nx-mess";
      seen.push(await registered());
      yield "age-id: second";
    }
    expect((await sends(["--stdin", "--source", "billing"], slowly())).code).toBe(0);
    expect(seen).toEqual([[["first", undefined]]]);
    const found = await db.pool.query(
      "SELECT message_id AS id, s.name FROM sends JOIN sources AS s ON s.id = source ORDER BY 1",
    );
    expect(found.rows).toEqual([
      { id: "first", name: "billing" },
      { id: "second", name: "billing" },
    ]);
  });

  it("ends when it is interrupted, though nothing more comes, and keeps what came", async () => {
    const abort = new AbortController();
    const input = new Readable({ read: () => undefined, encoding: "utf8" });
    input.push("x-message-id: first\n");
    const ran = sends(["--stdin"], input, abort.signal);
    await vi.waitFor(async () => expect(await registered()).toHaveLength(1));
    abort.abort();
    expect(await ran).toEqual({ code: 130, printed: "1 lines, 1 ids: 1 registered, 0 known already.", warned: [] });
  });

  it("refuses to be used wrongly", async () => {
    await expect(sends([])).rejects.toThrow("either --file or --stdin");
    await expect(sends(["--file", "a", "--stdin"])).rejects.toThrow("either --file or --stdin");
    await expect(sends(["--file", join(folder, "none")])).rejects.toThrow("cannot be read");
    for (const source of ["nowhere", "simulation"]) {
      await expect(readLog("x-message-id: a", "--source", source)).rejects.toThrow(`no source named ${source}`);
    }
  });
});
