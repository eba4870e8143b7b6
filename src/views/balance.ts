import { readBalance } from "../ledger/read-balance.ts";
import { abandonedSignal } from "./abandoned.ts";
import type { App } from "./app.ts";
import { requireRole } from "./auth.ts";
import { BalanceQuerySchema, BalanceSchema, ErrorSchema } from "./contract.ts";
import type { ViewDeps } from "./deps.ts";
import { readTime, trafficFilter } from "./query.ts";
import { wantedTraffic } from "./traffic.ts";

/** Adds `GET /api/balance`. */
export function addBalanceRoute(app: App, { pool, read }: ViewDeps): void {
  app.get(
    "/api/balance",
    {
      onRequest: requireRole(pool, "support"),
      schema: {
        summary: "Accepted = stored + duplicate + quarantined; what is left over is lost. Counted by hours of arrival.",
        tags: ["ledger"],
        querystring: BalanceQuerySchema,
        response: { 200: BalanceSchema, default: ErrorSchema },
      },
    },
    async ({ query }, reply) => {
      const from = readTime("from", query.from);
      const to = readTime("to", query.to);
      return read(async (tx) => {
        const { wanted } = await wantedTraffic(tx, trafficFilter(query));
        return readBalance(tx, { sources: wanted, from, to });
      }, abandonedSignal(reply));
    },
  );
}
