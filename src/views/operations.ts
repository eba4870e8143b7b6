import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { FastifyInstance } from "fastify";
import Type from "typebox";
import { ClientError } from "../errors.ts";
import { readInbox } from "../ledger/read-status.ts";
import { RETRY_AFTER_SECONDS, SENDGRID_PATIENCE_SECONDS } from "../limits.ts";
import { alertsOpen, inboxOldestSeconds, inboxReceipts, registry } from "../metrics.ts";
import type { Pool } from "../postgres/pool.ts";
import { requireRole } from "./auth.ts";
import { type NotReady, NotReadySchema } from "./contract-live.ts";
import { ErrorSchema } from "./contract.ts";
import type { SpoolState, ViewOptions } from "./deps.ts";

const SQL_FOLDER = join(import.meta.dirname, "../../sql");
/** Readiness is asked every few seconds; a database that takes longer is not ready. */
const READY_MS_MAX = 2_000;

const isUp = Type.Object({ ok: Type.Literal(true) });

/**
 * Adds what the machinery around a process asks: `GET /healthz` (it runs), `GET /readyz` (its database answers and is
 * migrated) and `GET /metrics`. The first two say nothing else and need no token.
 */
export function addOperationRoutes(app: FastifyInstance, options: Pick<ViewOptions, "pool" | "spoolState">): void {
  const { pool, spoolState } = options;
  const health = { tags: ["operation"], security: [] };
  app.get(
    "/healthz",
    { schema: { ...health, summary: "The process runs.", response: { 200: isUp, default: ErrorSchema } } },
    async () => ({ ok: true }),
  );
  app.get(
    "/readyz",
    {
      schema: {
        ...health,
        summary:
          "The database answers and is migrated. If not: what is spooled, and until when SendGrid still sends it.",
        response: { 200: isUp, 503: NotReadySchema, default: ErrorSchema },
      },
    },
    async (_request, reply) => {
      if (await isReady(pool)) return { ok: true };
      const answer = notReady(spoolState?.() ?? { posts: 0, bytes: 0, oldestEventAt: undefined });
      return reply.status(503).header("retry-after", RETRY_AFTER_SECONDS).send(answer);
    },
  );
  app.get(
    "/metrics",
    {
      onRequest: requireRole(pool, "support"),
      schema: {
        summary: "Counters of this process, in Prometheus' text format.",
        tags: ["operation"],
        response: {
          200: { description: "metrics", content: { "text/plain": { schema: { type: "string" } } } },
          default: ErrorSchema,
        },
      },
    },
    async (_request, reply) => {
      const inbox = await readInbox(pool);
      inboxReceipts.set(inbox.receipts);
      inboxOldestSeconds.set(inbox.oldestSeconds);
      await setAlertsOpen(pool);
      return reply.type(registry.contentType).send(await registry.metrics());
    },
  );
}

/** Adds `GET /healthz` and `GET /readyz` as they are while the start waits for the database. */
export function addWaitingRoutes(app: FastifyInstance, spoolState: () => SpoolState): void {
  app.get("/healthz", async () => ({ ok: true }));
  app.get("/readyz", async (_request, reply) =>
    reply.status(503).header("retry-after", RETRY_AFTER_SECONDS).send(notReady(spoolState())),
  );
}

async function setAlertsOpen(pool: Pool): Promise<void> {
  const open = await pool.query<{ kind: string; count: number }>(
    "SELECT kind, count(*) AS count FROM alerts WHERE resolved_at IS NULL GROUP BY kind",
  );
  alertsOpen.reset();
  for (const { kind, count } of open.rows) alertsOpen.set({ kind }, count);
}

function notReady({ posts, bytes, oldestEventAt }: SpoolState): NotReady {
  const givesUpAt =
    oldestEventAt === undefined ? undefined : new Date(oldestEventAt.getTime() + SENDGRID_PATIENCE_SECONDS * 1000);
  const { error } = new ClientError("not_ready", spoolSentence(posts, givesUpAt)).body();
  return {
    error,
    spool: {
      posts,
      bytes,
      oldestEventAt: oldestEventAt?.toISOString() ?? null,
      givesUpAt: givesUpAt?.toISOString() ?? null,
    },
  };
}

function spoolSentence(posts: number, givesUpAt: Date | undefined): string {
  const away = "The database does not answer or is not migrated.";
  if (posts === 0 || givesUpAt === undefined) return `${away} Nothing is spooled.`;
  const minutes = Math.floor((givesUpAt.getTime() - Date.now()) / 60_000);
  const clock =
    minutes < 0
      ? "SendGrid no longer sends the oldest of their events; the copy here is the only one"
      : `SendGrid sends the oldest of their events for another ${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  return `${away} ${posts} ${posts === 1 ? "POST waits" : "POSTs wait"} in the spool and ${posts === 1 ? "is" : "are"} filed as soon as it does. ${clock}.`;
}

async function isReady(pool: Pool): Promise<boolean> {
  const migrations = (await readdir(SQL_FOLDER)).filter((file) => /^\d{4}_.*\.sql$/.test(file)).length;
  // The timer is cleared either way: a stopped process must not wait for it.
  let timer: NodeJS.Timeout | undefined;
  const tooSlow = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), READY_MS_MAX);
  });
  const answered = pool
    .query<{ number: number | null }>("SELECT max(number) AS number FROM migrations")
    .then(({ rows }) => (rows[0]?.number ?? 0) >= migrations)
    // Whatever the reason (away, not migrated at all), the answer is the same: not ready.
    .catch(() => false);
  try {
    return await Promise.race([answered, tooSlow]);
  } finally {
    clearTimeout(timer);
  }
}
