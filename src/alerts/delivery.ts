import { PgBoss } from "pg-boss";
import type { AlertReceiver } from "../config.ts";
import { ALERT_DELIVERY_MS_MAX, ALERT_DELIVERY_TRIES_MAX } from "../limits.ts";
import type { Log } from "../log.ts";
import type { Connection, Pool } from "../postgres/pool.ts";
import { requestOf, type AlertNews } from "./receivers.ts";

/** The jobs' queue. A job is one alert's news for one receiver, so that a failing one does not repeat it to the others. */
const DELIVERY_QUEUE = "alert-delivery";

interface DeliveryJob {
  receiver: AlertReceiver;
  news: AlertNews;
}

export interface AlertDelivery {
  start(): Promise<void>;
  /** Orders the delivery in the caller's transaction: it happens if and only if the alert's change is committed. */
  order(tx: Connection, news: readonly AlertNews[]): Promise<void>;
  stop(): Promise<void>;
}

export interface AlertDeliveryOptions {
  pool: Pool;
  log: Log;
  receivers: readonly AlertReceiver[];
  /** Signs what goes to `standard` receivers. */
  secret: string | undefined;
  /** Seconds before the first retry; doubled each time. */
  retrySeconds?: number;
}

/** Tells the receivers about alerts, through a job queue in the same database: news survive a restart and are tried again. */
export function createAlertDelivery(options: AlertDeliveryOptions): AlertDelivery {
  const { pool, log, receivers, secret, retrySeconds = 30 } = options;
  const boss = new PgBoss({ db: { executeSql: (text, values) => pool.query(text, values) } });
  boss.on("error", (error) => log.warn({ err: error }, "the job queue reports an error"));

  async function deliver(id: string, { receiver, news }: DeliveryJob): Promise<void> {
    const request = requestOf(receiver, news, { id, secret, now: new Date() });
    const response = await fetch(receiver.url, {
      ...request,
      redirect: "error",
      signal: AbortSignal.timeout(ALERT_DELIVERY_MS_MAX),
    });
    await response.body?.cancel();
    if (response.ok) return;
    log.warn({ alert: news.alert, form: receiver.form, status: response.status }, "an alert's receiver refuses it");
    throw new Error(`the receiver answered ${response.status}`);
  }

  return {
    async start() {
      if (receivers.length === 0) return;
      await boss.start();
      await boss.createQueue(DELIVERY_QUEUE, {
        retryLimit: ALERT_DELIVERY_TRIES_MAX - 1,
        retryDelay: retrySeconds,
        retryBackoff: true,
        expireInSeconds: 60,
      });
      await boss.work<DeliveryJob>(DELIVERY_QUEUE, { pollingIntervalSeconds: 2 }, async (jobs) => {
        for (const job of jobs) await deliver(job.id, job.data);
      });
    },
    async order(tx, news) {
      const db = { executeSql: (text: string, values?: unknown[]) => tx.query(text, values) };
      for (const entry of news) {
        for (const receiver of receivers) await boss.send(DELIVERY_QUEUE, { receiver, news: entry }, { db });
      }
    },
    async stop() {
      if (receivers.length > 0) await boss.stop({ graceful: true, timeout: ALERT_DELIVERY_MS_MAX });
    },
  };
}
