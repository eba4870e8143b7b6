import { createEnricher, type Enricher, type EnricherOptions } from "../src/enrichment/enricher.ts";
import { createLog } from "../src/log.ts";
import type { ApiDoubleOptions } from "../src/simulator/api-context.ts";
import { startApiDouble, type ApiDouble } from "../src/simulator/api-double.ts";
import { testDatabase, type TestDatabase } from "./database.ts";

/** What a test says of a mail. Times are seconds from the world's beginning; most mail is a delivered invoice. */
export interface Mail {
  id: string;
  /** Its first event. */
  at: number;
  /** Its last event, when that is another. */
  lastAt?: number;
  category?: string;
  simulated?: boolean;
  /** Whether the ledger or SendGrid does not know it. */
  unknownTo?: "ledger" | "sendgrid";
}

export interface EnrichmentRow {
  id: string;
  state: string;
  attempts: number;
  api: string | null;
  status: string | null;
  subject: string | null;
  sender: string | null;
  template: string | null;
  opens: number | null;
  clicks: number | null;
  error: string | null;
}

/** A ledger, a double of SendGrid's API, and a clock that both go by. */
export interface EnrichmentWorld {
  db: TestDatabase;
  readonly api: ApiDouble;
  now(): Date;
  advance(seconds: number): void;
  /** Starts anew: an empty ledger, another double. */
  reset(options?: ApiDoubleOptions): Promise<void>;
  /** Files mail in the ledger, due at once, and tells the double of it. */
  file(mail: readonly Mail[]): Promise<void>;
  enricher(options?: Partial<EnricherOptions>): Enricher;
  /** Ticks once a second or step, and at once while there is more to do: for that long, or until something is so. */
  run(
    enricher: Enricher,
    seconds: number,
    options?: { until?: () => Promise<boolean>; stepSeconds?: number },
  ): Promise<void>;
  rows(): Promise<EnrichmentRow[]>;
  /** How many messages are in each state. */
  states(): Promise<Record<string, number>>;
  isSettled(): Promise<boolean>;
  /** All calls that the double answered. */
  calls(): number;
  order(...ids: string[]): Promise<void>;
  orders(): Promise<number>;
  end(): Promise<void>;
}

const BEGINNING_MS = Date.UTC(2026, 2, 1, 9);

export async function enrichmentWorld(): Promise<EnrichmentWorld> {
  const db = await testDatabase();
  const { pool } = db;
  let clockMs = BEGINNING_MS;
  let api = await startApiDouble();
  const enrichers: Enricher[] = [];

  async function stopAll(): Promise<void> {
    for (const enricher of enrichers.splice(0)) await enricher.stop();
    await api.stop();
  }

  const world: EnrichmentWorld = {
    db,
    get api() {
      return api;
    },
    now: () => new Date(clockMs),
    advance(seconds) {
      clockMs += seconds * 1000;
    },
    async reset(options = {}) {
      await stopAll();
      await pool.query("TRUNCATE messages, enrichments, enrichment_orders, provider_apis, sources, source_keys");
      await pool.query("INSERT INTO sources (name, simulated) VALUES ('default', false), ('simulation', true)");
      clockMs = BEGINNING_MS + 86_400_000;
      api = await startApiDouble({ now: () => clockMs, visibleAfterSeconds: 0, ...options });
    },
    async file(mail) {
      for (const one of mail) if (one.unknownTo !== "sendgrid") for (const event of eventsOf(one)) api.record(event);
      await fileMail(
        db,
        mail.filter(({ unknownTo }) => unknownTo !== "ledger"),
        clockMs,
      );
    },
    enricher(options = {}) {
      const enricher = createEnricher({
        pool,
        log: createLog("silent"),
        apiKey: api.apiKey,
        apiUrl: api.url,
        api: "auto",
        callsPerMinute: 6,
        enrichSimulated: false,
        now: () => new Date(clockMs),
        ...options,
      });
      enrichers.push(enricher);
      return enricher;
    },
    async run(enricher, seconds, { until = async () => false, stepSeconds = 1 } = {}) {
      for (let second = 0; second < seconds && !(await until()); second += stepSeconds) {
        while (await enricher.tick());
        world.advance(stepSeconds);
      }
    },
    rows: () => readRows(db),
    async states() {
      const found = await pool.query<{ state: string; count: number }>(
        "SELECT state, count(*) FROM enrichments GROUP BY state",
      );
      return Object.fromEntries(found.rows.map(({ state, count }) => [state, count]));
    },
    isSettled: async () => (await pool.query("SELECT FROM enrichments WHERE state = 'pending' LIMIT 1")).rowCount === 0,
    calls: () => api.calls.logs + api.calls.log + api.calls.messages + api.calls.message,
    async order(...ids) {
      await pool.query(
        `INSERT INTO enrichment_orders (message, ordered_at) SELECT id, $2 FROM messages WHERE message_id = ANY ($1) ON CONFLICT DO NOTHING`,
        [ids, new Date(clockMs)],
      );
    },
    orders: async () => (await pool.query("SELECT FROM enrichment_orders")).rowCount ?? 0,
    async end() {
      await stopAll();
      await db.drop();
    },
  };
  return world;
}

