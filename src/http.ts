import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Server } from "node:net";
import Fastify, { type FastifyError, type FastifyInstance, type FastifyReply } from "fastify";
import { ClientError } from "./errors.ts";
import {
  BODY_BYTES_MAX,
  HTTP_KEEP_ALIVE_MS,
  HTTP_REQUEST_MS_MAX,
  MESSAGE_ID_CHARS_MAX,
  RETRY_AFTER_SECONDS,
} from "./limits.ts";
import type { Log } from "./log.ts";

/** A character of four UTF-8 bytes in a URL: %F0%9F%98%80. */
const PERCENT_ENCODED_CHARS_MAX = 12;

export interface HttpServerOptions {
  log: Log;
}

/**
 * Makes the HTTP server that intake and views register their routes on. Whatever a route throws becomes an answer from
 * the one table of codes; what is not in the table becomes `internal`, with its detail in the log only.
 * Requests are not logged: their URLs can hold addresses.
 */
export function createHttpServer(options: HttpServerOptions): FastifyInstance {
  const { log } = options;
  const app = Fastify({
    logger: false,
    genReqId: () => randomUUID(),
    bodyLimit: BODY_BYTES_MAX,
    requestTimeout: HTTP_REQUEST_MS_MAX,
    keepAliveTimeout: HTTP_KEEP_ALIVE_MS,
    forceCloseConnections: "idle",
    return503OnClosing: false,
    // With strictNumbers, "1e400" is coerced to Infinity and then no bound is looked at, as they are for finite numbers.
    ajv: { customOptions: { strictNumbers: false } },
    // SendGrid follows no redirect, so a slash too many in the configured address must simply work.
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: MESSAGE_ID_CHARS_MAX * PERCENT_ENCODED_CHARS_MAX },
    // What Fastify refuses before any route is chosen is told in the same form.
    frameworkErrors(error, request, reply: FastifyReply) {
      // No route can take such an address, so a browser that opens it is led to one where the page says that there is none.
      if (opensPage(request.raw)) return reply.redirect(NO_PAGE, 303);
      const told = toClientError(error);
      return reply.status(told.status).send(told.body());
    },
  });

  let stopping = false;
  app.addHook("preClose", async () => {
    stopping = true;
  });
  app.addHook("onRequest", async () => {
    if (stopping) throw new ClientError("stopping");
  });
  app.addHook("onSend", async (_request, reply) => {
    // A kept connection would be waited for: closing only ends those that are idle at that moment.
    if (stopping) void reply.header("connection", "close");
  });

  app.setErrorHandler((error: FastifyError, request, reply) => {
    const told = toClientError(error);
    if (told.code === "internal") {
      log.error({ err: error, request: request.id, route: request.routeOptions.url }, "request failed");
    }
    if (told.status === 503) void reply.header("retry-after", RETRY_AFTER_SECONDS);
    return reply.status(told.status).send(told.body());
  });
  app.setNotFoundHandler((_request, reply) => {
    const told = new ClientError("not_found");
    return reply.status(told.status).send(told.body());
  });
  return app;
}

/** A path of the page that it knows to be none. */
const NO_PAGE = "/no-such-page";

function opensPage({ method, url, headers }: IncomingMessage): boolean {
  const isPage = method === "GET" && !/^\/(api|webhooks)(\/|$)/.test(url ?? "");
  return isPage && headers.accept?.includes("text/html") === true;
}

/** As this machine reaches it: a server that listens everywhere is on the loopback address too. */
export function urlOf(address: ReturnType<Server["address"]>): string {
  if (address === null || typeof address === "string") throw new Error("the server listens on no port");
  if (address.address === "0.0.0.0" || address.address === "::") return `http://127.0.0.1:${address.port}`;
  return `http://${address.family === "IPv6" ? `[${address.address}]` : address.address}:${address.port}`;
}

/** What the client is told of an error. */
export function toClientError(error: FastifyError): ClientError {
  if (error instanceof ClientError) return error;
  if (error.code === "FST_ERR_CTP_BODY_TOO_LARGE") return new ClientError("body_too_large");
  if (error.code === "FST_ERR_CTP_INVALID_CONTENT_LENGTH") return new ClientError("body_incomplete");
  if (error.statusCode === 429) return new ClientError("too_many_requests");
  // Fastify's own complaints about a request (a wrong parameter, a broken JSON body) are the client's to know.
  if (error.code === "FST_ERR_BAD_URL") return new ClientError("bad_request", "The address is not a valid URL.");
  if (error.code === "FST_ERR_MAX_PARAM_LENGTH") return new ClientError("not_found");
  if (error.validation !== undefined || (error.code?.startsWith("FST_ERR_CTP") && error.statusCode !== undefined)) {
    return new ClientError("bad_request", error.message);
  }
  return new ClientError("internal");
}
