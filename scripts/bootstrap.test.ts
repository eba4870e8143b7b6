import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createFakeCheckout, startRun, type Ended, type FakeCheckout } from "./testing/fake-checkout.ts";

let checkout: FakeCheckout;
beforeEach(async () => {
  checkout = await createFakeCheckout();
});
afterEach(async () => checkout.stop());

async function run(command: string, ...args: string[]): Promise<Ended> {
  return checkout.start(command, ...args).ended;
}

const READY = { code: 0, stderr: "" };

describe("a fresh clone", () => {
  it("is installed, which takes two lines, and then runs the command with its arguments and exit code", async () => {
    const ended = await run("holdfast", "exit", "7", "--json", "two words");
    expect(ended).toMatchObject({ code: 7, stdout: `["exit","7","--json","two words"]\n` });
    expect(ended.stderr).toMatch(/^holdfast: installing .*\nholdfast: installed in \d+ s\n$/u);
    expect(await run("holdfast")).toMatchObject({ ...READY, stdout: "[]\n" });
    expect(await checkout.runs("npm")).toBe(1);
  });

  it("is installed with the development dependencies, though NODE_ENV may say production", async () => {
    await checkout.write("npm.fails", "");
    const { stderr } = await run("holdfast");
    expect(stderr).toMatch(/^npm was told ci --include=dev /mu);
  });

  it("gets the page built for the commands that serve it, and for no other", async () => {
    await run("holdfast", "migrate");
    expect(await checkout.runs("vite")).toBe(0);
    const ended = await run("start", "--help");
    expect(ended).toMatchObject({ code: 0, stdout: `["start","--help"]\n` });
    expect(ended.stderr).toBe("holdfast: building the page (vite build)\n");
    expect(await readFile(join(checkout.root, "dist/web/index.html"), "utf8")).toBe("the page");
  });

  it("says what npm said where it fails, and ends with 1", async () => {
    await checkout.write("npm.fails", "");
    const ended = await run("holdfast");
    expect(ended).toMatchObject({ code: 1, stdout: "" });
    expect(ended.stderr).toMatch(/npm was told ci.*\nholdfast: npm ci failed.*\n$/u);
  });

  it("fails the tests with their usual last line when it cannot be installed", async () => {
    await checkout.write("npm.fails", "");
    expect(await run("test")).toMatchObject({ code: 1, stdout: "0 passed, 1 failed\n" });
  });

  it("without its Node says in one line what to do, where the system's is too old", async () => {
    await checkout.write("npm.ignores-scripts", "");
    expect(await run("holdfast")).toMatchObject({ code: 0 });
    const pretend = "data:text/javascript,Object.defineProperty(process,'version',{value:'v20.20.2'})";
    const old = startRun(checkout.root, process.execPath, ["--import", pretend, "scripts/bootstrap.mjs", "holdfast"]);
    const ended = await old.ended;
    expect(ended).toMatchObject({ code: 2, stdout: "" });
    expect(ended.stderr).toMatch(
      /^holdfast: Node 24\.6 or newer is needed, and this is 20\.20\.2\..*ignore-scripts.*\n$/u,
    );
  });
});

describe("an installation", () => {
  it("is made again when the lock file names another version", async () => {
    await run("holdfast");
    const lock = await readFile(join(checkout.root, "package-lock.json"), "utf8");
    await checkout.write("package-lock.json", lock.replace("1.0.0", "1.0.1"));
    expect((await run("holdfast")).stderr).toContain("installing");
    expect(await run("holdfast")).toMatchObject(READY);
    expect(await checkout.runs("npm")).toBe(2);
  });

  it("is made again when npm did not finish it", async () => {
    await run("holdfast");
    await checkout.remove("node_modules/.package-lock.json");
    expect((await run("holdfast")).stderr).toContain("installing");
  });
});

describe("a page", () => {
  it("is built again when its sources change, but not for a test of them", async () => {
    await run("demo");
    await checkout.write("web/src/app.test.tsx", "a test");
    expect(await run("demo")).toMatchObject(READY);
    await checkout.write("web/index.html", "the new page");
    expect((await run("demo")).stderr).toContain("building the page");
    expect(await readFile(join(checkout.root, "dist/web/index.html"), "utf8")).toBe("the new page");
    expect(await checkout.runs("vite")).toBe(2);
    expect(await readdir(join(checkout.root, "dist"))).toEqual(["web", "web.inputs.sha256"]);
  });
});

describe("sources", () => {
  it("are compiled ahead for the commands that start the service, and again when they change, but not for a test of them", async () => {
    await run("holdfast", "migrate");
    expect(await checkout.runs("cli")).toBe(0);
    await run("start");
    expect(await checkout.runs("cli")).toBe(1);
    await checkout.write("src/deep/more.test.ts", "a test");
    await run("demo");
    expect(await checkout.runs("cli")).toBe(1);
    await checkout.write("src/deep/more.ts", "");
    expect(await run("start")).toMatchObject(READY);
    expect(await checkout.runs("cli")).toBe(2);
    await checkout.remove("node_modules");
    await run("start");
    expect(await checkout.runs("cli")).toBe(3);
  });

  it("that cannot be loaded keep no command from saying so itself", async () => {
    await checkout.write("src/cli.ts", "throw new Error('not like this')");
    const ended = await run("start");
    expect(ended).toMatchObject({ code: 1, stdout: "" });
    expect(ended.stderr.match(/Error: not like this/gu)).toHaveLength(1);
  });
});

