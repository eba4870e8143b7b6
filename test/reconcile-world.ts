import { createProjector } from "../src/ledger/projector.ts";
import { drainRepairs } from "../src/ledger/repair.ts";
import { createLog } from "../src/log.ts";
import { accountsOf } from "../src/reconcile/accounts.ts";
import {
  reconcileDays,
  type ReconcileOptions,
  type ReconcileRequest,
  type ReconcileResult,
} from "../src/reconcile/run.ts";
import { createRecordsClient, type RecordsClient } from "../src/sendgrid/records-client.ts";
import type { ApiDoubleOptions } from "../src/simulator/api-context.ts";
import { startApiDouble, type ApiDouble } from "../src/simulator/api-double.ts";
import { simulateMessages, type TrafficOptions } from "../src/simulator/traffic.ts";
import type { WireEvent } from "../src/simulator/truth.ts";
import { testDatabase, type TestDatabase } from "./database.ts";
import { receiptWriter, type ReceiptWriter } from "./receipts.ts";

/** An event of the traffic: what is posted, and what SendGrid itself knows of it (undefined for a twin). */
export interface Happening {
  wire: WireEvent;
  truth: WireEvent | undefined;
}

/** A ledger, a double of SendGrid's API with its own truth, and a clock that both go by. */
export interface ReconcileWorld {
  db: TestDatabase;
  readonly api: ApiDouble;
  now(): Date;
  setNow(time: string): void;
  advance(seconds: number): void;
  /** Starts anew: an empty ledger, another double. */
  reset(options?: ApiDoubleOptions): Promise<void>;
  /** SendGrid comes to know of events. */
  happen(events: readonly Happening[], account?: string): void;
  /** The webhook of a source brings events, and they are filed. */
  deliver(events: readonly Happening[], source?: string): Promise<void>;
  /** Checks days on the double's records. */
  reconcile(
    request: Partial<ReconcileRequest> & { fromDay: string },
    options?: Partial<ReconcileOptions>,
  ): Promise<ReconcileResult>;
  /** Options for a check, for tests that make it themselves. */
  options(changes?: Partial<ReconcileOptions>): ReconcileOptions;
  /** Carries out the repairs that are ordered. */
  settleRepairs(): Promise<void>;
  /** The confirmed gaps in these states, as `keysOf` names events. */
  gapKeys(...states: string[]): Promise<string[]>;
  rows<T extends object>(sql: string, values?: unknown[]): Promise<T[]>;
  /** Calls of the APIs whose budget is tight. */
  tightCalls(): number;
  end(): Promise<void>;
}

const RECEIPT_EVENTS = 1_000;
const TABLES =
  "messages, events, quarantine, tallies, enrichments, inbox, receipts, arg_keys, provider_apis, gaps, repair_orders, repairs, " +
  "reconciliations, reconciliation_changes, reconciliation_runs, reconciliation_orders, rates, sends";

export async function reconcileWorld(): Promise<ReconcileWorld> {
  const db = await testDatabase();
  const { pool } = db;
  const log = createLog("silent");
  const writers = new Map<string, ReceiptWriter>();
  let clockMs = Date.parse("2026-03-10T12:00:00Z");
  const now = (): Date => new Date(clockMs);
  let api = await startApiDouble();
  let client: RecordsClient = createRecordsClient({ apiKey: api.apiKey, apiUrl: api.url });
  const projector = createProjector({ pool, log, settleSeconds: 90 });

  async function stop(): Promise<void> {
    await client.close();
    await api.stop();
  }

  const world: ReconcileWorld = {
    db,
    get api() {
      return api;
    },
    now,
    setNow(time) {
      clockMs = Date.parse(time);
    },
    advance(seconds) {
      clockMs += Math.ceil(seconds * 1000);
    },
    async reset(options = {}) {
      await stop();
      await pool.query(`TRUNCATE ${TABLES}`);
      api = await startApiDouble({ now: () => clockMs, visibleAfterSeconds: 0, ...options });
      client = createRecordsClient({ apiKey: api.apiKey, apiUrl: api.url, now: () => clockMs });
    },
    happen(events, account) {
      for (const { truth } of events) if (truth !== undefined) api.record(truth, account);
    },
    async deliver(events, source = "default") {
      const write = writers.get(source) ?? (await receiptWriter(pool, source));
      writers.set(source, write);
      for (let at = 0; at < events.length; at += RECEIPT_EVENTS) {
        await write(events.slice(at, at + RECEIPT_EVENTS).map(({ wire }) => wire));
      }
      while (await projector.tick());
      // Autovacuum would get here within a minute of real time.
      await pool.query("ANALYZE messages, events, enrichments");
      // These tests are not about enrichment, which would have half of the calls.
      await pool.query("UPDATE enrichments SET state = 'enriched'");
    },
    async settleRepairs() {
      await drainRepairs(pool, { settleSeconds: 90 });
    },
    options: (changes = {}) => ({
      pool,
      log,
      client,
      accounts: accountsOf(),
      timeZone: "UTC",
      apis: ["logs", "messages"],
      callsPerMinute: 6,
      includeSimulated: false,
      settleRepairs: world.settleRepairs,
      now,
      async wait(seconds, signal) {
        signal?.throwIfAborted();
        clockMs += Math.ceil(seconds * 1000);
      },
      ...changes,
    }),
    reconcile: (request, changes = {}) =>
      reconcileDays(world.options(changes), { toDay: request.fromDay, repair: false, name: "test", ...request }),
    async gapKeys(...states) {
      const found = await pool.query<{ key: string }>(
        `SELECT concat_ws(' ', item->>'sg_message_id', item->>'event', item->>'timestamp') AS key FROM gaps
         WHERE state = ANY ($1) AND confidence = 'confirmed'`,
        [states],
      );
      return found.rows.map(({ key }) => key).sort();
    },
    rows: async <T extends object>(sql: string, values: unknown[] = []) => (await pool.query<T>(sql, values)).rows,
    tightCalls: () => api.calls.logs + api.calls.log + api.calls.messages + api.calls.message,
    async end() {
      await stop();
      await db.drop();
    },
  };
  return world;
}

/** Simulated traffic of a time, event by event in the order of time. */
export function traffic(from: string, hours: number, options: Partial<TrafficOptions> = {}): Happening[] {
  const all = [
    ...simulateMessages({
      seed: "reconcile",
      startSeconds: Date.parse(from) / 1000,
      periodSeconds: hours * 3_600,
      events: 1_000,
      twins: false,
      missingIds: false,
      poison: false,
      ...options,
    }),
  ].flatMap(({ events }) => events);
  return all.sort((a, b) => a.atSeconds - b.atSeconds).map(({ wire, truth }) => ({ wire, truth }));
}

/** What names events for tests: message, type and second, in order. */
export function keysOf(events: readonly Happening[]): string[] {
  return events
    .map(({ truth = {} }) => [truth["sg_message_id"], truth["event"], truth["timestamp"]].map(String).join(" "))
    .sort();
}

/** SendGrid has no total of these, so that what is lost of them alone cannot be known. */
export function hasTotal({ wire }: Happening): boolean {
  return !String(wire["event"]).startsWith("group_");
}

/** Of the events with a total, every n-th from an offset on is lost on its way. */
export function loseEvery(
  events: readonly Happening[],
  n: number,
  offset = 0,
): { lost: Happening[]; kept: Happening[] } {
  const lost = new Set(events.filter(hasTotal).filter((_, index) => index % n === offset % n));
  return { lost: [...lost], kept: events.filter((event) => !lost.has(event)) };
}
