import { mkdtemp, mkdir, rm, writeFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { FastifyInstance, InjectOptions, LightMyRequestResponse } from "fastify";
import { readConfig } from "../src/config.ts";
import { createHttpServer } from "../src/http.ts";
import { createLog, type Log } from "../src/log.ts";
import type { SimulationControl, ViewConfig, ViewOptions } from "../src/views/deps.ts";
import { createToken } from "../src/views/tokens.ts";
import { registerViews } from "../src/views/views.ts";
import type { TestDatabase } from "./database.ts";

export interface ViewsApp {
  app: FastifyInstance;
  /** API tokens, by role. */
  tokens: Record<"support" | "compliance" | "admin", string>;
  /** GET as support. */
  get(url: string, headers?: Record<string, string>): Promise<LightMyRequestResponse>;
  /** Any request, as the role given. */
  as(role: keyof ViewsApp["tokens"], request: InjectOptions): Promise<LightMyRequestResponse>;
  /** Begins to listen on a free port and gives the address. */
  listen(): Promise<string>;
  close(): Promise<void>;
}

export interface ViewsAppOptions {
  config?: Partial<ViewConfig>;
  instance?: string;
  simulation?: SimulationControl;
  /** Tokens made before; a second application on the same database needs them. */
  tokens?: ViewsApp["tokens"];
  /** Silent where it is left out. */
  log?: Log;
  spoolState?: NonNullable<ViewOptions["spoolState"]>;
}

/** The views on a server of their own, with a page of two files. */
export async function viewsApp(db: TestDatabase, options: ViewsAppOptions = {}): Promise<ViewsApp> {
  const webRoot = await mkdtemp(join(tmpdir(), "holdfast-web-"));
  await mkdir(join(webRoot, "assets"));
  await writeFile(join(webRoot, "index.html"), "<!doctype html><title>Holdfast</title>");
  await writeFile(join(webRoot, "assets/index-abcd1234.js"), "export {};");
  const log = options.log ?? createLog("silent");
  const app = createHttpServer({ log });
  await registerViews(app, {
    pool: db.pool,
    databaseUrl: db.databaseUrl,
    log,
    config: { ...readConfig({}), ...options.config },
    version: "0.0.0-test",
    instance: options.instance ?? "test",
    webRoot,
    simulation: options.simulation,
    ...(options.spoolState === undefined ? {} : { spoolState: options.spoolState }),
  });
  await app.ready();
  const tokens = options.tokens ?? (await makeTokens(db));
  const as: ViewsApp["as"] = async (role, request) =>
    app.inject({ ...request, headers: { ...request.headers, authorization: `Bearer ${tokens[role]}` } });
  return {
    app,
    tokens,
    as,
    get: async (url, headers = {}) => as("support", { url, headers }),
    async listen() {
      await app.listen({ host: "127.0.0.1", port: 0 });
      return `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
    },
    async close() {
      await app.close();
      await rm(webRoot, { recursive: true });
    },
  };
}

async function makeTokens(db: TestDatabase): Promise<ViewsApp["tokens"]> {
  const make = async (role: "support" | "compliance" | "admin"): Promise<string> => {
    const created = await createToken(db.pool, { name: `test ${role}`, role });
    if (created.outcome !== "created") throw new Error("the test's token exists already");
    return created.token;
  };
  return { support: await make("support"), compliance: await make("compliance"), admin: await make("admin") };
}
