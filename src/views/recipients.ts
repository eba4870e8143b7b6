import { ClientError } from "../errors.ts";
import { publicMessageId } from "../ledger/read-message.ts";
import {
  readDeliveredSince,
  readReasons,
  readRecipient,
  type RecipientFilter,
  type RecipientSummary,
} from "../ledger/read-recipient.ts";
import type { Connection } from "../postgres/pool.ts";
import { abandonedSignal } from "./abandoned.ts";
import type { App } from "./app.ts";
import { requireRole, viewerOf } from "./auth.ts";
import {
  type Recipient,
  RecipientParamsSchema,
  RecipientQuerySchema,
  RecipientSchema,
  type Suppression,
} from "./contract-recipient.ts";
import { ErrorSchema } from "./contract.ts";
import type { ViewDeps } from "./deps.ts";
import { isoTime, sourceName, type Sources } from "./present.ts";
import { trafficFilter } from "./query.ts";
import { endsByDelivery, findSuppressions } from "./suppression.ts";
import { wantedTraffic } from "./traffic.ts";

/** Adds `GET /api/recipients/:address`. Its mails are listed by `GET /api/messages?recipient=`. */
export function addRecipientRoute(app: App, { pool, read, logAccess }: ViewDeps): void {
  app.get(
    "/api/recipients/:address",
    {
      onRequest: requireRole(pool, "support"),
      schema: {
        summary: "One person: how their mails arrive, and whether SendGrid has stopped sending to them, and why.",
        tags: ["messages"],
        params: RecipientParamsSchema,
        querystring: RecipientQuerySchema,
        response: { 200: RecipientSchema, default: ErrorSchema },
      },
    },
    async (request, reply) => {
      const { address } = request.params;
      await logAccess(viewerOf(request), "recipient.view", address);
      return read(async (tx) => {
        const { wanted, sources } = await wantedTraffic(tx, trafficFilter(request.query));
        const filter = { address: address.trim(), sources: wanted };
        const summary = await readRecipient(tx, filter);
        const suppressions = await readSuppressions(tx, filter, sources);
        if (summary.messages === 0 && suppressions.length === 0) throw new ClientError("recipient_unknown");
        return presentRecipient(filter.address, summary, suppressions);
      }, abandonedSignal(reply));
    },
  );
}

async function readSuppressions(tx: Connection, filter: RecipientFilter, sources: Sources): Promise<Suppression[]> {
  const suppressions: Suppression[] = [];
  for (const { kind, event, lastSignAt, endedAt } of findSuppressions(await readReasons(tx, filter))) {
    const delivered = endsByDelivery(kind) ? await readDeliveredSince(tx, filter, lastSignAt) : null;
    const source = sourceName(sources, event.source);
    suppressions.push({
      kind,
      since: isoTime(event.occurredAt),
      source,
      message: publicMessageId(event.message, source),
      event: { type: event.type, detail: reasonDetail(event.detail) },
      endedAt: isoTime(endedAt ?? delivered),
    });
  }
  // What holds now stands first.
  return [...suppressions.filter(({ endedAt }) => endedAt === null), ...suppressions.filter((s) => s.endedAt !== null)];
}

/** The keys that explain a refusal; the whole event stands on its message's page. */
const REASON_KEYS = ["type", "status", "reason", "response", "bounce_classification", "asm_group_id"];
const REASON_CHARS_MAX = 4_000;

function reasonDetail(detail: Record<string, unknown>): Record<string, unknown> {
  const shown: Record<string, unknown> = {};
  for (const key of REASON_KEYS) {
    const value = detail[key];
    if (typeof value === "number") shown[key] = value;
    if (typeof value === "string") shown[key] = value.slice(0, REASON_CHARS_MAX).toWellFormed();
  }
  return shown;
}

function presentRecipient(address: string, row: RecipientSummary, suppressions: Suppression[]): Recipient {
  const { messages, hasMore, opened, clicked, unknown, processed, deferred, delivered, dropped, blocked, bounced } =
    row;
  return {
    address,
    messages,
    hasMore,
    byDelivery: { unknown, processed, deferred, delivered, dropped, blocked, bounced },
    opened,
    clicked,
    firstEventAt: isoTime(row.firstEventAt),
    lastEventAt: isoTime(row.lastEventAt),
    lastDeliveredAt: isoTime(row.lastDeliveredAt),
    lastOpenAt: isoTime(row.lastOpenAt),
    suppressions,
  };
}
