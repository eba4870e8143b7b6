import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { FastifyInstance } from "fastify";
import type { Config } from "./config.ts";
import { ClientError } from "./errors.ts";
import { createHttpServer, urlOf } from "./http.ts";
import { registerIntake } from "./intake/route.ts";
import { unnumberedSources, type ConfiguredSource } from "./intake/sources.ts";
import { openSpool, type Spool } from "./intake/spool.ts";
import { AWAY_LOG_MS, AWAY_RETRY_MS } from "./limits.ts";
import type { Log } from "./log.ts";
import { addWaitingRoutes } from "./views/operations.ts";

const MIB = 1024 * 1024;

/** SIGTERM or SIGINT came while the start waited for PostgreSQL. */
export class StartInterrupted extends Error {
  override readonly name = "StartInterrupted";
}

export interface WaitingRoom {
  /** Opens the room when it is not open yet, and waits until PostgreSQL may be asked again. @throws StartInterrupted. */
  wait(reason: string): Promise<void>;
  /** The port that it listens on, or undefined where nobody had to wait. */
  port(): number | undefined;
  /** Opens the spool, or gives the one that the room has filled. */
  spool(): Promise<Spool>;
  /** Answers what is under way and gives the port free. @throws StartInterrupted when a signal came meanwhile. */
  leave(): Promise<void>;
}

/**
 * Where POSTs go while a start waits for a PostgreSQL that does not answer: into the spool, and answered 503, as in any
 * outage (promise P1). Only the settings' keys are known here; what they do not verify is answered 503 too, and not kept.
 * Test: test/faults/start-away.pg.test.ts.
 */
export function createWaitingRoom(
  config: Config,
  log: Log,
  configured: () => Promise<ConfiguredSource[]>,
): WaitingRoom {
  const interrupted = new AbortController();
  const interrupt = (): void => interrupted.abort();
  let spool: Promise<Spool> | undefined;
  let app: FastifyInstance | undefined;
  let port: number | undefined;
  let loggedAtMs = Number.NEGATIVE_INFINITY;

  function openedSpool(): Promise<Spool> {
    spool ??= openSpool(join(config.HOLDFAST_DATA_DIR, "spool"), config.HOLDFAST_SPOOL_MIB * MIB, (file) =>
      log.error({ file }, "a spooled POST cannot be read and was set aside"),
    );
    return spool;
  }

  async function open(): Promise<void> {
    process.on("SIGTERM", interrupt).on("SIGINT", interrupt);
    app = createHttpServer({ log });
    const kept = await openedSpool();
    addWaitingRoutes(app, () => kept.state());
    if (config.HOLDFAST_ROLES.has("intake")) {
      await registerIntake(app, {
        appender: { append: async () => ({ outcome: "unavailable" }), drained: async () => undefined },
        spool: kept,
        sources: unnumberedSources(await configured()),
        knowsAllKeys: false,
        log,
        onRefused: () => undefined,
        isDiskLow: () => false,
      });
    }
    app.all("/*", () => {
      throw new ClientError("not_ready");
    });
    await app.listen({ host: config.HOST, port: config.PORT });
    port = Number(new URL(urlOf(app.server.address())).port);
  }

  return {
    async wait(reason) {
      if (app === undefined) await open();
      if (performance.now() - loggedAtMs >= AWAY_LOG_MS) {
        loggedAtMs = performance.now();
        log.error(
          { reason, port },
          "PostgreSQL does not answer; until it does, POSTs are spooled and refused with 503",
        );
      }
      await delay(AWAY_RETRY_MS, undefined, { signal: interrupted.signal }).catch(() => {
        throw new StartInterrupted("stopped while waiting for PostgreSQL");
      });
    },
    port: () => port,
    spool: openedSpool,
    async leave() {
      await app?.close();
      app = undefined;
      process.off("SIGTERM", interrupt).off("SIGINT", interrupt);
      if (interrupted.signal.aborted) throw new StartInterrupted("stopped while starting");
    },
  };
}
