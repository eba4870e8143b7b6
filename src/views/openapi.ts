import swagger from "@fastify/swagger";
import swaggerUi from "@fastify/swagger-ui";
import type { FastifyInstance } from "fastify";

/** Adds `GET /openapi.json`, made from the routes' own schemas, and `GET /docs`. Must come before the routes. */
export async function addOpenapi(app: FastifyInstance, version: string): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: "3.1.0",
      info: {
        title: "Holdfast",
        version,
        description: "A ledger of e-mail events. Errors are {error: {code, message}}; docs/errors.md lists the codes.",
        license: { name: "Apache-2.0" },
      },
      components: {
        securitySchemes: {
          token: { type: "http", scheme: "bearer" },
          session: { type: "apiKey", in: "cookie", name: "holdfast_session" },
        },
      },
      security: [{ token: [] }, { session: [] }],
      paths: { "/webhooks/sendgrid": webhook(""), "/webhooks/sendgrid/{source}": webhook("/:source") },
    },
  });
  await app.register(swaggerUi, { routePrefix: "/docs", uiConfig: { deepLinking: true }, staticCSP: false });
  app.get("/openapi.json", { schema: { hide: true } }, async () => app.swagger());
}

/** Intake has no schemas, since it reads no body; what it takes and answers stands here. */
function webhook(suffix: string): object {
  const answer = (description: string): object => ({ description });
  const parameters = ["x-twilio-email-event-webhook-signature", "x-twilio-email-event-webhook-timestamp"].map(
    (name) => ({
      name,
      in: "header",
      schema: { type: "string" },
    }),
  );
  const source = { name: "source", in: "path", required: true, schema: { type: "string" } };
  return {
    post: {
      summary: "SendGrid's Event Webhook. 200 only after the POST is committed.",
      tags: ["webhook"],
      security: [],
      parameters: suffix === "" ? parameters : [source, ...parameters],
      requestBody: { content: { "application/json": { schema: { type: "array", items: { type: "object" } } } } },
      responses: {
        200: {
          description: "kept",
          content: {
            "application/json": { schema: { type: "object", properties: { receipt: { type: "string" } } } },
          },
        },
        401: answer("no signature, or one that no key of this source made"),
        404: answer("no such source"),
        413: answer("over 5 MiB"),
        503: answer("nothing was acknowledged: send it again"),
      },
    },
  };
}
