import { readRates } from "../ledger/read-rates.ts";
import { RATE_STEPS } from "../limits.ts";
import type { Queryable } from "../postgres/pool.ts";
import { abandonedSignal } from "./abandoned.ts";
import type { App } from "./app.ts";
import { requireRole } from "./auth.ts";
import { RateQuerySchema, RatesSchema, type Rates, type RateSpan } from "./contract-live.ts";
import { ErrorSchema } from "./contract.ts";
import type { ViewDeps } from "./deps.ts";
import { isoTime } from "./present.ts";
import { trafficFilter } from "./query.ts";
import { wantedTraffic } from "./traffic.ts";

const [FINE, MIDDLE, COARSE] = RATE_STEPS;
const STEP_OF_SPAN = { "15min": FINE, "24h": MIDDLE, "30d": COARSE } as const satisfies Record<RateSpan, unknown>;

/** Adds `GET /api/rates`. */
export function addRatesRoute(app: App, { pool, read }: ViewDeps): void {
  app.get(
    "/api/rates",
    {
      onRequest: requireRole(pool, "support"),
      schema: {
        summary: "How many events were filed when, by kind, and the retries beside them.",
        tags: ["ledger"],
        querystring: RateQuerySchema,
        response: { 200: RatesSchema, default: ErrorSchema },
      },
    },
    async ({ query }, reply) =>
      read(async (tx) => {
        const { wanted } = await wantedTraffic(tx, trafficFilter(query));
        const { seconds, shownSeconds } = STEP_OF_SPAN[query.span ?? "15min"];
        return presentRates(tx, { sources: wanted, stepSeconds: seconds, spanSeconds: shownSeconds });
      }, abandonedSignal(reply)),
  );
}

/** The finest buckets of the last moment, for the live stream: the one under way and those that may still have changed. */
export async function latestRates(tx: Queryable, sources: readonly number[]): Promise<Rates> {
  return presentRates(tx, { sources, stepSeconds: FINE.seconds, spanSeconds: 3 * FINE.seconds });
}

async function presentRates(
  tx: Queryable,
  span: { sources: readonly number[]; stepSeconds: number; spanSeconds: number },
): Promise<Rates> {
  const { sources, stepSeconds, spanSeconds } = span;
  // The buckets are the database's, so their end is by its clock too. The one under way counts as a whole one.
  const clock = await tx.query<{ end: Date }>(
    "SELECT date_bin(make_interval(secs => $1), now(), 'epoch') + make_interval(secs => $1) AS end",
    [stepSeconds],
  );
  const to = clock.rows[0]?.end ?? new Date();
  const from = new Date(to.getTime() - spanSeconds * 1000);
  const rows = await readRates(tx, { sources, stepSeconds, from });
  return {
    stepSeconds,
    from: isoTime(from),
    to: isoTime(to),
    points: rows.map((row) => Object.assign(row, { at: isoTime(row.at) })),
  };
}
