import type { IncomingMessage } from "node:http";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { ClientError, type ClientErrorCode } from "../errors.ts";
import { freeBuffer } from "../free-buffer.ts";
import { toClientError } from "../http.ts";
import {
  ARRIVING_BYTES_MAX,
  BODY_BYTES_MAX,
  SIGNATURE_HEADER_CHARS_MAX,
  TIMESTAMP_HEADER_CHARS_MAX,
} from "../limits.ts";
import type { Log } from "../log.ts";
import * as metrics from "../metrics.ts";
import { SIGNATURE_HEADER, TIMESTAMP_HEADER, verifySignatureAside } from "../sendgrid/signature.ts";
import type { Appender } from "./append.ts";
import { createArrivals, type Arrivals } from "./arrivals.ts";
import { readBody, type PostedBody } from "./body.ts";
import { isValid } from "./keys.ts";
import type { Source } from "./sources.ts";
import type { Spool, SpooledPost } from "./spool.ts";

export interface IntakeOptions {
  appender: Appender;
  spool: Spool;
  /** Told of every POST that is not answered with 200. */
  onRefused: (source: string, code: ClientErrorCode) => void;
  /** While true, nothing is taken: PostgreSQL would have to stop soon. */
  isDiskLow: () => boolean;
  log: Log;
  sources: ReadonlyMap<string, Source>;
  /** False: a POST that these sources and keys do not explain may be right all the same, and hears 503 instead of 4xx. */
  knowsAllKeys?: boolean;
  /** Told of every answer, whatever it was: how many milliseconds the POST waited for it. */
  onAnswered?: (ms: number) => void;
  /** Told of the key that verified a POST. */
  onVerified?: (key: number) => void;
}

type WebhookRequest = FastifyRequest<{ Params: { source?: string }; Body: PostedBody | undefined }>;

/** Adds `POST /webhooks/sendgrid` (the source default) and `POST /webhooks/sendgrid/:source`. */
export async function registerIntake(app: FastifyInstance, options: IntakeOptions): Promise<void> {
  await app.register(async (scope) => {
    // The signature is over raw bytes: nothing in this scope may parse or decode a body, whatever its content type.
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser("*", async (request: FastifyRequest, payload: IncomingMessage) =>
      readBody(payload, header(request, TIMESTAMP_HEADER) ?? ""),
    );
    countAnswers(scope, options);
    const arrivals = createArrivals(ARRIVING_BYTES_MAX);
    const receive = receiver(options);
    const check = async (request: WebhookRequest, reply: FastifyReply): Promise<void> => {
      await judged(options, () => checkBeforeBody(request, options.sources));
      if (options.isDiskLow()) throw new ClientError("disk_low");
      admit(arrivals, request, reply);
      // The bytes are kept whatever they are called; a header that is no media type would be refused by Fastify.
      request.headers["content-type"] = "application/octet-stream";
    };
    scope.post("/webhooks/sendgrid", { onRequest: check }, receive);
    scope.post("/webhooks/sendgrid/:source", { onRequest: check }, receive);
  });
}

function countAnswers(scope: FastifyInstance, { sources, onRefused, onAnswered }: IntakeOptions): void {
  const nameOf = (request: FastifyRequest): string => {
    const { source = "default" } = request.params as { source?: string };
    // Only configured names become labels, or anyone could make the metrics grow.
    return sources.has(source) ? source : "";
  };
  scope.addHook("onError", async (request, _reply, error) => {
    const source = nameOf(request);
    const { code } = toClientError(error);
    metrics.receiptsRefused.inc({ source, code });
    onRefused(source, code);
  });
  scope.addHook("onResponse", async (request, reply) => {
    metrics.answerSeconds.observe(reply.elapsedTime / 1000);
    onAnswered?.(reply.elapsedTime);
    if (reply.statusCode === 200) metrics.receiptsAccepted.inc({ source: nameOf(request) });
  });
}

function admit(arrivals: Arrivals, request: FastifyRequest, reply: FastifyReply): void {
  const announced = Number(request.headers["content-length"] ?? BODY_BYTES_MAX);
  const leave = arrivals.admit(Math.min(Number.isFinite(announced) ? announced : BODY_BYTES_MAX, BODY_BYTES_MAX));
  if (leave === undefined) throw new ClientError("overloaded");
  // Answered or refused it is finished; cut off it is only closed.
  reply.raw.once("finish", leave).once("close", leave);
}

