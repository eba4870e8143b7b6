import Type from "typebox";
import { isDay } from "../days.ts";
import { ClientError } from "../errors.ts";
import { COMPLETENESS_ACCOUNTS_MAX, PAGE_ROWS_DEFAULT } from "../limits.ts";
import type { Connection } from "../postgres/pool.ts";
import { abandonedSignal } from "./abandoned.ts";
import { accountZone } from "./account-zone.ts";
import type { App } from "./app.ts";
import { requireRole, viewerOf } from "./auth.ts";
import { addCompletenessExportRoutes } from "./completeness-export.ts";
import {
  type Accounts,
  type ChangeRow,
  type FiguresRow,
  type GapRow,
  readAccounts,
  readChanges,
  readFigures,
  readGaps,
  readRepairedFrom,
  readResults,
  readYears,
  type RepairedFrom,
  type ResultRow,
} from "./completeness-rows.ts";
import {
  type Completeness,
  type CompletenessDay,
  CompletenessDayQuerySchema,
  type CompletenessOfDay,
  CompletenessOfDaySchema,
  CompletenessQuerySchema,
  CompletenessSchema,
  type DayResult,
  type Gap,
  type ReconciliationChange,
} from "./contract-completeness.ts";
import { ErrorSchema } from "./contract.ts";
import { readCursor, writeCursor } from "./cursor.ts";
import { looksLikeDay } from "./days.ts";
import type { ViewDeps } from "./deps.ts";
import { isoTime } from "./present.ts";
import { addReconciliationRoutes } from "./reconciliations.ts";
import { addSendsRoute } from "./sends.ts";

/** Adds `/api/completeness`, `/api/completeness/:day`, their files and certificate, `/api/reconciliations`, and `/v1/sends`. */
export function addCompletenessRoutes(app: App, deps: ViewDeps): void {
  addYear(app, deps);
  addDay(app, deps);
  addCompletenessExportRoutes(app, deps);
  addReconciliationRoutes(app, deps);
  addSendsRoute(app, deps);
}

function addYear(app: App, deps: ViewDeps): void {
  const { pool, read } = deps;
  app.get(
    "/api/completeness",
    {
      onRequest: requireRole(pool, "support"),
      schema: {
        summary: "Whether anything is missing, for each checked day of a year.",
        tags: ["completeness"],
        querystring: CompletenessQuerySchema,
        response: { 200: CompletenessSchema, default: ErrorSchema },
      },
    },
    async ({ query }, reply): Promise<Completeness> =>
      read(async (tx) => {
        const { timeZone, today } = accountZone(deps);
        const year = Number(query.year ?? today.slice(0, 4));
        const range = { from: `${year}-01-01`, to: `${year}-12-31` };
        const { accounts, accountsLeftOut } = await readAccounts(tx, range);
        const results = await readResults(tx, range, accounts);
        const years = await readYears(tx);
        return { year, years, timeZone, today, accounts, accountsLeftOut, days: results.map(presentResult) };
      }, abandonedSignal(reply)),
  );
}

function addDay(app: App, deps: ViewDeps): void {
  const { pool, read, logAccess } = deps;
  app.get(
    "/api/completeness/:day",
    {
      onRequest: requireRole(pool, "support"),
      schema: {
        summary: "One day: what SendGrid says and Holdfast holds by kind, what is missing, and what changed and why.",
        tags: ["completeness"],
        params: Type.Object({ day: Type.String({ maxLength: 40, description: "YYYY-MM-DD" }) }),
        querystring: CompletenessDayQuerySchema,
        response: { 200: CompletenessOfDaySchema, default: ErrorSchema },
      },
    },
    async (request, reply): Promise<CompletenessOfDay> => {
      const { day } = request.params;
      if (!looksLikeDay(day)) throw new ClientError("bad_request", "the day must be like 2026-03-01");
      if (!isDay(day)) throw new ClientError("not_found", `The calendar has no ${day}.`);
      const { account, state, kind, cursor, limit = PAGE_ROWS_DEFAULT } = request.query;
      const after = cursor === undefined ? undefined : readCursor("g", cursor);
      // The gaps name recipients.
      await logAccess(viewerOf(request), "completeness.view", day);
      return read(async (tx) => {
        const results = await readDay(tx, day, account);
        const zone = accountZone(deps);
        const gaps = await readGaps(tx, { day, account, state, kind, after, limit: limit + 1 });
        const page = gaps.slice(0, limit);
        const last = gaps.length > page.length ? page.at(-1) : undefined;
        const nextCursor = last === undefined ? null : writeCursor("g", last.id);
        const timeZone = results.accounts[0]?.timeZone ?? zone.timeZone;
        return { day, ...zone, timeZone, ...results, gaps: page.map(presentGap), nextCursor };
      }, abandonedSignal(reply));
    },
  );
}

async function readDay(
  tx: Connection,
  day: string,
  account: string | undefined,
): Promise<Pick<CompletenessOfDay, "isChecked" | "accounts" | "accountsLeftOut" | "changes" | "changesLeftOut">> {
  const range = { from: day, to: day };
  const rows = await readFigures(tx, { ...range, account, limit: COMPLETENESS_ACCOUNTS_MAX });
  const leftOut: Accounts =
    account === undefined ? await readAccounts(tx, range) : { accounts: [], accountsLeftOut: 0 };
  const sources = await readRepairedFrom(tx, range, account);
  const changes = await readChanges(tx, day, account);
  return {
    isChecked: rows.length > 0,
    accounts: rows.map((row) => presentDay(row, sources)),
    accountsLeftOut: leftOut.accountsLeftOut,
    changes: changes.map(presentChange),
    changesLeftOut: (changes[0]?.total ?? 0) - changes.length,
  };
}

function presentResult(row: ResultRow): CompletenessDay {
  const { day, account, state, final, missing, repaired, open, simulated } = row;
  return { day, account, state, final, missing, repaired, open, simulated, checkedAt: isoTime(row.checkedAt) };
}

function presentDay(row: FiguresRow, sources: readonly RepairedFrom[]): DayResult {
  const repairedFrom = sources.filter(({ account }) => account === row.account);
  const { timeZone, kinds } = row;
  return {
    ...presentResult(row),
    timeZone,
    kinds,
    repairedFrom: repairedFrom.map(({ origin, count }) => ({ origin, count })),
  };
}

function presentChange({ id, account, changedAt, before, after, reasons }: ChangeRow): ReconciliationChange {
  return { id: String(id), account, changedAt: isoTime(changedAt), before, after, reasons };
}

function presentGap(row: GapRow): Gap {
  const { account, kind, recipient, messageId, isHeld, eventId, rule, confidence, state, evidenceLeftOut } = row;
  const { id, occurredAt, foundAt, closedAt, evidence } = row;
  return {
    id: String(id),
    account,
    kind,
    occurredAt: isoTime(occurredAt),
    recipient,
    messageId,
    isHeld,
    eventId,
    rule,
    confidence,
    state,
    foundAt: isoTime(foundAt),
    closedAt: isoTime(closedAt),
    evidence: evidence ?? {},
    evidenceLeftOut,
    repair: presentRepair(row),
  };
}

function presentRepair({ origin, outcome, repairedAt, replacedAt, replacedByReceipt }: GapRow): Gap["repair"] {
  if (origin === null || outcome === null || repairedAt === null) return null;
  return {
    origin,
    outcome,
    repairedAt: isoTime(repairedAt),
    replacedAt: isoTime(replacedAt),
    replacedByReceipt: replacedByReceipt === null ? null : String(replacedByReceipt),
  };
}
