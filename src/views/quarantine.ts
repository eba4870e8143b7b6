import Type from "typebox";
import { ClientError } from "../errors.ts";
import { findQuarantined, readQuarantine } from "../ledger/read-quarantine.ts";
import { PAGE_ROWS_DEFAULT } from "../limits.ts";
import { abandonedSignal } from "./abandoned.ts";
import type { App } from "./app.ts";
import { requireRole, viewerOf } from "./auth.ts";
import { ErrorSchema, OrderedSchema, QuarantineListSchema, QuarantineQuerySchema } from "./contract.ts";
import { readCursor, writeCursor } from "./cursor.ts";
import type { ViewDeps } from "./deps.ts";
import { presentQuarantined } from "./present.ts";
import { readRowNumber, trafficFilter } from "./query.ts";
import { wantedTraffic } from "./traffic.ts";

/** Adds `GET /api/quarantine` and `POST /api/quarantine/:id/replay`. */
export function addQuarantineRoutes(app: App, deps: ViewDeps): void {
  addList(app, deps);
  addReplay(app, deps);
}

function addList(app: App, { pool, read, logAccess }: ViewDeps): void {
  app.get(
    "/api/quarantine",
    {
      onRequest: requireRole(pool, "support"),
      schema: {
        summary: "What could not become an event, newest first.",
        tags: ["ledger"],
        querystring: QuarantineQuerySchema,
        response: { 200: QuarantineListSchema, default: ErrorSchema },
      },
    },
    async (request, reply) => {
      const { query } = request;
      const limit = query.limit ?? PAGE_ROWS_DEFAULT;
      const before = query.cursor === undefined ? undefined : readCursor("q", query.cursor);
      await logAccess(viewerOf(request), "quarantine.view");
      const { rows, sources } = await read(async (tx) => {
        const traffic = await wantedTraffic(tx, trafficFilter(query, "all"));
        const search = { state: query.state ?? "open", sources: traffic.wanted, before, limit: limit + 1 };
        return { rows: await readQuarantine(tx, search), sources: traffic.sources };
      }, abandonedSignal(reply));
      const page = rows.slice(0, limit);
      const last = rows.length > page.length ? page.at(-1) : undefined;
      return {
        items: page.map((row) => presentQuarantined(row, sources)),
        nextCursor: last === undefined ? null : writeCursor("q", last.id),
      };
    },
  );
}

function addReplay(app: App, { pool, read, logAccess }: ViewDeps): void {
  app.post(
    "/api/quarantine/:id/replay",
    {
      onRequest: requireRole(pool, "admin"),
      schema: {
        summary: "Try again to make events of a quarantined item. The ledger does it soon after.",
        tags: ["ledger"],
        params: Type.Object({ id: Type.String() }),
        response: { 202: OrderedSchema, default: ErrorSchema },
      },
    },
    async (request, reply) => {
      const id = readRowNumber(request.params.id);
      const state = id === undefined ? undefined : await read((tx) => findQuarantined(tx, id));
      if (id === undefined || state === undefined) throw new ClientError("quarantine_unknown");
      await logAccess(viewerOf(request), "quarantine.replay", String(id));
      // What was replayed already stands in the ledger: there is nothing to do again.
      const order =
        state === "open"
          ? await pool.query("INSERT INTO replay_orders (quarantine) VALUES ($1) ON CONFLICT DO NOTHING", [id])
          : undefined;
      return reply.status(202).send({ ordered: order?.rowCount === 1 });
    },
  );
}
