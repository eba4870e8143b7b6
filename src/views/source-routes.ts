import { createHash } from "node:crypto";
import type { FastifyReply, FastifyRequest } from "fastify";
import Type from "typebox";
import { ClientError } from "../errors.ts";
import { PAGE_SOURCES_MAX, SOURCE_KEYS_MAX, VIEW_BODY_BYTES_MAX } from "../limits.ts";
import { parsePublicKeys } from "../sendgrid/signature.ts";
import type { AccessAction } from "./access-log.ts";
import type { App } from "./app.ts";
import { requireRole, viewerOf } from "./auth.ts";
import {
  KeyEndSchema,
  NewKeySchema,
  NewSourceSchema,
  SourceListSchema,
  type SourceKey,
  type SourceWithKeys,
} from "./contract-settings.ts";
import { ErrorSchema, OrderedSchema } from "./contract.ts";
import type { ViewDeps } from "./deps.ts";
import { isoTime } from "./present.ts";
import { readRowNumber, readTime } from "./query.ts";
import { isLive, readSources, type KeyRow, type SourceKeysRow } from "./source-keys.ts";
import { sourcePath } from "./status.ts";

/**
 * Adds `GET` and `POST /api/sources`, `POST /api/sources/:name/keys` and `POST /api/keys/:id/end`. Views write the order
 * down; intake carries it out within seconds, in every process.
 */
export function addSourceRoutes(app: App, deps: ViewDeps): void {
  addList(app, deps);
  addSource(app, deps);
  addKey(app, deps);
  addKeyEnd(app, deps);
}

function addList(app: App, { pool, read }: ViewDeps): void {
  app.get(
    "/api/sources",
    {
      onRequest: requireRole(pool, "admin"),
      schema: {
        summary: "Every source with its keys: fingerprint, validity, last use.",
        tags: ["settings"],
        response: { 200: SourceListSchema, default: ErrorSchema },
      },
    },
    async () => {
      const { sources, ordersPending } = await read(readSources);
      return { sources: sources.map(presentSource), ordersPending };
    },
  );
}

function presentSource({ name, simulated, createdAt, keys }: SourceKeysRow): SourceWithKeys {
  return { name, simulated, path: sourcePath(name), createdAt: isoTime(createdAt), keys: keys.map(presentKey) };
}

function presentKey({ id, der, origin, validFrom, validUntil, usedAt }: KeyRow): SourceKey {
  return {
    id: String(id),
    fingerprint: createHash("sha256").update(der).digest("hex"),
    publicKey: der.toString("base64"),
    origin,
    validFrom: isoTime(validFrom),
    validUntil: isoTime(validUntil),
    usedAt: isoTime(usedAt),
  };
}

/** @throws ClientError `bad_request` for anything but one ECDSA key on the curve P-256. */
function readPublicKey(text: string): Buffer {
  let keys: readonly { der: Buffer }[];
  try {
    keys = parsePublicKeys(text);
  } catch (error) {
    throw new ClientError("bad_request", `publicKey: ${error instanceof Error ? error.message : "is wrong"}`);
  }
  const [key] = keys;
  if (key === undefined || keys.length > 1) throw new ClientError("bad_request", "publicKey must be one key");
  return key.der;
}

const NEVER = "never";

/** Everything that may be refused has been; what is left is to write it down. */
async function order(
  { pool, logAccess }: ViewDeps,
  [request, reply]: readonly [FastifyRequest, FastifyReply],
  [action, subject]: readonly [AccessAction, string],
  columns: Record<string, unknown>,
): Promise<FastifyReply> {
  await logAccess(viewerOf(request), action, subject);
  const names = Object.keys(columns);
  const places = names.map((_name, index) => `$${index + 1}`);
  await pool.query(
    `INSERT INTO source_key_orders (${names.join(", ")}) VALUES (${places.join(", ")})`,
    Object.values(columns),
  );
  return reply.status(202).send({ ordered: true });
}