/** Mail with ids that look like SendGrid's, one second after the other or as `spread` says. */
export function mails(count: number, spread: (index: number) => number, changes: Partial<Mail> = {}): Mail[] {
  const categories = ["invoice", "password-reset", "registration"];
  return Array.from({ length: count }, (_, index) => {
    const name = Buffer.from(`mail ${index * 7919} of ${count}`)
      .toString("base64url")
      .split("")
      .reverse()
      .join("");
    const category = categories[index % categories.length] ?? "invoice";
    return { id: `${name}.recvd-5c8d7f-1-${index}-7.0`, at: spread(index), category, ...changes };
  });
}

function eventsOf({ id, at, lastAt, category = "invoice" }: Mail): Record<string, unknown>[] {
  const event = {
    email: `${id.slice(0, 8)}@example.com`,
    sg_message_id: id,
    category: [category],
    order_id: id.slice(0, 6),
  };
  const seconds = BEGINNING_MS / 1000;
  return [
    { ...event, event: "processed", timestamp: seconds + at, sg_event_id: `processed-${id}` },
    { ...event, event: "delivered", timestamp: seconds + (lastAt ?? at), sg_event_id: `delivered-${id}` },
  ];
}

async function fileMail(db: TestDatabase, mail: readonly Mail[], clockMs: number): Promise<void> {
  const rows = mail.map(({ id, at, lastAt, category = "invoice", simulated = false }) => ({
    id,
    category,
    simulated,
    first: new Date(BEGINNING_MS + at * 1000),
    last: new Date(BEGINNING_MS + (lastAt ?? at) * 1000),
  }));
  await db.pool.query(
    `WITH filed AS (
       INSERT INTO messages (message_id, source, first_event_at, last_event_at, categories, delivery)
       SELECT row.id, s.id, row.first, row.last, ARRAY[row.category], 'delivered'
       FROM jsonb_to_recordset($1::jsonb) AS row (id text, category text, simulated boolean, first timestamptz, last timestamptz)
         JOIN sources AS s ON s.simulated = row.simulated
       RETURNING id
     )
     INSERT INTO enrichments (message, next_attempt_at) SELECT id, $2::timestamptz - interval '10 seconds' FROM filed`,
    [JSON.stringify(rows), new Date(clockMs)],
  );
  // Autovacuum would get here within a minute of real time, which these tests do not wait for: without statistics a plan for
  // a handful of rows meets thousands.
  await db.pool.query("ANALYZE messages, enrichments");
}

async function readRows({ pool }: TestDatabase): Promise<EnrichmentRow[]> {
  const found = await pool.query<EnrichmentRow>(
    `SELECT m.message_id AS id, e.state, e.attempts, e.api, e.status, e.subject, e.sender, e.template, e.opens, e.clicks, e.error
     FROM enrichments AS e JOIN messages AS m ON m.id = e.message ORDER BY m.message_id`,
  );
  return found.rows;
}