describe("two at once", () => {
  it("install once, the second waiting for the first and saying so", async () => {
    await checkout.write("hold", "");
    const first = checkout.start("holdfast", "first");
    await first.says("installing");
    const second = checkout.start("holdfast", "second");
    await second.says(`waiting for another setup of this checkout (process ${first.process.pid})`);
    await checkout.remove("hold");
    expect(await first.ended).toMatchObject({ code: 0, stdout: `["first"]\n` });
    expect(await second.ended).toMatchObject({ code: 0, stdout: `["second"]\n` });
    expect(await checkout.runs("npm")).toBe(1);
  });

  it("that start in the same moment still install once", async () => {
    const runs = ["1", "2", "3", "4"].map((name) => checkout.start("holdfast", name));
    for (const { ended } of runs) expect(await ended).toMatchObject({ code: 0 });
    expect(await checkout.runs("npm")).toBe(1);
  });

  it("do not meet when the first is killed: its npm, which lives on, is waited for", async () => {
    await checkout.write("hold", "");
    const first = checkout.start("holdfast", "first");
    await npmRuns(1);
    first.process.kill("SIGKILL");
    await first.ended.catch(() => undefined);
    const second = checkout.start("holdfast", "second");
    await second.says("waiting for another setup");
    await checkout.remove("hold");
    expect(await second.ended).toMatchObject({ code: 0, stdout: `["second"]\n` });
    expect(await checkout.runs("npm")).toBe(1);
  });

  it("are not kept out by a lock whose holder is no more", async () => {
    const gone = { token: "gone", host: (await import("node:os")).hostname(), processes: [{ pid: 1, started: "0" }] };
    await checkout.write("dist/setup.lock/holder.json", JSON.stringify(gone));
    expect(await run("holdfast")).toMatchObject({ code: 0 });
    expect(await readdir(join(checkout.root, "dist"))).toEqual([]);
  });
});

describe("a signal", () => {
  beforeEach(async () => run("holdfast"));

  it.each(["SIGTERM", "SIGINT", "SIGHUP"] as const)(
    "%s reaches the command once, and its exit code comes back",
    async (signal) => {
      const command = checkout.start("holdfast", "wait");
      await command.says("waiting for a signal");
      command.process.kill(signal);
      expect(await command.ended).toMatchObject({ code: 11, signal: null });
    },
  );

  it("that npm passes on a second time reaches the command once", async () => {
    const command = checkout.start("holdfast", "wait");
    await command.says("waiting for a signal");
    command.process.kill("SIGINT");
    // Two that wait at the same time would be one to the kernel.
    await command.says("signal 1");
    command.process.kill("SIGINT");
    expect(await command.ended).toMatchObject({ code: 11 });
  });

  it("that npm sends to the shell it made reaches the command: every script begins with exec", async () => {
    const { scripts } = JSON.parse(await readFile(join(import.meta.dirname, "../package.json"), "utf8")) as Scripts;
    for (const script of Object.values(scripts)) expect(script).toMatch(/^exec node scripts\/bootstrap\.mjs [a-z-]+$/u);
    const shell = startRun(checkout.root, "sh", ["-c", "exec node scripts/bootstrap.mjs holdfast wait"]);
    await shell.says("waiting for a signal");
    shell.process.kill("SIGTERM");
    expect(await shell.ended).toMatchObject({ code: 11 });
  });

  it.runIf(process.platform === "linux")("from a terminal reaches the command once", async () => {
    // `script` takes the shell of $SHELL. Without exec a dash stays between, and ends by the Ctrl-C that reaches it too.
    const line = `exec '${process.execPath}' scripts/bootstrap.mjs holdfast wait`;
    const terminal = startRun(checkout.root, "script", ["--quiet", "--return", "--command", line, "/dev/null"]);
    await terminal.says("waiting for a signal");
    terminal.process.stdin?.write("\u0003");
    expect(await terminal.ended).toMatchObject({ code: 11 });
  });

  it("that ends the command ends the bootstrap in the same way", async () => {
    expect(await run("holdfast", "die")).toMatchObject({ code: null, signal: "SIGTERM" });
  });

  it("during the installation ends npm, gives the lock back, and runs nothing", async () => {
    await checkout.remove("node_modules");
    await checkout.write("hold", "");
    const command = checkout.start("holdfast", "exit", "0");
    await npmRuns(2);
    command.process.kill("SIGTERM");
    expect(await command.ended).toMatchObject({ code: null, signal: "SIGTERM", stdout: "" });
    expect(await readdir(join(checkout.root, "dist"))).toEqual([]);
  });
});

describe("a command that does not exist", () => {
  it("ends with 2 and the names of those that do", async () => {
    const ended = await run("constructor");
    expect(ended.code).toBe(2);
    expect(ended.stderr).toContain("start, demo, holdfast, test");
  });
});

interface Scripts {
  scripts: Record<string, string>;
}

async function npmRuns(times: number): Promise<void> {
  await expect.poll(async () => checkout.runs("npm"), { timeout: 50_000, interval: 20 }).toBe(times);
}
