import { randomBytes } from "node:crypto";
import { join } from "node:path";
import type { FastifyInstance } from "fastify";
import { createAlertWatch } from "./alerts/alerts.ts";
import { createAlertDelivery, type AlertDelivery } from "./alerts/delivery.ts";
import { reconcileSettings } from "./commands/reconcile-settings.ts";
import type { Config } from "./config.ts";
import { createEnricher } from "./enrichment/enricher.ts";
import { UsageError } from "./errors.ts";
import { createDiskWatch, type DiskWatch } from "./health/disk.ts";
import { auditDurability } from "./health/durability.ts";
import { createHeartbeat } from "./health/heartbeat.ts";
import { createHttpServer, urlOf } from "./http.ts";
import { createAppender, type Appender } from "./intake/append.ts";
import { createDictionaryKeeper } from "./intake/dictionary.ts";
import { createSpoolDrain } from "./intake/drain.ts";
import { createKeyRing, type KeyRing } from "./intake/keys.ts";
import { createPartitionKeeper, ensurePartitions } from "./intake/partitions.ts";
import { createRefusals } from "./intake/refusals.ts";
import { registerIntake } from "./intake/route.ts";
import {
  configuredSources,
  registerSources,
  simulationSource,
  type ConfiguredSource,
  type Source,
} from "./intake/sources.ts";
import type { Spool } from "./intake/spool.ts";
import { createProjector } from "./ledger/projector.ts";
import { createPurger } from "./ledger/purge.ts";
import { createRatesPruner } from "./ledger/rates.ts";
import { createRepairer } from "./ledger/repair.ts";
import { createReplayer } from "./ledger/replay.ts";
import { createWorkWatch } from "./ledger/work.ts";
import { STOP_ORDERLY_MS_MAX } from "./limits.ts";
import type { Log } from "./log.ts";
import type { Loop } from "./loop.ts";
import * as metrics from "./metrics.ts";
import { createPace, type Pace } from "./pace.ts";
import { openDatabase, type Database } from "./postgres/database.ts";
import type { Pool } from "./postgres/pool.ts";
import { createReconciler, type ReconcilerOptions } from "./reconcile/schedule.ts";
import { createRecordsClient } from "./sendgrid/records-client.ts";
import { createSimulationJob, type SimulationJob } from "./simulator/job.ts";
import { simulatorKey, type SimulatorKey } from "./simulator/key.ts";
import { VERSION } from "./version.ts";
import { createLoginLink, ensureAdmin } from "./views/admin.ts";
import { registerViews } from "./views/views.ts";
import { createWaitingRoom, type WaitingRoom } from "./waiting-room.ts";

const MIB = 1024 * 1024;

/** A running service. */
export interface Service {
  /** Where it listens, as this machine reaches it. */
  url: string;
  /** The page with a one-time login in it; undefined when this process has no views. */
  loginUrl: string | undefined;
  databaseUrl: string;
  sources: ReadonlyMap<string, Source>;
  /** Stops in order: nothing new, answer what is under way, finish the batches, close the database. */
  stop(): Promise<void>;
}

/**
 * Starts the roles of the settings in this process.
 *
 * @throws UsageError when a setting is wrong or another process holds the data.
 */
