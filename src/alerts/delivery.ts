import { PgBoss } from "pg-boss";
import type { AlertReceiver } from "../config.ts";
import { ALERT_DELIVERY_MS_MAX, ALERT_DELIVERY_TRIES_MAX } from "../limits.ts";
import type { Log } from "../log.ts";
import type { Connection, Pool } from "../postgres/pool.ts";
import { receiverName, requestOf, type AlertNews } from "./receivers.ts";
import type { Finding } from "./rules.ts";

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
  /** The receivers that refused some news twice, and took none since. */
  findFailing(tx: Connection): Promise<Finding[]>;
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
      const failing = new Set(news.some(isAboutReceiver) ? (await findFailing(tx, receivers)).map(sourceOf) : []);
      for (const entry of news) {
        for (const [index, receiver] of receivers.entries()) {
          // Neither a receiver's own failure nor its end may make further deliveries that fail, or two failing receivers
          // would go on telling each other of it: only those that take news hear of one that does not.
          const isUseful = !isAboutReceiver(entry) || !(isOver(entry) || failing.has(receiverName(receiver, index)));
          if (isUseful) await boss.send(DELIVERY_QUEUE, { receiver, news: entry }, { db });
        }
      }
    },
    findFailing: (tx) => findFailing(tx, receivers),
    async stop() {
      if (receivers.length > 0) await boss.stop({ graceful: true, timeout: ALERT_DELIVERY_MS_MAX });
    },
  };
}

const isAboutReceiver = ({ kind }: AlertNews): boolean => kind === "receiver_failing";
const isOver = ({ state }: AlertNews): boolean => state === "resolved";
const sourceOf = ({ source }: Finding): string => source;

/**
 * A first refusal may be a blip; after the second the receiver counts as failing, until it takes something or nothing is
 * left to be tried. It is named by its form and place in the settings: its address is a secret. Test: delivery.pg.test.ts.
 */
async function findFailing(tx: Connection, receivers: readonly AlertReceiver[]): Promise<Finding[]> {
  if (receivers.length === 0) return [];
  const failing = await tx.query<{ receiver: number; count: number; since: Date }>(
    `SELECT r.index - 1 AS receiver, count(*) AS count, min(job.created_on) AS since
     FROM jsonb_array_elements($2::jsonb) WITH ORDINALITY AS r (receiver, index)
     JOIN pgboss.job ON job.name = $1 AND job.data -> 'receiver' = r.receiver
     WHERE (job.state = 'retry' AND job.retry_count >= 1 OR job.state = 'active' AND job.retry_count >= 2)
       AND NOT EXISTS (
         SELECT FROM pgboss.job AS taken
         WHERE taken.name = $1 AND taken.state = 'completed' AND taken.data -> 'receiver' = r.receiver AND taken.completed_on > job.started_on
       )
     GROUP BY r.index ORDER BY r.index`,
    [DELIVERY_QUEUE, JSON.stringify(receivers)],
  );
  return failing.rows.flatMap(({ receiver: index, count, since }) => {
    const receiver = receivers[index];
    if (receiver === undefined) return [];
    return [{ kind: "receiver_failing" as const, source: receiverName(receiver, index), count, since }];
  });
}
