import type { FastifyError, FastifyReply, FastifyRequest } from "fastify";
import Type from "typebox";
import { ClientError } from "../errors.ts";
import { LOGIN_ATTEMPTS_PER_MINUTE } from "../limits.ts";
import type { App } from "./app.ts";
import { setFlowCookie, setSessionCookie, takeFlowCookie } from "./auth.ts";
import { type SignInFault, SignInWaysSchema } from "./contract-sign-in.ts";
import { ErrorSchema } from "./contract.ts";
import type { ViewConfig, ViewDeps } from "./deps.ts";
import { nameOf, roleOf, subjectOf } from "./oidc-claims.ts";
import { CALLBACK_PATH, callbackFor, createFlowSeal, type Flow, type FlowSeal, localPlace } from "./oidc-flow.ts";
import { createOidcProvider, type OidcProvider, type OidcSettings } from "./oidc-provider.ts";
import { openSession } from "./tokens.ts";

/** Signing in through the identity provider, where it is configured. */
interface Oidc {
  provider: OidcProvider;
  seal: FlowSeal;
  deps: ViewDeps;
  isHttps: boolean;
}

/**
 * Adds `GET /api/sign-in`, and where OpenID Connect is configured `GET /login/oidc`, which sends a person to the identity
 * provider, and `GET /login/oidc/callback`, where they come back. The provider is first asked when somebody wants it.
 */
export async function addOidcRoutes(app: App, deps: ViewDeps): Promise<void> {
  const settings = oidcSettings(deps.config);
  const oidc =
    settings === undefined
      ? undefined
      : {
          provider: await createOidcProvider(settings),
          seal: createFlowSeal(settings.clientSecret),
          deps,
          isHttps: deps.config.HOLDFAST_PUBLIC_URL?.startsWith("https:") === true,
        };
  app.get(
    "/api/sign-in",
    {
      schema: {
        summary: "The ways to sign in besides a token and a login link.",
        tags: ["session"],
        security: [],
        response: { 200: SignInWaysSchema, default: ErrorSchema },
      },
    },
    async () => {
      if (oidc === undefined) return { organisation: "off" as const };
      return { organisation: (await oidc.provider.isThere()) ? ("ready" as const) : ("away" as const) };
    },
  );
  if (oidc === undefined) return;
  addBegin(app, oidc);
  addCallback(app, oidc);
}

/** readConfig lets all of them through or none. */
function oidcSettings(config: ViewConfig): OidcSettings | undefined {
  const { HOLDFAST_OIDC_ISSUER: issuer, HOLDFAST_OIDC_CLIENT_ID: clientId } = config;
  const { HOLDFAST_OIDC_CLIENT_SECRET: clientSecret, HOLDFAST_OIDC_ROLE_CLAIM: roleClaim } = config;
  if (issuer === undefined || clientId === undefined || clientSecret === undefined) return undefined;
  return { issuer, clientId, clientSecret, roleClaim };
}

const rateLimit = { max: LOGIN_ATTEMPTS_PER_MINUTE, timeWindow: 60_000 };

function addBegin(app: App, { provider, seal, deps, isHttps }: Oidc): void {
  app.get(
    "/login/oidc",
    {
      exposeHeadRoute: false,
      config: { rateLimit },
      errorHandler: tellPerson(deps),
      schema: { hide: true, querystring: Type.Object({ next: Type.Optional(Type.String()) }) },
    },
    async (request, reply) => {
      const next = localPlace(request.query.next);
      const callback = callbackFor(request, deps.config.HOLDFAST_PUBLIC_URL);
      if (callback === undefined) return toLogin(reply, "address", next);
      const begun = await provider.begin(callback);
      if (begun.outcome !== "begun") {
        deps.log.warn({ cause: begun.cause }, "the identity provider does not answer");
        return toLogin(reply, "away", next);
      }
      setFlowCookie(reply, seal.seal({ ...begun.flow, callback, next }), isHttps);
      return reply.redirect(begun.url, 303);
    },
  );
}

function addCallback(app: App, oidc: Oidc): void {
  app.get(
    CALLBACK_PATH,
    {
      // A HEAD would use up the code.
      exposeHeadRoute: false,
      config: { rateLimit, takesUnknown: true },
      errorHandler: tellPerson(oidc.deps),
      schema: { hide: true },
    },
    async (request, reply) => {
      const flow = endFlow(oidc, request, reply);
      if (flow === undefined) return toLogin(reply, "expired", "/");
      const ended = await admit(oidc, flow, request.url);
      if (ended.outcome !== "session") return toLogin(reply, ended.outcome, flow.next);
      setSessionCookie(reply, ended.token, oidc.isHttps);
      // The browser keeps a Strict cookie back from this redirect, which began on the provider's site. The page itself needs
      // none, and what the page asks for comes from our own site.
      return reply.redirect(flow.next, 303);
    },
  );
}

/** The flow that this answer belongs to, at most once: a stranger's answer must not sign this person in as the stranger. */
function endFlow({ seal, isHttps }: Oidc, request: FastifyRequest, reply: FastifyReply): Flow | undefined {
  const { state } = request.query as Record<string, unknown>;
  const flow = seal.open(takeFlowCookie(request, reply, isHttps) ?? "");
  return flow !== undefined && state === flow.state && seal.end(flow) ? flow : undefined;
}

type Admitted = { outcome: "session"; token: string } | { outcome: SignInFault };

async function admit({ provider, deps }: Oidc, flow: Flow, url: string): Promise<Admitted> {
  const { pool, log, config, logAccess } = deps;
  const known = await provider.finish(flow, url.slice(url.indexOf("?")));
  if (known.outcome !== "known") {
    log.warn({ outcome: known.outcome, cause: known.cause }, "a sign-in through the identity provider failed");
    return { outcome: known.outcome };
  }
  const { claims } = known;
  const role = roleOf(claims, config.HOLDFAST_OIDC_ROLE_CLAIM, config.HOLDFAST_OIDC_ROLES ?? new Map());
  if (role === undefined) {
    log.warn({ claim: config.HOLDFAST_OIDC_ROLE_CLAIM }, "somebody without any mapped role wanted to sign in");
    return { outcome: "no_role" };
  }
  const { viewer, token } = await openSession(pool, { name: nameOf(claims), role });
  await logAccess(viewer, "session.begin", subjectOf(claims));
  return { outcome: "session", token };
}

/** A person is looking, not a program: whatever goes wrong ends on the login page. */
function tellPerson({ log }: ViewDeps) {
  return (error: FastifyError, request: FastifyRequest, reply: FastifyReply): void => {
    const isTooOften = error.statusCode === 429;
    const isTheirs = isTooOften || error instanceof ClientError || error.validation !== undefined;
    if (!isTheirs) log.error({ err: error, request: request.id, route: request.routeOptions.url }, "request failed");
    void toLogin(reply, isTooOften ? "many" : "failed", "/");
  };
}

/** The login page says in the reader's language what went wrong. */
function toLogin(reply: FastifyReply, fault: SignInFault, next: string): FastifyReply {
  const query = new URLSearchParams({ organisation: fault, ...(next === "/" ? {} : { next }) });
  return reply.redirect(`/login?${query.toString()}`, 303);
}