export async function startService(config: Config, log: Log): Promise<Service> {
  const configured = configuredSources(config);
  const room = createWaitingRoom(config, log, async () => [...configured, await simulationOf(config)]);
  const database = await openDatabaseFrom(room, config, log);
  const stops: (() => Promise<void>)[] = [() => database.stop(), () => room.leave()];
  const stop = async (): Promise<void> => {
    // Whoever waits for a connection that does not answer must hear so in time. What is rolled back was never acknowledged.
    const cutting = setTimeout(() => {
      log.warn({ connections: database.cut() }, "PostgreSQL does not answer in time: the connections to it are cut");
    }, STOP_ORDERLY_MS_MAX);
    // Last started, first stopped. A part that fails to stop must not keep the others from it.
    for (const stopPart of stops.splice(0).reverse()) {
      await stopPart().catch((error: unknown) => log.error({ err: error }, "a part did not stop cleanly"));
    }
    clearTimeout(cutting);
  };
  try {
    const { pool, databaseUrl } = database;
    await checkDurability(pool, config.HOLDFAST_ALLOW_UNSAFE, log);
    await ensurePartitions(pool, new Date());
    const simulator = await simulatorKey(config.HOLDFAST_DATA_DIR);
    const registered = await registerSources(pool, [...configured, await simulationOf(config)]);
    const keyRing = createKeyRing({ pool, log, configured: registered });
    // Before the first POST comes, or it would be refused for a key that an admin added on the page.
    await keyRing.tick();
    const spool = await room.spool();
    const disk = createDiskWatch(config.HOLDFAST_DATA_DIR, config.HOLDFAST_DISK_FREE_MIB * MIB);
    await disk.look();
    const instance = randomBytes(6).toString("base64url");
    const context: Context = { config, log, pool, databaseUrl, keyRing, spool, disk, instance, simulator, room };

    const delivery = createAlertDelivery({
      pool,
      log,
      receivers: config.HOLDFAST_ALERT_WEBHOOKS ?? [],
      secret: config.HOLDFAST_ALERT_SECRET,
    });
    if (config.HOLDFAST_ROLES.has("maintenance")) {
      await delivery.start();
      stops.push(() => delivery.stop());
    }
    const stages = startStages(context, delivery);
    stops.push(() => stopAll(stages.loops));
    const { url, app, appender, loops, simulation } = await serve(context, stages);
    // While requests end, their receipts are still appended: so the server closes first, and before it who posts to it.
    stops.push(
      () => appender.drained(),
      () => stopAll(loops),
      () => app.close(),
      () => simulation.close(),
    );
    const loginUrl = config.HOLDFAST_ROLES.has("views") ? await makeLoginUrl(pool, config, url) : undefined;
    return { url, loginUrl, databaseUrl, sources: keyRing.sources, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** What the parts of this process share. */
interface Context {
  config: Config;
  log: Log;
  pool: Pool;
  databaseUrl: string;
  keyRing: KeyRing;
  spool: Spool;
  disk: DiskWatch;
  instance: string;
  simulator: SimulatorKey;
  room: WaitingRoom;
}

async function simulationOf(config: Config): Promise<ConfiguredSource> {
  return simulationSource((await simulatorKey(config.HOLDFAST_DATA_DIR)).publicKeyText);
}

/** A PostgreSQL elsewhere that is away is waited for, with open ears; our own is started, and tells if it cannot be. */
async function openDatabaseFrom(room: WaitingRoom, config: Config, log: Log): Promise<Database> {
  const { DATABASE_URL: databaseUrl, HOLDFAST_DATA_DIR: dataDir } = config;
  try {
    return await openDatabase({ databaseUrl, dataDir, log, onAway: (reason) => room.wait(reason) });
  } catch (error) {
    await room.leave();
    throw error;
  }
}

/** Promise P1 cannot be kept on a server that loses what it committed, so such a server is refused unless allowed. */
async function checkDurability(pool: Pool, isUnsafeAllowed: boolean, log: Log): Promise<void> {
  const { unsafe } = await auditDurability(pool);
  if (unsafe.length === 0) return;
  const found = unsafe.join(", ");
  if (!isUnsafeAllowed) {
    throw new UsageError(
      `PostgreSQL is set up to lose what it commits (${found}). Mend that, or set HOLDFAST_ALLOW_UNSAFE=true and accept it.`,
    );
  }
  log.error({ settings: unsafe }, "PostgreSQL is set up to lose what it commits; HOLDFAST_ALLOW_UNSAFE accepts it");
}

async function serve(
  context: Context,
  { wakeProjector, pace }: Stages,
): Promise<{ url: string; app: FastifyInstance; appender: Appender; loops: Loop[]; simulation: SimulationJob }> {
  const { config, log, pool, databaseUrl, keyRing, spool, disk, instance, simulator, room } = context;
  const { sources } = keyRing;
  const app = createHttpServer({ log });
  const dictionary = createDictionaryKeeper({ pool, log });
  await dictionary.read();
  const appender = createAppender({
    pool,
    log,
    dictionary: () => dictionary.current(),
    onCommitted(receipts, bytes) {
      metrics.groupCommitRows.observe(receipts);
      dictionary.appended(receipts);
      pace.stored(bytes);
      wakeProjector();
    },
  });
  const loops: Loop[] = [];
  if (config.HOLDFAST_ROLES.has("intake")) {
    const refusals = createRefusals({ pool, log });
    loops.push(refusals, keyRing, dictionary, createSpoolDrain({ spool, appender, sources, log }));
    await registerIntake(app, {
      appender,
      spool,
      sources,
      log,
      onVerified: (key) => keyRing.noteUse(key),
      onAnswered: (ms) => pace.answered(ms),
      onRefused: (source, code) => refusals.count(source, code),
      // Of a database elsewhere only its own disk matters, and that cannot be seen from here.
      isDiskLow: () => config.DATABASE_URL === undefined && disk.isLow(),
    });
  }
  const webRoot = join(import.meta.dirname, "../dist/web");
  const spoolState = (): ReturnType<Spool["state"]> => spool.state();
  const simulation = createSimulationJob({
    databaseUrl,
    log,
    privateKey: simulator.privateKey,
    // Through the socket, as any POST: what the simulation proves holds for SendGrid's too.
    url: () => `${urlOf(app.server.address())}/webhooks/sendgrid/simulation`,
  });
  const shown = { webRoot, spoolState, simulation: config.HOLDFAST_ROLES.has("intake") ? simulation : undefined };
  await registerViews(app, { pool, databaseUrl, log, config, version: VERSION, instance, ...shown });
  await room.leave();
  await app.listen({ host: config.HOST, port: room.port() ?? config.PORT });
  for (const loop of loops) loop.start();
  return { url: urlOf(app.server.address()), app, appender, loops, simulation };
}

/** What works behind the intake. */
interface Stages {
  loops: Loop[];
  wakeProjector: () => void;
  pace: Pace;
}

function startStages(context: Context, delivery: AlertDelivery): Stages {
  const { config, pool, log, instance, disk, spool } = context;
  const roles = config.HOLDFAST_ROLES;
  const settleSeconds = config.HOLDFAST_ENRICHMENT_SETTLE_SECONDS;
  const pace = createPace();
  const projector = createProjector({
    pool,
    log,
    settleSeconds,
    onProjected({ receipts, stored, duplicate, quarantined }) {
      metrics.projectedReceipts.inc({ result: "filed" }, receipts);
      metrics.projectedEvents.inc({ result: "stored" }, stored);
      metrics.projectedEvents.inc({ result: "duplicate" }, duplicate);
      metrics.projectedEvents.inc({ result: "quarantined" }, quarantined);
    },
    restMs: (batch) => pace.restMs(batch),
    onDeadlock: (outcome) => metrics.deadlockRetries.inc({ result: outcome === "retried" ? "attempted" : outcome }),
  });
  const replay = createReplayer({ pool, log, settleSeconds });
  const repair = createRepairer({ pool, log, settleSeconds });
  const purge = createPurger({ pool, log });
  const loops: Loop[] = [
    createHeartbeat({ pool, log, instance, version: VERSION, roles: [...roles], disk, spool: () => spool.state() }),
    ...(roles.has("projector")
      ? [
          projector,
          replay,
          repair,
          purge,
          createWorkWatch({ pool, log, loops: { inbox: projector, replay, repair, purge } }),
          createRatesPruner({ pool, log }),
        ]
      : []),
    ...(roles.has("enrichment")
      ? [
          createEnricher({
            pool,
            log,
            apiKey: config.SENDGRID_API_KEY,
            apiUrl: config.SENDGRID_API_URL,
            api: config.HOLDFAST_ENRICHMENT_API,
            callsPerMinute: config.HOLDFAST_API_CALLS_PER_MINUTE,
            enrichSimulated: config.HOLDFAST_ENRICH_SIMULATED,
          }),
        ]
      : []),
    ...(roles.has("maintenance")
      ? [
          createAlertWatch({ pool, log, delivery }),
          createPartitionKeeper({ pool, log }),
          createReconciler({ pool, log, ...reconcileSettings(config), ...recordsOf(config) }),
        ]
      : []),
  ];
  for (const loop of loops) loop.start();
  return { loops, wakeProjector: () => projector.wake(), pace };
}

function recordsOf(config: Config): Pick<ReconcilerOptions, "client" | "isKeySet" | "nightly"> {
  const { SENDGRID_API_KEY: apiKey, SENDGRID_API_URL: apiUrl, HOLDFAST_RECONCILE: nightly } = config;
  return { client: createRecordsClient({ apiKey: apiKey ?? "", apiUrl }), isKeySet: apiKey !== undefined, nightly };
}

async function stopAll(loops: readonly Loop[]): Promise<void> {
  const stopped = await Promise.allSettled(loops.map((loop) => loop.stop()));
  // Not before all have ended: what stops next is what they stand on.
  for (const one of stopped) if (one.status === "rejected") throw one.reason;
}

async function makeLoginUrl(pool: Pool, config: Config, url: string): Promise<string> {
  await ensureAdmin(pool, config.HOLDFAST_ADMIN_TOKEN);
  // Behind the # it never leaves the browser: not to a proxy's log, not as a referrer.
  return `${config.HOLDFAST_PUBLIC_URL ?? url}/login#${await createLoginLink(pool)}`;
}
