import type { CookieSerializeOptions } from "@fastify/cookie";
import type { FastifyReply, FastifyRequest } from "fastify";
import { ClientError } from "../errors.ts";
import { OIDC_FLOW_SECONDS, SESSION_HOURS, TOKEN_CHARS_MAX } from "../limits.ts";
import type { Pool } from "../postgres/pool.ts";
import type { TokenRole } from "./contract.ts";
import { findViewer, isExpired, roleSuffices, type Viewer } from "./tokens.ts";

const COOKIE = "holdfast_session";

const viewers = new WeakMap<FastifyRequest, Viewer>();

/** Who makes this request. Only for routes that `requireRole` guards. */
export function viewerOf(request: FastifyRequest): Viewer {
  const viewer = viewers.get(request);
  if (viewer === undefined) throw new Error("this route has no requireRole");
  return viewer;
}

/** A hook that lets a request pass only with a token or session of at least this role. */
export function requireRole(pool: Pool, needed: TokenRole): (request: FastifyRequest) => Promise<void> {
  return async (request) => {
    const bearer = bearerToken(request);
    const cookie = bearer === undefined ? cookieToken(request) : undefined;
    if (cookie !== undefined) refuseForeignOrigin(request);
    const viewer = await identify(pool, bearer, cookie);
    if (!roleSuffices(viewer.role, needed)) {
      throw new ClientError("role_too_low", `This needs the role ${needed}; yours is ${viewer.role}.`);
    }
    viewers.set(request, viewer);
  };
}

async function identify(pool: Pool, bearer: string | undefined, cookie: string | undefined): Promise<Viewer> {
  const token = bearer ?? cookie;
  if (token === undefined) throw new ClientError("token_missing");
  if (token.length > TOKEN_CHARS_MAX) throw new ClientError("token_invalid");
  const viewer = await findViewer(pool, bearer === undefined ? "session" : "api", token);
  if (viewer !== undefined) return viewer;
  throw new ClientError((await isExpired(pool, token)) ? "token_expired" : "token_invalid");
}

function bearerToken(request: FastifyRequest): string | undefined {
  const { authorization } = request.headers;
  if (authorization === undefined) return undefined;
  const [, token] = /^Bearer +(\S+)$/i.exec(authorization) ?? [];
  if (token === undefined) throw new ClientError("token_invalid", "The Authorization header must be: Bearer TOKEN.");
  return token;
}

function cookieToken(request: FastifyRequest): string | undefined {
  const value = request.cookies[COOKIE];
  return value === "" ? undefined : value;
}

/**
 * SameSite=Strict keeps other sites out, but all ports of one host are the same site: another service on localhost could
 * make a signed-in browser order a replay. Browsers say where a request comes from; other programs say nothing.
 */
export function refuseForeignOrigin(request: FastifyRequest): void {
  if (request.method === "GET" || request.method === "HEAD") return;
  const site = request.headers["sec-fetch-site"];
  if (site !== undefined && site !== "same-origin" && site !== "none") throw new ClientError("foreign_origin");
}

export function setSessionCookie(reply: FastifyReply, token: string, isHttps: boolean): void {
  void reply.setCookie(COOKIE, token, { ...cookieOptions(isHttps), maxAge: SESSION_HOURS * 3600 });
}

export function clearSessionCookie(reply: FastifyReply, isHttps: boolean): void {
  void reply.clearCookie(COOKIE, cookieOptions(isHttps));
}

function cookieOptions(isHttps: boolean): CookieSerializeOptions {
  return { path: "/", httpOnly: true, sameSite: "strict", secure: isHttps };
}

/** The short-lived cookie of a sign-in through the identity provider: Lax, since the way back begins on its site. */
const FLOW_COOKIE: CookieSerializeOptions = { path: "/login/oidc", httpOnly: true, sameSite: "lax" };
const FLOW_NAME = "holdfast_oidc";

export function setFlowCookie(reply: FastifyReply, sealed: string, isHttps: boolean): void {
  void reply.setCookie(FLOW_NAME, sealed, { ...FLOW_COOKIE, secure: isHttps, maxAge: OIDC_FLOW_SECONDS });
}

export function takeFlowCookie(request: FastifyRequest, reply: FastifyReply, isHttps: boolean): string | undefined {
  void reply.clearCookie(FLOW_NAME, { ...FLOW_COOKIE, secure: isHttps });
  return request.cookies[FLOW_NAME];
}