function addSource(app: App, deps: ViewDeps): void {
  app.post(
    "/api/sources",
    {
      bodyLimit: VIEW_BODY_BYTES_MAX,
      onRequest: requireRole(deps.pool, "admin"),
      schema: {
        summary: "Add a source: a path of its own, with its first key.",
        tags: ["settings"],
        body: NewSourceSchema,
        response: { 202: OrderedSchema, default: ErrorSchema },
      },
    },
    async (request, reply) => {
      const { name, publicKey } = request.body;
      const der = readPublicKey(publicKey);
      const { sources } = await deps.read(readSources);
      if (sources.some((source) => source.name === name)) throw new ClientError("source_taken");
      if (sources.length >= PAGE_SOURCES_MAX) throw new ClientError("bad_request", "There are too many sources.");
      return order(deps, [request, reply], ["source.add", name], { source: name, public_key: der });
    },
  );
}

function addKey(app: App, deps: ViewDeps): void {
  app.post(
    "/api/sources/:name/keys",
    {
      bodyLimit: VIEW_BODY_BYTES_MAX,
      onRequest: requireRole(deps.pool, "admin"),
      schema: {
        summary: "Add a key to a source. With othersUntil its other page keys end then: a rotation with overlap.",
        tags: ["settings"],
        params: Type.Object({ name: Type.String() }),
        body: NewKeySchema,
        response: { 202: OrderedSchema, default: ErrorSchema },
      },
    },
    async (request, reply) => {
      const { publicKey, othersUntil } = request.body;
      const der = readPublicKey(publicKey);
      const until = readTime("othersUntil", othersUntil);
      if (until !== undefined && until.getTime() <= Date.now())
        throw new ClientError("bad_request", "othersUntil must be in the future, or nothing would overlap");
      const { sources } = await deps.read(readSources);
      const source = sources.find(({ name }) => name === request.params.name);
      if (source === undefined) throw new ClientError("source_unknown", "There is no such source.");
      if (source.simulated) throw new ClientError("fixed_by_settings");
      const live = source.keys.filter((key) => isLive(key));
      if (live.some((key) => key.der.equals(der) && (key.validUntil === null || key.origin === "environment")))
        throw new ClientError("key_taken");
      if (live.length >= SOURCE_KEYS_MAX)
        throw new ClientError("bad_request", `A source has at most ${SOURCE_KEYS_MAX} valid keys; end one first.`);
      const columns = { source: source.name, public_key: der, others_until: until ?? null };
      return order(deps, [request, reply], ["key.add", source.name], columns);
    },
  );
}

function addKeyEnd(app: App, deps: ViewDeps): void {
  app.post(
    "/api/keys/:id/end",
    {
      bodyLimit: VIEW_BODY_BYTES_MAX,
      onRequest: requireRole(deps.pool, "admin"),
      schema: {
        summary: "Say until when a key of the page is valid: a time, or never. It is kept for old signatures.",
        tags: ["settings"],
        params: Type.Object({ id: Type.String() }),
        body: KeyEndSchema,
        response: { 202: OrderedSchema, default: ErrorSchema },
      },
    },
    async (request, reply) => {
      const id = readRowNumber(request.params.id);
      const { validUntil: text } = request.body;
      const asked = text === NEVER ? undefined : readTime("validUntil", text);
      const { sources } = await deps.read(readSources);
      const found = sources
        .flatMap(({ name, keys }) => keys.map((key) => ({ name, key })))
        .find(({ key }) => key.id === id);
      if (found === undefined) throw new ClientError("key_unknown");
      if (found.key.origin === "environment") throw new ClientError("fixed_by_settings");
      // What was verified already stays verified: an end before the present would only look as if it did not.
      const validUntil = asked === undefined ? null : new Date(Math.max(asked.getTime(), Date.now()));
      return order(deps, [request, reply], ["key.end", `${found.name} ${found.key.id}`], {
        key: found.key.id,
        valid_until: validUntil,
      });
    },
  );
}
