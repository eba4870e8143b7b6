import { createLog } from "../../src/log.ts";
import { createPool, type Pool } from "../../src/postgres/pool.ts";
import { seedFigures, seedGap, seedReconciliation, seedRepair, seedRun } from "../seed.ts";
import type { PageWorld } from "./page-world.ts";

const DAY_MS = 86_400_000;

/** Some days before today, in UTC. */
export function daysAgo(days: number): string {
  return new Date(Date.now() - days * DAY_MS).toISOString().slice(0, 10);
}

/** What is particular about a day; all others are equal and final. */
export interface SpecialDay {
  daysAgo: number;
  state: "repaired" | "suspected" | "missing" | "unknown";
  /** Events found missing. */
  count: number;
}

export interface SeededYear {
  /** Days with a result, up to yesterday. */
  days: number;
  special: readonly SpecialDay[];
  /** A further account, with a result for each of as many days. */
  account?: { name: string; days: number };
  /** A message that the ledger holds, for the gaps to link to. */
  messageId?: string;
}

/** Writes results, gaps, repairs and runs as reconcile and the ledger would, into the database of a running service. */
export async function seedYear(world: PageWorld, year: SeededYear): Promise<void> {
  const { databaseUrl } = world.service;
  if (databaseUrl === undefined) throw new Error("the service does not say where its database is");
  const pool = createPool({ databaseUrl, log: createLog("warn"), connectionsMax: 1, name: "seed" });
  try {
    for (let days = 1; days <= year.days; days += 1) {
      const special = year.special.find((each) => each.daysAgo === days);
      await seedDay(pool, days, special);
      if (special !== undefined) await seedGaps(pool, special, year.messageId);
    }
    const { account } = year;
    for (let days = 1; days <= (account?.days ?? 0); days += 1) {
      await seedReconciliation(pool, { day: daysAgo(days), account: account?.name, time_zone: "UTC" });
    }
    await seedRun(pool, { from_day: daysAgo(4), to_day: daysAgo(1), repair: true, calls: 9, finished_at: new Date() });
  } finally {
    await pool.end();
  }
}

const OF_KINDS = [
  ["processed", 1_604],
  ["deferred", 118],
  ["delivered", 1_561],
  ["bounce", 31],
  ["blocked", 7],
  ["dropped", 12],
  ["open", 1_290],
  ["click", 371],
  ["spamreport", 2],
  ["unsubscribe", 4],
] as const;

async function seedDay(pool: Pool, days: number, special: SpecialDay | undefined): Promise<void> {
  const day = daysAgo(days);
  const { state = "equal", count = 0 } = special ?? {};
  const repaired = state === "repaired" ? count : 0;
  const open = state === "unknown" ? 0 : count - repaired;
  const missing = repaired + open;
  await seedReconciliation(pool, {
    day,
    state,
    final: days > 3,
    missing,
    repaired,
    open,
    time_zone: "UTC",
    checked_at: new Date(Date.parse(day) + 26 * 3_600_000),
    kinds: [
      ...OF_KINDS.map(([kind, number]) =>
        kind === "delivered"
          ? seedFigures(kind, number, {
              held: number - open,
              missing,
              repaired,
              open,
              checkedBy: missing > 0 ? "totals+logs" : "totals",
            })
          : seedFigures(kind, state === "unknown" ? null : number, { held: number }),
      ),
      seedFigures("group_unsubscribe", null, { held: 3, checkedBy: "rules", confidence: "likely" }),
    ],
  });
  if (state !== "repaired") return;
  await pool.query(
    `INSERT INTO reconciliation_changes (day, account, run, before, after, reasons)
     VALUES ($1, '', 1, $2, $3, $4)`,
    [
      day,
      { state: "missing", missing, repaired: 0, open: missing },
      { state, missing, repaired, open },
      JSON.stringify([{ code: "repaired", kind: "delivered", count: repaired }]),
    ],
  );
}

async function seedGaps(pool: Pool, special: SpecialDay, messageId: string | undefined): Promise<void> {
  const { state, count } = special;
  if (state === "unknown") return;
  const held = await pool.query<{ id: number }>("SELECT id FROM messages WHERE message_id = $1", [messageId]);
  const message = held.rows[0]?.id ?? null;
  const day = daysAgo(special.daysAgo);
  for (let index = 0; index < count; index += 1) {
    const occurredAt = new Date(Date.parse(day) + (8 * 3_600 + index * 613) * 1_000);
    const gap = await seedGap(pool, {
      day,
      message: index === 0 ? message : null,
      message_id: index === 0 ? messageId : `mail-${index}.recvd-7c9b4d8f6-2xk9p-1-65A1B2C3-1F.0`,
      recipient: `customer+${index}@example.com`,
      occurred_at: occurredAt,
      state: state === "repaired" ? "repaired" : "open",
      rule: state === "suspected" ? "opened_without_delivered" : "logs",
      confidence: state === "suspected" ? "suspected" : "confirmed",
      evidence: JSON.stringify({ status: "delivered" }),
    });
    if (state === "repaired") {
      await seedRepair(pool, { gap, repaired_at: new Date(occurredAt.getTime() + DAY_MS) });
    }
  }
}
