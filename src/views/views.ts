import cookie from "@fastify/cookie";
import rateLimit from "@fastify/rate-limit";
import type { TypeBoxTypeProvider } from "@fastify/type-provider-typebox";
import type { FastifyInstance } from "fastify";
import { createRead } from "../ledger/read.ts";
import { createAccessLog } from "./access-log.ts";
import { addAccessRoute } from "./access-routes.ts";
import { addAlertRoutes } from "./alerts.ts";
import { answerError } from "./answer-error.ts";
import { addBalanceRoute } from "./balance.ts";
import { addCompletenessRoutes } from "./completeness.ts";
import type { ViewDeps, ViewOptions } from "./deps.ts";
import { addLiveRoute } from "./live.ts";
import { addMessageRoutes } from "./messages.ts";
import { addOpenapi } from "./openapi.ts";
import { addOperationRoutes } from "./operations.ts";
import { addQuarantineRoutes } from "./quarantine.ts";
import { checkParameters } from "./query.ts";
import { addSessionRoutes } from "./session.ts";
import { addSimulationRoutes } from "./simulation.ts";
import { addSecurityHeaders, addSite } from "./site.ts";
import { addSourceRoutes } from "./source-routes.ts";
import { addStatusRoute } from "./status.ts";
import { addSystemRoute } from "./system.ts";
import { addTokenRoutes } from "./token-routes.ts";

/**
 * Adds everything that people and their tools look at: the REST interface, the live stream, the page, the documentation
 * of all that, and what the machinery asks (health, readiness, metrics). A process without the role `views` has only the
 * last. All in a scope of their own: its hooks, headers and error handler touch no other route.
 */
export async function registerViews(app: FastifyInstance, options: ViewOptions): Promise<void> {
  const isHttps = options.config.HOLDFAST_PUBLIC_URL?.startsWith("https:") === true;
  await app.register(async (scope) => {
    scope.setErrorHandler(answerError);
    await addSecurityHeaders(scope, isHttps);
    await scope.register(cookie);
    const hasViews = options.config.HOLDFAST_ROLES.has("views");
    if (hasViews) await addOpenapi(scope, options.version);
    addOperationRoutes(scope, options);
    if (!hasViews) return;
    await scope.register(async (api) => addApi(api, options));
    await addSite(scope, options.webRoot);
  });
}

async function addApi(api: FastifyInstance, options: ViewOptions): Promise<void> {
  const deps: ViewDeps = { ...options, read: createRead(options.pool), logAccess: createAccessLog(options.pool) };
  await api.register(rateLimit, { global: false });
  api.addHook("preValidation", checkParameters);
  // Personal data belongs in no cache on the way.
  api.addHook("onRequest", async (_request, reply) => {
    void reply.header("cache-control", "no-store");
  });
  const typed = api.withTypeProvider<TypeBoxTypeProvider>();
  await addSessionRoutes(typed, deps);
  addMessageRoutes(typed, deps);
  addBalanceRoute(typed, deps);
  addQuarantineRoutes(typed, deps);
  addAlertRoutes(typed, deps);
  addStatusRoute(typed, deps);
  addLiveRoute(typed, deps);
  addTokenRoutes(typed, deps);
  addAccessRoute(typed, deps);
  addSourceRoutes(typed, deps);
  addSystemRoute(typed, deps);
  addSimulationRoutes(typed, deps);
  addCompletenessRoutes(typed, deps);
}
