import { PAGE_ROWS_DEFAULT } from "../limits.ts";
import { abandonedSignal } from "./abandoned.ts";
import type { App } from "./app.ts";
import { requireRole, viewerOf } from "./auth.ts";
import { AccessLogQuerySchema, AccessLogSchema, type Access } from "./contract-settings.ts";
import { ErrorSchema, type TokenRole } from "./contract.ts";
import { readCursor, writeCursor } from "./cursor.ts";
import type { ViewDeps } from "./deps.ts";
import { isoTime } from "./present.ts";

interface AccessRow {
  id: number;
  at: Date;
  name: string;
  role: TokenRole;
  action: string;
  subject: string | null;
}

/** Adds `GET /api/access-log`: who looked at or ordered what. Looking here is written down too. */
export function addAccessRoute(app: App, { pool, read, logAccess }: ViewDeps): void {
  app.get(
    "/api/access-log",
    {
      onRequest: requireRole(pool, "admin"),
      schema: {
        summary: "Who has looked at personal data, and who changed what, newest first.",
        tags: ["settings"],
        querystring: AccessLogQuerySchema,
        response: { 200: AccessLogSchema, default: ErrorSchema },
      },
    },
    async (request, reply) => {
      const { name, action, subject, cursor, limit = PAGE_ROWS_DEFAULT } = request.query;
      const before = cursor === undefined ? null : readCursor("a", cursor);
      await logAccess(viewerOf(request), "access_log.view");
      const { rows } = await read(
        (tx) =>
          tx.query<AccessRow>(
            `SELECT id, at, name, role, action, subject FROM access_log
           WHERE ($1::bigint IS NULL OR id < $1) AND ($2::text IS NULL OR name = $2)
             AND ($3::text IS NULL OR action = $3) AND ($4::text IS NULL OR subject = $4)
           ORDER BY id DESC LIMIT $5`,
            [before, name ?? null, action ?? null, subject ?? null, limit + 1],
          ),
        abandonedSignal(reply),
      );
      const page = rows.slice(0, limit);
      const last = rows.length > page.length ? page.at(-1) : undefined;
      return {
        rows: page.map(present),
        nextCursor: last === undefined ? null : writeCursor("a", last.id),
      };
    },
  );
}

function present({ id, at, name, role, action, subject }: AccessRow): Access {
  return { id: String(id), at: isoTime(at), name, role, action, subject };
}