/** Gives a judgement about source and signature, as far as it can be given. */
async function judged<T>({ knowsAllKeys = true }: IntakeOptions, judge: () => T | Promise<T>): Promise<T> {
  try {
    return await judge();
  } catch (error) {
    if (knowsAllKeys || !(error instanceof ClientError)) throw error;
    throw new ClientError("unavailable");
  }
}

/** Refuses what can be refused without reading the body. */
function checkBeforeBody(request: WebhookRequest, sources: ReadonlyMap<string, Source>): void {
  const source = sourceOf(request, sources);
  if (source.unsignedAllowed) return;
  if (!source.keys.some((key) => isValid(key))) throw new ClientError("no_key");
  if (header(request, SIGNATURE_HEADER) === null || header(request, TIMESTAMP_HEADER) === null) {
    throw new ClientError("signature_missing");
  }
}

function receiver(options: IntakeOptions): (request: WebhookRequest, reply: FastifyReply) => Promise<unknown> {
  const { appender, sources, onVerified } = options;
  return async (request, reply) => {
    const receivedAt = new Date();
    const source = sourceOf(request, sources);
    const signature = header(request, SIGNATURE_HEADER);
    const signedAt = header(request, TIMESTAMP_HEADER);
    const { bytes: body, signed } = request.body ?? nothing(signedAt);
    const key = await judged(options, () => verifyingKey(source, signed, signature, signedAt));
    if (key !== null) onVerified?.(key);

    const posted = { source: source.id, key, signedAt, signature, body, receivedAt };
    const appended = await appender.append(posted);
    if (appended.outcome === "committed") {
      freeBuffer(signed);
      return reply.send({ receipt: String(appended.receipt) });
    }
    if (appended.outcome === "unavailable") await keepInSpool(options, { ...posted, sourceName: source.name });
    throw new ClientError(appended.outcome);
  };
}

/**
 * While PostgreSQL is away both sides hold the POST: Holdfast in its spool, and SendGrid because it is refused all the
 * same (promise P1). So a spool that fails or is full loses nothing yet, and must not change the answer.
 */
async function keepInSpool({ spool, log }: IntakeOptions, post: SpooledPost): Promise<void> {
  try {
    const { outcome } = await spool.keep(post);
    if (outcome === "full")
      log.error("the spool is full: POSTs are only refused now, and SendGrid holds them for a day");
  } catch (error) {
    log.error({ err: error }, "a POST could not be spooled");
  }
}

function sourceOf(request: WebhookRequest, sources: ReadonlyMap<string, Source>): Source {
  const source = sources.get(request.params.source ?? "default");
  if (source === undefined) throw new ClientError("source_unknown");
  return source;
}

/** Without a body there is nothing to read, and a POST without one can be signed all the same. */
function nothing(signedAt: string | null): PostedBody {
  return { bytes: Buffer.alloc(0), signed: Buffer.from(signedAt ?? "", "latin1") };
}

/** The number of the key that made the signature, or null where an unsigned POST is allowed. */
async function verifyingKey(
  source: Source,
  signed: Buffer,
  signature: string | null,
  signedAt: string | null,
): Promise<number | null> {
  if (signature !== null && signedAt !== null) {
    if (signature.length > SIGNATURE_HEADER_CHARS_MAX || signedAt.length > TIMESTAMP_HEADER_CHARS_MAX) {
      throw new ClientError("signature_invalid");
    }
    const valid = source.keys.filter((key) => isValid(key));
    for (const { id, key } of valid) if (await verifySignatureAside(key, signed, signature)) return id;
    // A signature that no key made is refused even where unsigned POSTs are allowed, once there is a key to check with.
    if (valid.length > 0) throw new ClientError("signature_invalid");
  }
  if (!source.unsignedAllowed) throw new ClientError("signature_missing");
  return null;
}

function header(request: FastifyRequest, name: string): string | null {
  const value = request.headers[name];
  return typeof value === "string" && value !== "" ? value : null;
}
