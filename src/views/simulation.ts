import { ClientError } from "../errors.ts";
import { VIEW_BODY_BYTES_MAX } from "../limits.ts";
import type { App } from "./app.ts";
import { requireRole, viewerOf } from "./auth.ts";
import { SimulationOrderSchema, SimulationSchema, type Simulation } from "./contract-simulation.ts";
import { ErrorSchema, OrderedSchema } from "./contract.ts";
import type { ViewDeps } from "./deps.ts";
import { isoTime } from "./present.ts";

/** Adds `GET`, `POST` and `DELETE /api/simulation`, and `POST /api/simulation/purge`. */
export function addSimulationRoutes(app: App, deps: ViewDeps): void {
  addState(app, deps);
  addStart(app, deps);
  addStop(app, deps);
  addPurge(app, deps);
}

const tags = ["simulation"];

async function currentState({ read, simulation }: ViewDeps): Promise<Simulation> {
  const { rows } = await read((tx) =>
    tx.query<{ receipts: number; events: number; purgeOrderedAt: Date | null }>(
      `SELECT coalesce(sum(t.receipts), 0) AS receipts, coalesce(sum(t.stored), 0) AS events,
         (SELECT ordered_at FROM purge_orders) AS "purgeOrderedAt"
       FROM tallies t JOIN sources s ON s.id = t.source WHERE s.simulated`,
    ),
  );
  const { receipts, events, purgeOrderedAt } = rows[0] ?? { receipts: 0, events: 0, purgeOrderedAt: null };
  return {
    available: simulation !== undefined,
    run: simulation?.state() ?? null,
    held: { receipts, events },
    purgeOrderedAt: isoTime(purgeOrderedAt),
  };
}

function isUnderWay({ run }: Simulation): boolean {
  return run !== null && run.endedAt === null;
}

function addState(app: App, deps: ViewDeps): void {
  app.get(
    "/api/simulation",
    {
      onRequest: requireRole(deps.pool, "admin"),
      schema: {
        summary: "The present or last simulation of this process, and what the ledger holds of simulated sources.",
        tags,
        response: { 200: SimulationSchema, default: ErrorSchema },
      },
    },
    async () => currentState(deps),
  );
}

function addStart(app: App, deps: ViewDeps): void {
  app.post(
    "/api/simulation",
    {
      bodyLimit: VIEW_BODY_BYTES_MAX,
      onRequest: requireRole(deps.pool, "admin"),
      schema: {
        summary: "Run a simulation: signed POSTs to this process's own webhook, under the source simulation.",
        tags,
        body: SimulationOrderSchema,
        response: { 202: SimulationSchema, default: ErrorSchema },
      },
    },
    async (request, reply) => {
      const { simulation, logAccess } = deps;
      if (simulation === undefined) throw new ClientError("simulation_unavailable");
      const { purgeOrderedAt } = await currentState(deps);
      if (purgeOrderedAt !== null || !(await simulation.start(request.body)))
        throw new ClientError("simulation_running");
      await logAccess(viewerOf(request), "simulation.start", `${request.body.events}, seed ${request.body.seed}`);
      return reply.status(202).send(await currentState(deps));
    },
  );
}

function addStop(app: App, deps: ViewDeps): void {
  app.delete(
    "/api/simulation",
    {
      onRequest: requireRole(deps.pool, "admin"),
      schema: {
        summary: "End the posting. What was posted is still filed and compared.",
        tags,
        response: { 202: OrderedSchema, default: ErrorSchema },
      },
    },
    async (request, reply) => {
      const ordered = deps.simulation?.stop() ?? false;
      if (ordered) await deps.logAccess(viewerOf(request), "simulation.stop");
      return reply.status(202).send({ ordered });
    },
  );
}

function addPurge(app: App, deps: ViewDeps): void {
  app.post(
    "/api/simulation/purge",
    {
      onRequest: requireRole(deps.pool, "admin"),
      schema: {
        summary:
          "Delete everything of simulated sources. Real sources are never touched. The ledger does it soon after.",
        tags,
        response: { 202: OrderedSchema, default: ErrorSchema },
      },
    },
    async (request, reply) => {
      if (isUnderWay(await currentState(deps))) throw new ClientError("simulation_running");
      await deps.logAccess(viewerOf(request), "simulation.purge");
      const order = await deps.pool.query("INSERT INTO purge_orders DEFAULT VALUES ON CONFLICT DO NOTHING");
      return reply.status(202).send({ ordered: order.rowCount === 1 });
    },
  );
}
