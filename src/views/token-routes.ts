import Type from "typebox";
import { ClientError } from "../errors.ts";
import { VIEW_BODY_BYTES_MAX } from "../limits.ts";
import type { App } from "./app.ts";
import { requireRole, viewerOf } from "./auth.ts";
import {
  CreatedTokenSchema,
  EndedTokensSchema,
  NewTokenSchema,
  TokenListSchema,
  type Token,
} from "./contract-settings.ts";
import { ErrorSchema } from "./contract.ts";
import type { ViewDeps } from "./deps.ts";
import { isoTime } from "./present.ts";
import { readRowNumber } from "./query.ts";
import {
  CONFIGURED_ADMIN,
  createToken,
  listTokens,
  LOGIN_LINK,
  OIDC_PREFIX,
  revokeToken,
  type TokenRow,
} from "./tokens.ts";

/** A token's number in the database is an integer of 32 bits. */
const TOKEN_NUMBER_MAX = 2 ** 31 - 1;

/** Adds `GET` and `POST /api/tokens` and `DELETE /api/tokens/:id`. */
export function addTokenRoutes(app: App, deps: ViewDeps): void {
  addList(app, deps);
  addCreate(app, deps);
  addEnd(app, deps);
}

function isFixed({ kind, name }: Pick<TokenRow, "kind" | "name">): boolean {
  return kind === "api" && name === CONFIGURED_ADMIN;
}

function addList(app: App, { pool }: ViewDeps): void {
  app.get(
    "/api/tokens",
    {
      onRequest: requireRole(pool, "admin"),
      schema: {
        summary:
          "Who can get in: valid tokens, sessions, unused login links, and tokens that expired lately. The tokens themselves are not known.",
        tags: ["settings"],
        response: { 200: TokenListSchema, default: ErrorSchema },
      },
    },
    async (request) => {
      const { token: own } = viewerOf(request);
      return { tokens: (await listTokens(pool)).map((row) => present(row, own)) };
    },
  );
}

function present(row: TokenRow, own: number): Token {
  return {
    id: String(row.id),
    kind: row.kind,
    name: row.name,
    role: row.role,
    createdAt: isoTime(row.createdAt),
    expiresAt: isoTime(row.expiresAt),
    usedAt: isoTime(row.usedAt),
    own: row.id === own,
    ended: row.ended,
    fixed: isFixed(row),
    openedWith: openedWith(row),
  };
}

/** By the name: those of links and of the identity provider are nobody else's (see createToken). */
function openedWith({ kind, name }: TokenRow): Token["openedWith"] {
  if (kind !== "session") return null;
  if (name.startsWith(OIDC_PREFIX)) return "provider";
  return name === LOGIN_LINK ? "link" : "token";
}

function addCreate(app: App, { pool, logAccess }: ViewDeps): void {
  app.post(
    "/api/tokens",
    {
      bodyLimit: VIEW_BODY_BYTES_MAX,
      onRequest: requireRole(pool, "admin"),
      schema: {
        summary: "Make an API token. It is shown in this answer and never again.",
        tags: ["settings"],
        body: NewTokenSchema,
        response: { 201: CreatedTokenSchema, default: ErrorSchema },
      },
    },
    async (request, reply) => {
      const { name, role, days } = request.body;
      const until = days === undefined ? "" : `, ${days} days`;
      await logAccess(viewerOf(request), "token.create", `${name} (${role}${until})`);
      const created = await createToken(pool, { name, role, days });
      if (created.outcome === "name_taken") throw new ClientError("name_taken");
      return reply.status(201).send({ id: String(created.id), token: created.token });
    },
  );
}

function addEnd(app: App, { pool, logAccess }: ViewDeps): void {
  app.delete(
    "/api/tokens/:id",
    {
      onRequest: requireRole(pool, "admin"),
      schema: {
        summary: "End a token or session; with an API token, all sessions opened with it.",
        tags: ["settings"],
        params: Type.Object({ id: Type.String() }),
        response: { 200: EndedTokensSchema, default: ErrorSchema },
      },
    },
    async (request) => {
      const id = readRowNumber(request.params.id) ?? 0;
      if (id > TOKEN_NUMBER_MAX) throw new ClientError("token_unknown");
      const known = (await listTokens(pool)).find((row) => row.id === id);
      if (known === undefined || known.ended) throw new ClientError("token_unknown");
      // It would come back with the next start of the process, which is worse than not ending at all.
      if (isFixed(known)) throw new ClientError("fixed_by_settings");
      await logAccess(viewerOf(request), "token.end", `${known.name} (${known.kind})`);
      const ended = await revokeToken(pool, id);
      if (ended === 0) throw new ClientError("token_unknown");
      return { ended };
    },
  );
}
