import Type from "typebox";
import { ClientError } from "../errors.ts";
import { LOGIN_ATTEMPTS_PER_MINUTE, VIEW_BODY_BYTES_MAX } from "../limits.ts";
import type { App } from "./app.ts";
import { clearSessionCookie, refuseForeignOrigin, requireRole, setSessionCookie, viewerOf } from "./auth.ts";
import { ErrorSchema, SessionRequestSchema, SessionSchema } from "./contract.ts";
import type { ViewDeps } from "./deps.ts";
import { addOidcRoutes } from "./oidc.ts";
import { endSession, isExpired, signIn } from "./tokens.ts";

/** Adds `POST`, `GET` and `DELETE /api/session`: sign in, who am I, sign out; and the way in through an identity provider. */
export async function addSessionRoutes(app: App, deps: ViewDeps): Promise<void> {
  const { pool, logAccess } = deps;
  const isHttps = deps.config.HOLDFAST_PUBLIC_URL?.startsWith("https:") === true;
  app.post(
    "/api/session",
    {
      bodyLimit: VIEW_BODY_BYTES_MAX,
      config: { rateLimit: { max: LOGIN_ATTEMPTS_PER_MINUTE, timeWindow: 60_000 } },
      schema: {
        summary: "Exchange an API token, or a login link's one-time token, for a session cookie.",
        tags: ["session"],
        security: [],
        body: SessionRequestSchema,
        response: { 200: SessionSchema, default: ErrorSchema },
      },
    },
    async (request, reply) => {
      refuseForeignOrigin(request);
      const session = await signIn(pool, request.body.token);
      if (session === undefined)
        throw new ClientError((await isExpired(pool, request.body.token)) ? "token_expired" : "token_invalid");
      const { viewer, token } = session;
      await logAccess(viewer, "session.begin");
      setSessionCookie(reply, token, isHttps);
      return { name: viewer.name, role: viewer.role };
    },
  );
  app.get(
    "/api/session",
    {
      onRequest: requireRole(pool, "support"),
      schema: {
        summary: "Who is signed in.",
        tags: ["session"],
        response: { 200: SessionSchema, default: ErrorSchema },
      },
    },
    async (request) => {
      const { name, role } = viewerOf(request);
      return { name, role };
    },
  );
  app.delete(
    "/api/session",
    {
      onRequest: requireRole(pool, "support"),
      schema: {
        summary: "Sign out. An API token stays valid.",
        tags: ["session"],
        response: { 204: Type.Null(), default: ErrorSchema },
      },
    },
    async (request, reply) => {
      const viewer = viewerOf(request);
      await endSession(pool, viewer);
      await logAccess(viewer, "session.end");
      clearSessionCookie(reply, isHttps);
      return reply.status(204).send(null);
    },
  );
  await addOidcRoutes(app, deps);
}
