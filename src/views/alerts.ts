import Type from "typebox";
import { ClientError } from "../errors.ts";
import { ALERT_ROWS_MAX } from "../limits.ts";
import { abandonedSignal } from "./abandoned.ts";
import type { App } from "./app.ts";
import { requireRole, viewerOf } from "./auth.ts";
import { AlertListSchema, AlertQuerySchema, ErrorSchema, OrderedSchema, type Alert } from "./contract.ts";
import type { ViewDeps } from "./deps.ts";
import { isoTime } from "./present.ts";
import { readRowNumber } from "./query.ts";

/** Adds `GET /api/alerts` and `POST /api/alerts/:id/acknowledge`. */
export function addAlertRoutes(app: App, deps: ViewDeps): void {
  addList(app, deps);
  addAcknowledge(app, deps);
}

interface AlertRow {
  id: number;
  kind: Alert["kind"];
  source: string;
  count: number;
  since: Date;
  resolvedAt: Date | null;
  acknowledgedBy: string | null;
}

const STATE_CONDITIONS = { open: "a.resolved_at IS NULL", resolved: "a.resolved_at IS NOT NULL", all: "true" } as const;

function addList(app: App, { pool, read }: ViewDeps): void {
  app.get(
    "/api/alerts",
    {
      onRequest: requireRole(pool, "support"),
      schema: {
        summary: "What is wrong and needs a person. Alerts resolve by themselves when their cause is gone.",
        tags: ["operation"],
        querystring: AlertQuerySchema,
        response: { 200: AlertListSchema, default: ErrorSchema },
      },
    },
    async ({ query }, reply) => {
      const result = await read(
        (tx) =>
          tx.query<AlertRow>(
            `SELECT a.id, a.kind, a.source, a.count, a.since, a.resolved_at AS "resolvedAt", k.name AS "acknowledgedBy"
             FROM alerts a LEFT JOIN alert_acknowledgements k ON k.alert = a.id
             WHERE ${STATE_CONDITIONS[query.state ?? "open"]} ORDER BY a.resolved_at IS NOT NULL, a.id DESC LIMIT $1`,
            [ALERT_ROWS_MAX],
          ),
        abandonedSignal(reply),
      );
      return { alerts: result.rows.map(presentAlert) };
    },
  );
}

function presentAlert({ id, kind, source, count, since, resolvedAt, acknowledgedBy }: AlertRow): Alert {
  return {
    id: String(id),
    kind,
    source,
    count,
    since: isoTime(since),
    resolvedAt: isoTime(resolvedAt),
    acknowledgedBy,
  };
}

function addAcknowledge(app: App, { pool, read, logAccess }: ViewDeps): void {
  app.post(
    "/api/alerts/:id/acknowledge",
    {
      onRequest: requireRole(pool, "support"),
      schema: {
        summary: "Say that a person has seen this alert.",
        tags: ["operation"],
        params: Type.Object({ id: Type.String() }),
        response: { 202: OrderedSchema, default: ErrorSchema },
      },
    },
    async (request, reply) => {
      const id = readRowNumber(request.params.id);
      const open = await read((tx) => tx.query("SELECT FROM alerts WHERE id = $1 AND resolved_at IS NULL", [id ?? 0]));
      if (id === undefined || open.rowCount !== 1) throw new ClientError("alert_unknown");
      const viewer = viewerOf(request);
      await logAccess(viewer, "alert.acknowledge", String(id));
      const order = await pool.query(
        "INSERT INTO alert_acknowledgements (alert, name) VALUES ($1, $2) ON CONFLICT DO NOTHING",
        [id, viewer.name],
      );
      return reply.status(202).send({ ordered: order.rowCount === 1 });
    },
  );
}
