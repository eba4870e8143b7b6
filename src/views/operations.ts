import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { FastifyInstance } from "fastify";
import Type from "typebox";
import { ClientError } from "../errors.ts";
import { readInbox } from "../ledger/read-status.ts";
import { inboxOldestSeconds, inboxReceipts, registry } from "../metrics.ts";
import type { Pool } from "../postgres/pool.ts";
import { requireRole } from "./auth.ts";
import { ErrorSchema } from "./contract.ts";

const SQL_FOLDER = join(import.meta.dirname, "../../sql");
/** Readiness is asked every few seconds; a database that takes longer is not ready. */
const READY_MS_MAX = 2_000;

const isUp = Type.Object({ ok: Type.Literal(true) });

/**
 * Adds what the machinery around a process asks: `GET /healthz` (it runs), `GET /readyz` (its database answers and is
 * migrated) and `GET /metrics`. The first two say nothing else and need no token.
 */
export function addOperationRoutes(app: FastifyInstance, pool: Pool): void {
  const health = { tags: ["operation"], security: [], response: { 200: isUp, default: ErrorSchema } };
  app.get("/healthz", { schema: { ...health, summary: "The process runs." } }, async () => ({ ok: true }));
  app.get("/readyz", { schema: { ...health, summary: "The database answers and is migrated." } }, async () => {
    if (!(await isReady(pool))) throw new ClientError("not_ready");
    return { ok: true };
  });
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
      return reply.type(registry.contentType).send(await registry.metrics());
    },
  );
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
