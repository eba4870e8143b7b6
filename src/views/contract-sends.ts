/** The sent register: what an application tells of the mails that it has handed to SendGrid. */
import Type, { type Static } from "typebox";
import { SEND_ARGS_BYTES_MAX, SEND_ID_CHARS_MAX, SEND_RECIPIENTS_MAX, SENDS_PER_REQUEST_MAX } from "../limits.ts";
import { Count, Time } from "./contract.ts";

const ADDRESS_CHARS_MAX = 320;
// The at sign keeps a number that is too large from being taken for an address.

export const SendSchema = Type.Object(
  {
    messageId: Type.String({
      pattern: `^[A-Za-z0-9_-]{1,${SEND_ID_CHARS_MAX}}$`,
      description: "the X-Message-Id of SendGrid's answer",
    }),
    recipients: Type.Optional(
      Type.Union(
        [
          Type.Integer({ minimum: 1, maximum: SEND_RECIPIENTS_MAX }),
          Type.Array(Type.String({ pattern: "@", maxLength: ADDRESS_CHARS_MAX }), {
            minItems: 1,
            maxItems: SEND_RECIPIENTS_MAX,
          }),
        ],
        {
          description:
            "how many, or their addresses, of which the number is kept, and the address where it is one. Left out: one or more",
        },
      ),
    ),
    at: Type.Optional({ ...Time, description: "when it was handed over; left out, or to come: now" }),
    args: Type.Optional(
      Type.Unsafe<Record<string, string>>({
        type: "object",
        additionalProperties: { type: "string" },
        description: `shown beside its gap, such as an order's number; at most ${SEND_ARGS_BYTES_MAX} bytes as JSON`,
      }),
    ),
  },
  { additionalProperties: false },
);

/** POST /v1/sends. */
export const SendsSchema = Type.Object(
  {
    sends: Type.Array(SendSchema, { minItems: 1, maxItems: SENDS_PER_REQUEST_MAX }),
    source: Type.Optional(
      Type.String({ maxLength: 63, description: "the webhook that brings their events; left out: default" }),
    ),
  },
  { additionalProperties: false },
);
export type Sends = Static<typeof SendsSchema>;

export const SendsRegisteredSchema = Type.Object({
  registered: Count,
  known: Type.Integer({ minimum: 0, description: "were registered before; what was said first stands" }),
});
export type SendsRegistered = Static<typeof SendsRegisteredSchema>;
