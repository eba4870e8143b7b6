import { ClientError } from "../errors.ts";
import {
  PAGE_ROWS_DEFAULT,
  RECONCILE_RANGE_DAYS_MAX,
  RECONCILIATION_ORDERS_MAX,
  VIEW_BODY_BYTES_MAX,
} from "../limits.ts";
import { lockTransaction } from "../postgres/advisory-lock.ts";
import type { Pool } from "../postgres/pool.ts";
import { transaction } from "../postgres/transaction.ts";
import { accountZone } from "./account-zone.ts";
import type { App } from "./app.ts";
import { requireRole, viewerOf } from "./auth.ts";
import {
  type ReconciliationList,
  ReconciliationListSchema,
  ReconciliationOrderSchema,
  ReconciliationQuerySchema,
  type ReconciliationRun,
} from "./contract-completeness.ts";
import { ErrorSchema, OrderedSchema } from "./contract.ts";
import { readCursor, writeCursor } from "./cursor.ts";
import { type DayRange, readDayRange } from "./days.ts";
import type { ViewDeps } from "./deps.ts";
import { isoTime } from "./present.ts";

/** Adds `GET` and `POST /api/reconciliations`. */
export function addReconciliationRoutes(app: App, deps: ViewDeps): void {
  addList(app, deps);
  addOrder(app, deps);
}

interface RunRow extends Omit<ReconciliationRun, "id" | "startedAt" | "finishedAt"> {
  id: number;
  startedAt: Date;
  finishedAt: Date | null;
}

interface OrderRow {
  id: number;
  from: string;
  to: string;
  repair: boolean;
  name: string;
  orderedAt: Date;
}

function addList(app: App, { pool, read }: ViewDeps): void {
  app.get(
    "/api/reconciliations",
    {
      onRequest: requireRole(pool, "support"),
      schema: {
        summary: "The checks against SendGrid's records, newest first, and the orders that wait.",
        tags: ["completeness"],
        querystring: ReconciliationQuerySchema,
        response: { 200: ReconciliationListSchema, default: ErrorSchema },
      },
    },
    async ({ query }): Promise<ReconciliationList> => {
      const { cursor, limit = PAGE_ROWS_DEFAULT } = query;
      const before = cursor === undefined ? null : readCursor("r", cursor);
      const { orders, runs } = await read(async (tx) => ({
        orders: await tx.query<OrderRow>(
          `SELECT id, from_day::text AS "from", to_day::text AS "to", repair, name, ordered_at AS "orderedAt"
           FROM reconciliation_orders o
           WHERE NOT EXISTS (SELECT FROM reconciliation_runs r WHERE r.state = 'running' AND r.from_day = o.from_day
             AND r.to_day = o.to_day AND r.repair = o.repair AND r.name = o.name)
           ORDER BY id DESC LIMIT $1`,
          [RECONCILIATION_ORDERS_MAX],
        ),
        runs: await tx.query<RunRow>(
          `SELECT id, from_day::text AS "from", to_day::text AS "to", repair, name, state, started_at AS "startedAt",
             finished_at AS "finishedAt", calls, progress->'days' AS progress, error
           FROM reconciliation_runs WHERE $1::bigint IS NULL OR id < $1 ORDER BY id DESC LIMIT $2`,
          [before, limit + 1],
        ),
      }));
      const page = runs.rows.slice(0, limit);
      const last = runs.rows.length > page.length ? page.at(-1) : undefined;
      return {
        orders: orders.rows.map((row) => Object.assign(row, { id: String(row.id), orderedAt: isoTime(row.orderedAt) })),
        runs: page.map((row) =>
          Object.assign(row, {
            id: String(row.id),
            startedAt: isoTime(row.startedAt),
            finishedAt: isoTime(row.finishedAt),
          }),
        ),
        nextCursor: last === undefined ? null : writeCursor("r", last.id),
      };
    },
  );
}

function addOrder(app: App, deps: ViewDeps): void {
  const { pool, logAccess } = deps;
  app.post(
    "/api/reconciliations",
    {
      bodyLimit: VIEW_BODY_BYTES_MAX,
      onRequest: requireRole(pool, "compliance"),
      schema: {
        summary: `Check days against SendGrid's records, at most ${RECONCILE_RANGE_DAYS_MAX} at once. It begins soon after.`,
        tags: ["completeness"],
        body: ReconciliationOrderSchema,
        response: { 202: OrderedSchema, default: ErrorSchema },
      },
    },
    async (request, reply) => {
      const { repair } = request.body;
      const range = readDayRange(request.body, RECONCILE_RANGE_DAYS_MAX);
      const { today } = accountZone(deps);
      if (range.to > today) throw new ClientError("bad_request", `to must not be after today, ${today}`);
      const viewer = viewerOf(request);
      await logAccess(viewer, "reconciliation.order", `${range.from} – ${range.to}${repair ? ", repair" : ""}`);
      const ordered = await insertOrder(pool, { ...range, repair, name: viewer.name });
      return reply.status(202).send({ ordered });
    },
  );
}

/** @returns false when the same check waits already. */
async function insertOrder(pool: Pool, order: DayRange & { repair: boolean; name: string }): Promise<boolean> {
  const { from, to, repair, name } = order;
  return transaction(pool, async (tx) => {
    await lockTransaction(tx, "reconciliationOrders");
    const { rows } = await tx.query<{ waiting: number; same: boolean }>(
      `SELECT count(*) AS waiting, coalesce(bool_or(from_day = $1 AND to_day = $2 AND repair = $3), false) AS same
       FROM reconciliation_orders`,
      [from, to, repair],
    );
    if (rows[0]?.same === true) return false;
    if ((rows[0]?.waiting ?? 0) >= RECONCILIATION_ORDERS_MAX) throw new ClientError("orders_full");
    await tx.query("INSERT INTO reconciliation_orders (from_day, to_day, repair, name) VALUES ($1, $2, $3, $4)", [
      from,
      to,
      repair,
      name,
    ]);
    return true;
  });
}
