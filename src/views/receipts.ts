import Type from "typebox";
import { ClientError } from "../errors.ts";
import { readReceipt } from "../ledger/read-receipt.ts";
import { abandonedSignal } from "./abandoned.ts";
import type { App } from "./app.ts";
import { requireRole, viewerOf } from "./auth.ts";
import { ErrorSchema } from "./contract.ts";
import type { ViewDeps } from "./deps.ts";
import { isoTime } from "./present.ts";
import { readRowNumber } from "./query.ts";

/** For the description only: a Buffer goes out as it is. */
const RESPONSE: object = {
  200: {
    description: "the bytes as they came",
    content: { "application/octet-stream": { schema: { type: "string", format: "binary" } } },
  },
  default: ErrorSchema,
};

/** Adds `GET /api/receipts/:id/body`: the bytes of a POST, and in headers what they are checked with. */
export function addReceiptRoute(app: App, { pool, read, logAccess }: ViewDeps): void {
  app.get(
    "/api/receipts/:id/body",
    {
      // A POST holds the events of many people.
      onRequest: requireRole(pool, "compliance"),
      schema: {
        summary:
          "The bytes of a POST exactly as they came. Headers: SendGrid's two signature headers as they came, X-Holdfast-Public-Key (the key that verified them), X-Holdfast-Sha256, X-Holdfast-Source, X-Holdfast-Received-At.",
        tags: ["ledger"],
        params: Type.Object({ id: Type.String() }),
        response: RESPONSE,
      },
    },
    async (request, reply) => {
      const { id } = request.params;
      const number = readRowNumber(id);
      const receipt =
        number === undefined ? undefined : await read(async (tx) => readReceipt(tx, number), abandonedSignal(reply));
      if (receipt === undefined) throw new ClientError("receipt_unknown");
      await logAccess(viewerOf(request), "receipt.take", id);
      const { source, receivedAt, sha256, signature, signedAt, publicKey, body } = receipt;
      const signed = {
        "x-twilio-email-event-webhook-signature": signature,
        "x-twilio-email-event-webhook-timestamp": signedAt,
        "x-holdfast-public-key": publicKey?.toString("base64"),
      };
      for (const [name, value] of Object.entries(signed)) if (typeof value === "string") void reply.header(name, value);
      return reply
        .headers({
          // Never shown by the browser itself: what is in it came from anywhere.
          "content-type": "application/octet-stream",
          "content-disposition": `attachment; filename="receipt-${id}.json"`,
          "x-holdfast-sha256": sha256.toString("hex"),
          "x-holdfast-source": source,
          "x-holdfast-received-at": isoTime(receivedAt),
        })
        .send(body);
    },
  );
}
