import { ENRICH_GATHER_SECONDS, ENRICH_IDLE_MS, ENRICH_ORDERS_IN_A_ROW_MAX } from "../limits.ts";
import type { Log } from "../log.ts";
import { createLoop, type Loop } from "../loop.ts";
import type { Pool } from "../postgres/pool.ts";
import { createApiClient, type ApiClient } from "../sendgrid/api-client.ts";
import { ALLOWED_APIS, type ProviderApi } from "../sendgrid/api-types.ts";
import { askableApis } from "../sendgrid/budget.ts";
import type { Context, Step } from "./context.ts";
import { foldOrders, orderStep } from "./order-step.ts";
import { giveBack, windowStep, type WindowState } from "./window-step.ts";

export interface EnricherOptions {
  pool: Pool;
  log: Log;
  /** Undefined: nothing is asked. */
  apiKey: string | undefined;
  apiUrl: string;
  /** `auto` asks Email Logs, and Messages where the account has no Email Logs. */
  api: keyof typeof ALLOWED_APIS;
  callsPerMinute: number;
  enrichSimulated: boolean;
  /** How long due messages wait for others that are coming. */
  gatherSeconds?: number;
  /** For one call. */
  timeoutMs?: number;
  /** The present, for tests. Without it the database's clock. */
  now?: () => Date;
}

export interface Enricher extends Loop {
  /** One unit of work, with at most one call. Whether there may be more at once. */
  tick(): Promise<boolean>;
}

/**
 * Adds to messages what SendGrid's API knows of them: first those that a person has open, one call each, then all others
 * by windows of many.
 *
 * Invariant (promise P5): it starts from committed rows only, and a message stays `pending` until it is answered or has
 * failed: claimed messages come back by themselves. Test: enricher.pg.test.ts.
 */
export function createEnricher(options: EnricherOptions): Enricher {
  const {
    pool,
    log,
    apiKey,
    api,
    callsPerMinute,
    enrichSimulated,
    now,
    gatherSeconds = ENRICH_GATHER_SECONDS,
  } = options;
  const apis = apiKey === undefined ? [] : ALLOWED_APIS[api];
  const client = createClient(options);
  let isStopping = false;
  const context: Context = {
    pool,
    log,
    client,
    callsPerMinute,
    enrichSimulated,
    gatherSeconds,
    now: () => now?.(),
    isStopping: () => isStopping,
  };
  const windows: WindowState = { batch: undefined, coveredToMs: -Infinity };
  const nextStep = createTurns(context, windows);
  let startedAt: Date | undefined;
  let current: ProviderApi | undefined;

  async function tick(): Promise<boolean> {
    if (apis.length === 0 || isStopping) return false;
    startedAt ??= now?.() ?? (await readClock(pool));
    const [chosen] = await askableApis(pool, apis, startedAt, now?.());
    if (chosen !== current) log.info({ api: chosen ?? "none" }, "enrichment asks this API of SendGrid");
    current = chosen;
    if (chosen !== undefined) return nextStep(chosen);
    await giveBack(context, windows);
    await foldOrders(context);
    return false;
  }

  const loop = createLoop({ name: "enrichment", log, tick, idleMs: apis.length === 0 ? Infinity : ENRICH_IDLE_MS });
  return {
    ...loop,
    tick,
    async stop() {
      isStopping = true;
      await client.close();
      await loop.stop();
      await giveBack(context, windows);
    },
  };
}

function createClient({ apiKey = "", apiUrl, timeoutMs, now }: EnricherOptions): ApiClient {
  return createApiClient({
    apiKey,
    apiUrl,
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(now === undefined ? {} : { now: () => now().getTime() }),
  });
}

async function readClock(pool: Pool): Promise<Date> {
  const clock = await pool.query<{ at: Date }>("SELECT now() AS at");
  return clock.rows[0]?.at ?? new Date();
}

/**
 * Whose turn it is: orders first, but after some in a row a window, so that people clicking cannot stop the rest. Says
 * whether there may be more to do at once.
 */
function createTurns(context: Context, windows: WindowState): (api: ProviderApi) => Promise<boolean> {
  // A wait is a distance in time: the wall clock may jump, and a jump back would stretch it by as much.
  const clockMs = (): number => context.now()?.getTime() ?? performance.now();
  /** Before then the budgets have nothing to give. An API's budget is its own. */
  const notBeforeMs = new Map<string, number>();
  let ordersInARow = 0;

  async function timed(key: string, step: () => Promise<Step>): Promise<Step> {
    const waitMs = (notBeforeMs.get(key) ?? -Infinity) - clockMs();
    if (waitMs > 0) return { done: false, waitSeconds: waitMs / 1000 };
    const taken = await step();
    if (!taken.done) notBeforeMs.set(key, clockMs() + taken.waitSeconds * 1000);
    return taken;
  }

  return async (api) => {
    const isWindowsTurn = ordersInARow >= ENRICH_ORDERS_IN_A_ROW_MAX;
    if (isWindowsTurn) {
      const step = await timed(`${api} urgent`, () => windowStep(context, windows, api, "urgent"));
      // While the window waits for its call, an order must not take it away.
      if (!step.done && step.waitSeconds > 0) return false;
      ordersInARow = 0;
      if (step.done) return true;
    }
    const order = await timed(`${api} order`, () => orderStep(context, api));
    if (order.done) {
      ordersInARow += 1;
      return true;
    }
    const window = await timed(`${api} window`, () => windowStep(context, windows, api, "normal"));
    if (window.done) ordersInARow = 0;
    return window.done;
  };
}
