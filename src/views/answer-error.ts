import type { FastifyError, FastifyReply, FastifyRequest } from "fastify";
import { ClientError, sqlState } from "../errors.ts";

/**
 * The error handler of the views' routes: says which parameter is wrong and that the database is away, in the table's
 * codes. Everything else goes on to the server's own handler, which knows the rest and logs what is unexpected.
 */
export function answerError(error: FastifyError, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const told = toClientError(error, request.routeOptions.bodyLimit);
  if (told === undefined) throw error;
  if (told.status === 503) void reply.header("retry-after", 1);
  if (told.status === 401) void reply.header("www-authenticate", "Bearer");
  return reply.status(told.status).send(told.body());
}

function toClientError(error: FastifyError, bodyBytesMax: number): ClientError | undefined {
  if (error instanceof ClientError) return error;
  const [fault] = error.validation ?? [];
  if (fault !== undefined) return new ClientError("bad_request", faultText(fault, error.validationContext));
  if (error.statusCode === 429) return new ClientError("too_many_requests");
  if (error.code === "FST_ERR_CTP_BODY_TOO_LARGE") {
    return new ClientError("body_too_large", `The body is larger than ${bodyBytesMax / 1024} KiB.`);
  }
  if (error.code === "FST_ERR_CTP_INVALID_MEDIA_TYPE") {
    return new ClientError("bad_request", "The body must be application/json.");
  }
  if (error.statusCode === 400) return new ClientError("bad_request", "The body must be JSON.");
  if (isDatabaseAway(error))
    return new ClientError("unavailable", "The database does not answer. Try again in a moment.");
  return undefined;
}

type Fault = NonNullable<FastifyError["validation"]>[number];

/** `limit must be integer`: the parameter by the name it was given, then what is wrong with it. */
function faultText(fault: Fault, context: string | undefined): string {
  const name = fault.instancePath.slice(1).replaceAll("/", ".");
  const { allowedValues } = fault.params;
  const rule = Array.isArray(allowedValues) ? `must be one of ${allowedValues.join(", ")}` : fault.message;
  return `${name === "" ? (context ?? "the request") : name} ${rule ?? "is wrong"}`;
}

/** Shutdown and start of the server, too many connections, and every kind of lost connection. */
const AWAY_STATES = /^(57P0[1-5]|53300|08...)$/;
const AWAY_CODES = new Set(["ECONNREFUSED", "ECONNRESET", "ENOENT", "EPIPE", "ETIMEDOUT", "EAI_AGAIN", "ENOTFOUND"]);
/** The driver gives these no code. */
const AWAY_MESSAGES =
  /^(Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error|Cannot use a pool after)/;

function isDatabaseAway(error: Error & { code?: string }): boolean {
  const state = sqlState(error);
  if (state !== undefined) return AWAY_STATES.test(state);
  return AWAY_CODES.has(error.code ?? "") || AWAY_MESSAGES.test(error.message);
}
