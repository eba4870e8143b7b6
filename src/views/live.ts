import { ClientError } from "../errors.ts";
import type { App } from "./app.ts";
import { requireRole, viewerOf } from "./auth.ts";
import { LiveQuerySchema } from "./contract-live.ts";
import { ErrorSchema } from "./contract.ts";
import type { ViewDeps } from "./deps.ts";
import { createLiveHub } from "./live-hub.ts";
import { readTime, trafficFilter } from "./query.ts";
import { addRatesRoute } from "./rates.ts";
import { wantedTraffic } from "./traffic.ts";

/** Adds `GET /api/rates` and `GET /api/live`, and ends its streams when the server closes. */
export function addLiveRoute(app: App, deps: ViewDeps): void {
  addRatesRoute(app, deps);
  const hub = createLiveHub(deps);
  // Before the server waits for its open connections, or they would hold it up.
  app.addHook("preClose", async () => hub.stop());
  app.get(
    "/api/live",
    {
      exposeHeadRoute: false,
      onRequest: requireRole(deps.pool, "support"),
      schema: {
        summary: "Server-Sent Events: balance, status and events as they are filed. Last-Event-ID resumes.",
        tags: ["ledger"],
        querystring: LiveQuerySchema,
        response: {
          200: {
            description: "messages of the kinds balance (Balance), status (Status), events (LiveEvents) and end",
            content: { "text/event-stream": { schema: { type: "string" } } },
          },
          default: ErrorSchema,
        },
      },
    },
    async (request, reply) => {
      const filter = trafficFilter(request.query);
      const from = readTime("from", request.query.from);
      await deps.read((tx) => wantedTraffic(tx, filter));
      const viewer = viewerOf(request);
      await deps.logAccess(viewer, "live.view");
      const { "last-event-id": lastEventId } = request.headers;
      const stream = hub.join({
        viewer,
        filter,
        from,
        lastEventId: typeof lastEventId === "string" ? lastEventId : undefined,
        response: reply.raw,
      });
      if (stream === undefined) throw new ClientError("live_full");
      void reply.headers({
        "content-type": "text/event-stream; charset=utf-8",
        "cache-control": "no-store, no-transform",
        // Once the stream has ended there is nothing to keep the connection for, and a stop need not wait for it.
        connection: "close",
        "x-accel-buffering": "no",
      });
      // The schema describes what is in the stream; Fastify sends a stream as it is.
      return reply.send(stream as never);
    },
  );
}
