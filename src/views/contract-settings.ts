/**
 * The public interface of the settings: tokens, the access log, sources and their keys, and how the processes are set up.
 * The rules at the top of contract.ts hold here too. All of it needs the role admin.
 */
import Type, { type Static } from "typebox";
import { PAGE_ROWS_DEFAULT, PAGE_ROWS_MAX, QUERY_CHARS_MAX, TOKEN_DAYS } from "../limits.ts";
import { RoleSchema, Time, TimeOrNull } from "./contract.ts";

/** One line for lists and logs: no control characters, no blanks around it. */
const TokenName = Type.String({
  minLength: 1,
  maxLength: 100,
  pattern:
    "^[^\\s\\u0000-\\u001f\\u007f-\\u009f]([^\\u0000-\\u001f\\u007f-\\u009f]*[^\\s\\u0000-\\u001f\\u007f-\\u009f])?$",
});

export const TokenSchema = Type.Object({
  id: Type.String(),
  kind: Type.Enum(["api", "link", "session"]),
  name: Type.String({
    description: "a session has its token's name; through the identity provider, `sso: ` and the person's",
  }),
  role: RoleSchema,
  createdAt: Time,
  expiresAt: TimeOrNull,
  usedAt: Type.Union([Time, Type.Null()], { description: "written down once an hour" }),
  own: Type.Boolean({ description: "it is what this request came with" }),
  ended: Type.Boolean({ description: "an API token that expired in the last 30 days" }),
  fixed: Type.Boolean({ description: "HOLDFAST_ADMIN_TOKEN: it ends with the setting" }),
  openedWith: Type.Union([Type.Enum(["token", "link", "provider"]), Type.Null()], {
    description:
      "a session's way in: an API token, a login link, or the identity provider; null for what is no session",
  }),
});
export type Token = Static<typeof TokenSchema>;

/** GET /api/tokens: all that are valid now, and the API tokens that expired lately. */
export const TokenListSchema = Type.Object({ tokens: Type.Array(TokenSchema) });
export type TokenList = Static<typeof TokenListSchema>;

/** POST /api/tokens. */
export const NewTokenSchema = Type.Object(
  {
    name: TokenName,
    role: RoleSchema,
    days: Type.Optional(Type.Enum(TOKEN_DAYS, { description: "how long it is valid; left out, until it is ended" })),
  },
  { additionalProperties: false },
);
export type NewToken = Static<typeof NewTokenSchema>;

export const CreatedTokenSchema = Type.Object({
  id: Type.String(),
  token: Type.String({ description: "shown this once: only its hash is kept" }),
});
export type CreatedToken = Static<typeof CreatedTokenSchema>;

/** DELETE /api/tokens/:id. */
export const EndedTokensSchema = Type.Object({
  ended: Type.Integer({ minimum: 1, description: "the token, and with it the sessions opened with it" }),
});
export type EndedTokens = Static<typeof EndedTokensSchema>;

/** GET /api/access-log, newest first. */
export const AccessLogQuerySchema = Type.Object({
  name: Type.Optional(Type.String({ maxLength: 100, description: "exactly this person or token" })),
  action: Type.Optional(Type.String({ maxLength: 40, description: "exactly this action" })),
  subject: Type.Optional(
    Type.String({ maxLength: QUERY_CHARS_MAX, description: "exactly this message, search or number" }),
  ),
  cursor: Type.Optional(Type.String({ maxLength: 64 })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: PAGE_ROWS_MAX, default: PAGE_ROWS_DEFAULT })),
});

export const AccessSchema = Type.Object({
  id: Type.String(),
  at: Time,
  name: Type.String(),
  role: RoleSchema,
  action: Type.String(),
  subject: Type.Union([Type.String(), Type.Null()]),
});
export type Access = Static<typeof AccessSchema>;

export const AccessLogSchema = Type.Object({
  rows: Type.Array(AccessSchema),
  nextCursor: Type.Union([Type.String(), Type.Null()]),
});
export type AccessLog = Static<typeof AccessLogSchema>;

export const SourceKeySchema = Type.Object({
  id: Type.String(),
  fingerprint: Type.String({ description: "SHA-256 of the key's DER, hexadecimal" }),
  publicKey: Type.String({ description: "as SendGrid shows it: base64 of the DER" }),
  origin: Type.Enum(["environment", "page"], {
    description: "who manages it: a process's settings, or admins on the page",
  }),
  validFrom: Time,
  validUntil: TimeOrNull,
  usedAt: Type.Union([Time, Type.Null()], { description: "last POST verified with it; written down twice a minute" }),
});
export type SourceKey = Static<typeof SourceKeySchema>;

/** GET /api/sources. */
export const SourceListSchema = Type.Object({
  sources: Type.Array(
    Type.Object({
      name: Type.String(),
      simulated: Type.Boolean(),
      path: Type.String(),
      createdAt: Time,
      keys: Type.Array(SourceKeySchema, { description: "newest first, ended ones too" }),
    }),
  ),
  ordersPending: Type.Integer({ minimum: 0, description: "changes that no intake process has carried out yet" }),
});
export type SourceList = Static<typeof SourceListSchema>;
export type SourceWithKeys = SourceList["sources"][number];

const PublicKeyText = Type.String({
  minLength: 1,
  maxLength: 2_000,
  description: "one key, as SendGrid shows it or as PEM",
});

/** POST /api/sources: a new source with its first key. */
export const NewSourceSchema = Type.Object(
  { name: Type.String({ pattern: "^[a-z0-9][a-z0-9_-]{0,62}$" }), publicKey: PublicKeyText },
  { additionalProperties: false },
);
export type NewSource = Static<typeof NewSourceSchema>;

/** POST /api/sources/:name/keys: a further key. `othersUntil` rotates: the source's other page keys end then at the latest. */
export const NewKeySchema = Type.Object(
  { publicKey: PublicKeyText, othersUntil: Type.Optional(Type.String({ maxLength: 40 })) },
  { additionalProperties: false },
);
export type NewKey = Static<typeof NewKeySchema>;

/** POST /api/keys/:id/end. */
export const KeyEndSchema = Type.Object(
  { validUntil: Type.String({ maxLength: 40, description: "a time (in the past means now), or never" }) },
  { additionalProperties: false },
);
export type KeyEnd = Static<typeof KeyEndSchema>;

/** GET /api/system: versions, whether what is committed stays, and every limit. Status tells the running processes. */
export const SystemSchema = Type.Object({
  versions: Type.Object({ holdfast: Type.String(), node: Type.String(), postgres: Type.String() }),
  durability: Type.Array(
    Type.Object({
      name: Type.String(),
      value: Type.String(),
      verdict: Type.Enum(["good", "weak", "unsafe"]),
    }),
  ),
  limits: Type.Array(
    Type.Object({
      name: Type.String({ description: "as in src/limits.ts, its unit at the end" }),
      values: Type.Array(Type.Number()),
    }),
  ),
});
export type System = Static<typeof SystemSchema>;
