import Type from "typebox";
import { ClientError } from "../errors.ts";
import { readHead, readMessage, type EnrichmentRow } from "../ledger/read-message.ts";
import { readMessages } from "../ledger/read-messages.ts";
import { readSources } from "../ledger/read-sources.ts";
import { ENRICH_REOPEN_SECONDS, PAGE_ROWS_DEFAULT } from "../limits.ts";
import { together } from "../postgres/together.ts";
import { BY_INDEX } from "../postgres/transaction.ts";
import { abandonedSignal } from "./abandoned.ts";
import type { App } from "./app.ts";
import { requireRole, viewerOf } from "./auth.ts";
import {
  EnrichOrderSchema,
  ErrorSchema,
  MessageDetailSchema,
  MessageListSchema,
  MessageQuerySchema,
} from "./contract.ts";
import { readCursor, writeCursor } from "./cursor.ts";
import type { ViewDeps } from "./deps.ts";
import { readEnrichmentState } from "./enrichment-state.ts";
import { addExportRoute } from "./export.ts";
import { readSearch, wantedSources } from "./message-search.ts";
import { presentDetail, presentSummary } from "./present.ts";
import { trafficFilter } from "./query.ts";
import { addReceiptRoute } from "./receipts.ts";
import { addRecipientRoute } from "./recipients.ts";
import { wantedTraffic } from "./traffic.ts";

const IdParams = Type.Object({ id: Type.String({ minLength: 1, description: "MessageSummary.id, percent-encoded" }) });

/** Adds `/api/messages`, its export, `/api/messages/:id`, `POST /api/messages/:id/enrich`, `/api/receipts/:id/body` and `/api/recipients/:address`. */
export function addMessageRoutes(app: App, deps: ViewDeps): void {
  addSearch(app, deps);
  addMessage(app, deps);
  addEnrich(app, deps);
  addExportRoute(app, deps);
  addReceiptRoute(app, deps);
  addRecipientRoute(app, deps);
}

function addSearch(app: App, deps: ViewDeps): void {
  const { pool, read, logAccess } = deps;
  app.get(
    "/api/messages",
    {
      onRequest: requireRole(pool, "support"),
      config: { takesArgs: true },
      schema: {
        summary: "Search messages, newest first. Any number of arg.KEY=VALUE parameters may be added.",
        tags: ["messages"],
        querystring: MessageQuerySchema,
        response: { 200: MessageListSchema, default: ErrorSchema },
      },
    },
    async (request, reply) => {
      const { query } = request;
      const search = {
        ...readSearch(query),
        before: query.cursor === undefined ? undefined : readCursor("m", query.cursor),
        limit: query.limit ?? PAGE_ROWS_DEFAULT,
      };
      // The address as it was asked for, without the cursor: who walks through the pages looks at one search.
      const { cursor: _cursor, limit: _limit, ...asked } = query;
      await logAccess(viewerOf(request), "messages.search", JSON.stringify(asked));
      const { rows, sources } = await read(async (tx) => {
        const traffic = await wantedTraffic(tx, trafficFilter(query));
        // One more than the page shows whether there is a next page.
        return {
          rows: await readMessages(tx, { ...search, sources: wantedSources(traffic), limit: search.limit + 1 }),
          sources: traffic.sources,
        };
      }, abandonedSignal(reply));
      const page = rows.slice(0, search.limit);
      const last = rows.length > page.length ? page.at(-1) : undefined;
      return {
        messages: page.map((row) => presentSummary(row, sources)),
        nextCursor: last === undefined ? null : writeCursor("m", last.id),
      };
    },
  );
}

function addMessage(app: App, deps: ViewDeps): void {
  const { pool, read, logAccess, config } = deps;
  app.get(
    "/api/messages/:id",
    {
      onRequest: requireRole(pool, "support"),
      schema: {
        summary: "One message: its state, its timeline, and the receipts behind it.",
        tags: ["messages"],
        params: IdParams,
        response: { 200: MessageDetailSchema, default: ErrorSchema },
      },
    },
    async (request, reply) => {
      const found = await read(
        async (tx) => {
          const head = await readHead(tx, request.params.id);
          if (head === undefined) throw new ClientError("message_unknown");
          const isToAsk = isWorthAsking(head) && (await readEnrichmentState(tx, config)).state === "on";
          const [sources, whole] = await together(tx, () => [readSources(tx), readMessage(tx, head)]);
          return { whole, sources, isToAsk };
        },
        abandonedSignal(reply),
        BY_INDEX,
      );
      await logAccess(viewerOf(request), "message.view", request.params.id);
      if (found.isToAsk) await orderEnrichment(deps, found.whole.head.id);
      return presentDetail(found.whole, found.sources);
    },
  );
}

/** What a person has open goes first; what failed is tried again, but not each time the page loads itself. */
function isWorthAsking({ state, askedAt }: EnrichmentRow): boolean {
  if (state === "pending") return true;
  return state === "failed" && (askedAt === null || Date.now() - askedAt.getTime() > ENRICH_REOPEN_SECONDS * 1000);
}

async function orderEnrichment({ pool }: ViewDeps, message: number): Promise<void> {
  await pool.query("INSERT INTO enrichment_orders (message) VALUES ($1) ON CONFLICT DO NOTHING", [message]);
}

function addEnrich(app: App, deps: ViewDeps): void {
  const { pool, read, logAccess, config } = deps;
  app.post(
    "/api/messages/:id/enrich",
    {
      onRequest: requireRole(pool, "support"),
      schema: {
        summary: "Ask SendGrid about this message next.",
        tags: ["messages"],
        params: IdParams,
        response: { 202: EnrichOrderSchema, default: ErrorSchema },
      },
    },
    async (request, reply) => {
      const found = await read(
        async (tx) => {
          const head = await readHead(tx, request.params.id);
          if (head === undefined) throw new ClientError("message_unknown");
          return { id: head.id, isAskable: head.state !== null, enrichment: await readEnrichmentState(tx, config) };
        },
        undefined,
        BY_INDEX,
      );
      const ordered = found.isAskable && found.enrichment.state === "on";
      if (ordered) {
        await logAccess(viewerOf(request), "message.enrich", request.params.id);
        await orderEnrichment(deps, found.id);
      }
      return reply.status(202).send({ ordered, enrichment: found.enrichment.state });
    },
  );
}
