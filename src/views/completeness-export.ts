import type { FastifyReply } from "fastify";
import { daysBetween } from "../days.ts";
import { ClientError } from "../errors.ts";
import {
  CERTIFICATE_RESULTS_MAX,
  COMPLETENESS_DAYS_MAX,
  COMPLETENESS_RESULTS_MAX,
  EXPORTS_CONCURRENT_MAX,
} from "../limits.ts";
import { abandonedSignal } from "./abandoned.ts";
import { accountZone } from "./account-zone.ts";
import type { App } from "./app.ts";
import { requireRole, viewerOf } from "./auth.ts";
import { canonicalJson, type Figures, figuresOf } from "./completeness-figures.ts";
import { readFigures, readRepairedFrom, type RepairedFrom } from "./completeness-rows.ts";
import { CertificateQuerySchema, type FiguresQuery, FiguresQuerySchema } from "./contract-completeness.ts";
import { ErrorSchema } from "./contract.ts";
import { CSV_BEGIN, csvLine } from "./csv.ts";
import { readDayRange } from "./days.ts";
import type { ViewDeps } from "./deps.ts";

const tags = ["completeness"];

/** Adds `GET /api/completeness.csv`, `.json` and `/certificate.pdf`: what may be taken away and filed. */
export function addCompletenessExportRoutes(app: App, deps: ViewDeps): void {
  addCsv(app, deps);
  addJson(app, deps);
  addCertificate(app, deps);
}

function fileAnswer(description: string, type: string): object {
  return {
    200: { description, content: { [type]: { schema: { type: "string" } } } },
    default: ErrorSchema,
  };
}

interface Answer {
  figures: Figures;
  repairedFrom: RepairedFrom[];
  timeZone: string;
}

async function readAnswer(
  deps: ViewDeps,
  { query, resultsMax, reply }: { query: FiguresQuery; resultsMax: number; reply: FastifyReply },
): Promise<Answer> {
  const range = readDayRange(query, COMPLETENESS_DAYS_MAX);
  const { account } = query;
  return deps.read(async (tx) => {
    const rows = await readFigures(tx, { ...range, account, limit: resultsMax + 1 });
    if (rows.length > resultsMax) {
      throw new ClientError(
        "bad_request",
        `There are more than ${resultsMax} results: ask for fewer days, or one account`,
      );
    }
    return {
      figures: figuresOf(account === undefined ? range : { ...range, account }, rows),
      repairedFrom: await readRepairedFrom(tx, range, account),
      timeZone: rows[0]?.timeZone ?? accountZone(deps).timeZone,
    };
  }, abandonedSignal(reply));
}

function sendFile(reply: FastifyReply, file: { type: string; name: string; body: string | Buffer }): FastifyReply {
  const { type, name, body } = file;
  return reply.headers({ "content-type": type, "content-disposition": `attachment; filename="${name}"` }).send(body);
}

function nameOf({ from, to }: { from: string; to: string }): string {
  return from === to ? from : `${from}-to-${to}`;
}

function addCsv(app: App, deps: ViewDeps): void {
  app.get(
    "/api/completeness.csv",
    {
      exposeHeadRoute: false,
      onRequest: requireRole(deps.pool, "compliance"),
      schema: {
        summary: "The figures of a period as CSV: a line for each day, account and kind of event.",
        tags,
        querystring: FiguresQuerySchema,
        response: fileAnswer("CSV with a header line", "text/csv"),
      },
    },
    async (request, reply) => {
      const { query } = request;
      const { figures } = await readAnswer(deps, { query, resultsMax: COMPLETENESS_RESULTS_MAX, reply });
      await deps.logAccess(viewerOf(request), "completeness.export", JSON.stringify(query));
      const body = `${CSV_BEGIN}${csvLine(COLUMNS)}${linesOf(figures).map(csvLine).join("")}`;
      const name = `completeness-${nameOf(figures)}.csv`;
      return sendFile(reply, { type: "text/csv; charset=utf-8; header=present", name, body });
    },
  );
}

const COLUMNS = [
  "day",
  "account",
  "time_zone",
  "state",
  "final",
  "kind",
  "sendgrid",
  "held",
  "missing",
  "repaired",
  "open",
  "surplus",
  "checked_by",
  "confidence",
  "checked_at",
] as const;

type Cell = string | number | boolean | null;

/** A day without a result has a line too: whoever sums up must see that it was not checked. */
function linesOf(figures: Figures): Cell[][] {
  const byDay = Map.groupBy(figures.days, ({ day }) => day);
  return daysBetween(figures.from, figures.to).flatMap((day) => {
    const results = byDay.get(day);
    if (results === undefined) return [[day, figures.account ?? null, null, "not_checked", false, ...NO_FIGURES, null]];
    return results.flatMap(({ account, timeZone, state, final, kinds, checkedAt }) => {
      const begin = [day, account, timeZone, state, final];
      if (kinds.length === 0) return [[...begin, ...NO_FIGURES, checkedAt]];
      return kinds.map((each) => [
        ...begin,
        each.kind,
        each.sendgrid,
        each.held,
        each.missing,
        each.repaired,
        each.open,
        each.surplus,
        each.checkedBy,
        each.confidence,
        checkedAt,
      ]);
    });
  });
}

const NO_FIGURES: readonly null[] = [null, null, null, null, null, null, null, null, null];

function addJson(app: App, deps: ViewDeps): void {
  app.get(
    "/api/completeness.json",
    {
      exposeHeadRoute: false,
      onRequest: requireRole(deps.pool, "compliance"),
      schema: {
        summary:
          "The figures of a period as canonical JSON: the SHA-256 of these bytes is what a certificate of the same period prints.",
        tags,
        querystring: FiguresQuerySchema,
        response: fileAnswer("canonical JSON (RFC 8785)", "application/json"),
      },
    },
    async (request, reply) => {
      const { query } = request;
      const { figures } = await readAnswer(deps, { query, resultsMax: COMPLETENESS_RESULTS_MAX, reply });
      await deps.logAccess(viewerOf(request), "completeness.export", JSON.stringify(query));
      const name = `completeness-${nameOf(figures)}.json`;
      return sendFile(reply, { type: "application/json; charset=utf-8", name, body: canonicalJson(figures) });
    },
  );
}

function addCertificate(app: App, deps: ViewDeps): void {
  let drawing = 0;
  app.get(
    "/api/completeness/certificate.pdf",
    {
      exposeHeadRoute: false,
      onRequest: requireRole(deps.pool, "compliance"),
      schema: {
        summary: "The completeness certificate of a period, to be printed and filed.",
        tags,
        querystring: CertificateQuerySchema,
        response: fileAnswer("PDF", "application/pdf"),
      },
    },
    async (request, reply) => {
      const { language = "en", ...query } = request.query;
      if (drawing >= EXPORTS_CONCURRENT_MAX) throw new ClientError("busy");
      drawing += 1;
      try {
        const answer = await readAnswer(deps, { query, resultsMax: CERTIFICATE_RESULTS_MAX, reply });
        await deps.logAccess(viewerOf(request), "completeness.certificate", JSON.stringify(request.query));
        // Loaded when it is first wanted: most processes never draw one.
        const { drawCertificate } = await import("./certificate.ts");
        const { version, config } = deps;
        const body = await drawCertificate({ ...answer, language, version, instance: config.HOLDFAST_PUBLIC_URL });
        const name = `completeness-certificate-${nameOf(answer.figures)}.pdf`;
        return await sendFile(reply, { type: "application/pdf", name, body });
      } finally {
        drawing -= 1;
      }
    },
  );
}
