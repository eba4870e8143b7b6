import { ClientError } from "../errors.ts";
import { SEND_ARGS_BYTES_MAX, SENDS_BODY_BYTES_MAX, SENDS_PER_REQUEST_MAX } from "../limits.ts";
import type { App } from "./app.ts";
import { requireRole, viewerOf } from "./auth.ts";
import { type Sends, type SendsRegistered, SendsRegisteredSchema, SendsSchema } from "./contract-sends.ts";
import { ErrorSchema } from "./contract.ts";
import type { ViewDeps } from "./deps.ts";
import { readTime } from "./query.ts";
import { registerSends, type Send } from "./register-sends.ts";

/** Adds `POST /v1/sends`. */
export function addSendsRoute(app: App, { pool }: ViewDeps): void {
  app.post(
    "/v1/sends",
    {
      bodyLimit: SENDS_BODY_BYTES_MAX,
      // Who registers a send that never was makes a gap that nobody can close.
      onRequest: requireRole(pool, "compliance"),
      schema: {
        summary: `Tell which mails were handed to SendGrid, at most ${SENDS_PER_REQUEST_MAX} at once; one that gets no event within an hour is a suspected gap.`,
        tags: ["completeness"],
        body: SendsSchema,
        response: { 200: SendsRegisteredSchema, default: ErrorSchema },
      },
    },
    async (request): Promise<SendsRegistered> => {
      const { sends, source = "default" } = request.body;
      const registration = { source, name: viewerOf(request).name };
      const { outcome, ...counts } = await registerSends(pool, registration, sends.map(readSend));
      if (outcome === "source_unknown") {
        throw new ClientError("bad_request", "source must be the name of a webhook that is not simulated");
      }
      return counts as SendsRegistered;
    },
  );
}

function readSend({ messageId, recipients, at, args }: Sends["sends"][number], index: number): Send {
  const place = `sends.${index}`;
  const texts = [...(Array.isArray(recipients) ? recipients : []), ...Object.entries(args ?? {}).flat()];
  // PostgreSQL holds neither of them in jsonb.
  if (texts.some((text) => text.includes("\0") || !text.isWellFormed())) {
    throw new ClientError("bad_request", `${place} must not hold a NUL character or half a surrogate pair`);
  }
  if (Buffer.byteLength(JSON.stringify(args ?? {})) > SEND_ARGS_BYTES_MAX) {
    throw new ClientError("bad_request", `${place}.args must not have more than ${SEND_ARGS_BYTES_MAX} bytes as JSON`);
  }
  return { messageId, recipients, at: readTime(`${place}.at`, at), args };
}
