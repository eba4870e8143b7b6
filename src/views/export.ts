import { Readable } from "node:stream";
import { ClientError } from "../errors.ts";
import { type MessageRow, readMessages } from "../ledger/read-messages.ts";
import { EXPORT_PAGE_ROWS, EXPORT_ROWS_MAX, EXPORTS_CONCURRENT_MAX } from "../limits.ts";
import { abandonedSignal } from "./abandoned.ts";
import type { App } from "./app.ts";
import { requireRole, viewerOf } from "./auth.ts";
import { ErrorSchema, type ExportQuery, ExportQuerySchema } from "./contract.ts";
import { CSV_BEGIN, csvLine } from "./csv.ts";
import type { ViewDeps } from "./deps.ts";
import { readSearch, wantedSources } from "./message-search.ts";
import { presentSummary, type Sources } from "./present.ts";
import { trafficFilter } from "./query.ts";
import { wantedTraffic } from "./traffic.ts";

/** Adds `GET /api/messages.csv`: the result of a search as a file, for those who may take data away. */
export function addExportRoute(app: App, deps: ViewDeps): void {
  const { pool, logAccess } = deps;
  let running = 0;
  app.get(
    "/api/messages.csv",
    {
      exposeHeadRoute: false,
      onRequest: requireRole(pool, "compliance"),
      config: { takesArgs: true },
      schema: {
        summary: `The messages of a search as CSV, newest first, at most ${EXPORT_ROWS_MAX}; a last line says when there are more.`,
        tags: ["messages"],
        querystring: ExportQuerySchema,
        response: {
          200: { description: "CSV with a header line", content: { "text/csv": { schema: { type: "string" } } } },
          default: ErrorSchema,
        },
      },
    },
    async (request, reply) => {
      if (running >= EXPORTS_CONCURRENT_MAX) throw new ClientError("busy");
      running += 1;
      const release = once(() => {
        running -= 1;
      });
      try {
        // The first page is read before the answer begins, so that what is wrong is still told with a status.
        const pages = exportPages(deps, request.query, abandonedSignal(reply));
        const first = await pages.next();
        await logAccess(viewerOf(request), "messages.export", JSON.stringify(request.query));
        const body = Readable.from(textOf(first, pages), { objectMode: false });
        body.once("close", release);
        void reply.headers({
          "content-type": "text/csv; charset=utf-8; header=present",
          "content-disposition": `attachment; filename="messages-${new Date().toISOString().slice(0, 10)}.csv"`,
        });
        return await reply.send(body as never);
      } catch (error) {
        release();
        throw error;
      }
    },
  );
}

function once(work: () => void): () => void {
  let done = false;
  return () => {
    if (!done) work();
    done = true;
  };
}

type Page = IteratorResult<string, undefined>;

/** When a later page fails the stream breaks, so that a file that is cut short never looks like a whole one. */
async function* textOf(first: Page, pages: AsyncGenerator<string, undefined>): AsyncGenerator<string> {
  yield CSV_BEGIN + csvLine(COLUMNS);
  if (first.done === true) return;
  yield first.value;
  yield* pages;
}

/**
 * Reads page by page, each when the one before has been taken: a slow reader holds nothing open in the database, and
 * what is filed meanwhile is newer than the first page and not in the file.
 */
async function* exportPages(
  { read }: ViewDeps,
  query: ExportQuery,
  abandoned: AbortSignal,
): AsyncGenerator<string, undefined> {
  const search = readSearch(query);
  let before: number | undefined;
  let left = EXPORT_ROWS_MAX;
  for (;;) {
    const limit = Math.min(EXPORT_PAGE_ROWS, left);
    const { rows, sources } = await read(async (tx) => {
      const traffic = await wantedTraffic(tx, trafficFilter(query));
      const question = { ...search, sources: wantedSources(traffic), before, limit: limit + 1 };
      return { rows: await readMessages(tx, question), sources: traffic.sources };
    }, abandoned);
    const page = rows.slice(0, limit);
    if (page.length > 0) yield page.map((row) => csvLine(cellsOf(row, sources))).join("");
    left -= page.length;
    if (rows.length === page.length) return undefined;
    if (left === 0) {
      yield csvLine([`There are more than these ${EXPORT_ROWS_MAX} messages: narrow the search.`]);
      return undefined;
    }
    before = page.at(-1)?.id;
  }
}

const COLUMNS = [
  "id",
  "source",
  "simulated",
  "recipient",
  "subject",
  "delivery",
  "opens",
  "machine_opens",
  "clicks",
  "complaint",
  "unsubscribed",
  "categories",
  "args",
  "first_event_at",
  "last_event_at",
] as const;

function cellsOf(row: MessageRow, sources: Sources): (string | number | boolean | null)[] {
  const message = presentSummary(row, sources);
  return [
    message.id,
    message.source,
    message.simulated,
    message.recipient,
    message.subject,
    message.delivery,
    message.opens,
    message.machineOpens,
    message.clicks,
    message.complaint,
    message.unsubscribed,
    message.categories.join("; "),
    JSON.stringify(message.args),
    message.firstEventAt,
    message.lastEventAt,
  ];
}
