import type { Pool } from "../src/postgres/pool.ts";

/** Rows of the ledger as the stages would write them, for tests that only read. */

export async function seedSource(pool: Pool, name: string, simulated = false): Promise<number> {
  return id(
    await pool.query<{ id: number }>("INSERT INTO sources (name, simulated) VALUES ($1, $2) RETURNING id", [
      name,
      simulated,
    ]),
  );
}

export interface SeedMessage {
  source: number;
  messageId: string | null;
  recipient?: string;
  delivery?: string;
  firstEventAt?: Date;
  args?: Record<string, string>;
  categories?: string[];
  /** Further columns by their names. */
  columns?: Record<string, unknown>;
}

export async function seedMessage(pool: Pool, message: SeedMessage): Promise<number> {
  const row: Record<string, unknown> = {
    source: message.source,
    message_id: message.messageId,
    recipient: message.recipient ?? null,
    delivery: message.delivery ?? "delivered",
    first_event_at: message.firstEventAt ?? new Date("2026-03-01T09:00:00Z"),
    last_event_at: message.firstEventAt ?? new Date("2026-03-01T09:00:00Z"),
    args: message.args ?? {},
    categories: message.categories ?? [],
    ...message.columns,
  };
  for (const key of Object.keys(message.args ?? {})) {
    await pool.query("INSERT INTO arg_keys (key) VALUES ($1) ON CONFLICT DO NOTHING", [key]);
  }
  return insert(pool, "messages", row);
}

export interface SeedEvent {
  message: number;
  source: number;
  eventId: string;
  type: string;
  occurredAt?: Date;
  recipient?: string;
  receipt?: number;
  ordinal?: number;
  nameless?: boolean;
  twin?: boolean;
  detail?: Record<string, unknown>;
}

export async function seedEvent(pool: Pool, event: SeedEvent): Promise<void> {
  await pool.query(
    `INSERT INTO events (message, occurred_at, receipt, ordinal, origin, source, twin, nameless, event_id, type, recipient, detail)
     VALUES ($1, $2, $3, $4, 'webhook', $5, $6, $7, $8, $9, $10, $11)`,
    [
      event.message,
      event.occurredAt ?? new Date("2026-03-01T09:00:00Z"),
      event.receipt ?? null,
      event.ordinal ?? 0,
      event.source,
      event.twin ?? false,
      event.nameless ?? false,
      event.eventId,
      event.type,
      event.recipient ?? null,
      JSON.stringify(event.detail ?? {}),
    ],
  );
}

export interface SeedReceipt {
  id: number;
  source: number;
  receivedAt?: Date;
  body?: Buffer;
  signed?: boolean;
  /** Whether it still waits for projection. */
  pending?: boolean;
}

export async function seedReceipt(pool: Pool, receipt: SeedReceipt): Promise<void> {
  const receivedAt = receipt.receivedAt ?? new Date("2026-03-01T09:00:05Z");
  const body = receipt.body ?? Buffer.from("[]");
  const signed = receipt.signed ?? true;
  await pool.query(
    `INSERT INTO receipts (id, received_at, source, key, signed_at, signature, sha256, body)
     VALUES ($1, $2, $3, $4, $5, $6, sha256($7::bytea), $7)`,
    [receipt.id, receivedAt, receipt.source, signed ? 1 : null, signed ? "1" : null, signed ? "sig" : null, body],
  );
  if (receipt.pending === true) {
    await pool.query("INSERT INTO inbox (receipt, received_at, bytes) VALUES ($1, $2, $3)", [
      receipt.id,
      receivedAt,
      body.length,
    ]);
  }
}

export async function seedTally(
  pool: Pool,
  tally: { hour: Date; source: number } & Record<string, unknown>,
): Promise<void> {
  await insertRow(pool, "tallies", tally);
}

export async function seedEnrichment(pool: Pool, message: number, columns: Record<string, unknown>): Promise<void> {
  await insertRow(pool, "enrichments", { message, next_attempt_at: new Date(), ...columns });
}

export async function seedQuarantined(
  pool: Pool,
  item: { receipt: number; source: number; ordinal: number; bytes: Buffer; reason?: string; state?: string },
): Promise<number> {
  return insert(pool, "quarantine", { received_at: new Date("2026-03-01T09:00:05Z"), reason: "not_json", ...item });
}

export async function seedAlert(pool: Pool, alert: Record<string, unknown>): Promise<number> {
  return insert(pool, "alerts", { count: 1, since: new Date("2026-03-01T09:00:00Z"), ...alert });
}

async function insert(pool: Pool, table: string, row: Record<string, unknown>): Promise<number> {
  return id(await insertRow(pool, table, row, "RETURNING id"));
}

async function insertRow(
  pool: Pool,
  table: string,
  row: Record<string, unknown>,
  returning = "",
): Promise<{ rows: { id: number }[] }> {
  const columns = Object.keys(row);
  const places = columns.map((_column, index) => `$${index + 1}`);
  return pool.query<{ id: number }>(
    `INSERT INTO ${table} (${columns.join(", ")}) VALUES (${places.join(", ")}) ${returning}`,
    Object.values(row),
  );
}

function id(result: { rows: { id: number }[] }): number {
  const [row] = result.rows;
  if (row === undefined) throw new Error("the row was not inserted");
  return row.id;
}

/** The result of a day, as reconcile writes it: 5,000 events, all held, unless told otherwise. */
export async function seedReconciliation(pool: Pool, result: Record<string, unknown> & { day: string }): Promise<void> {
  const { kinds, ...columns } = result;
  await insertRow(pool, "reconciliations", {
    account: "",
    run: 1,
    state: "equal",
    final: true,
    missing: 0,
    repaired: 0,
    open: 0,
    time_zone: "Europe/Berlin",
    checked_at: new Date(`${result.day}T23:30:00Z`),
    ...columns,
    kinds: JSON.stringify(kinds ?? [seedFigures("processed", 3_000), seedFigures("delivered", 2_000)]),
  });
}

/** The figures of one kind of event on a day. */
export function seedFigures(
  kind: string,
  sendgrid: number | null,
  more: Record<string, unknown> = {},
): Record<string, unknown> {
  const rest = { missing: 0, repaired: 0, open: 0, surplus: 0, checkedBy: "totals", confidence: "certain" };
  return { kind, sendgrid, held: sendgrid ?? 0, ...rest, ...more };
}

export async function seedGap(pool: Pool, gap: Record<string, unknown> & { day: string }): Promise<number> {
  sequence += 1;
  return insert(pool, "gaps", {
    account: "",
    identity: `gap ${sequence}`,
    kind: "delivered",
    rule: "logs",
    confidence: "confirmed",
    ...gap,
  });
}

let sequence = 0;

export async function seedRepair(pool: Pool, repair: Record<string, unknown> & { gap: number }): Promise<void> {
  await insertRow(pool, "repairs", { origin: "logs", outcome: "filed", item: "{}", ...repair });
}

export async function seedRun(pool: Pool, run: Record<string, unknown> = {}): Promise<number> {
  const days = { from_day: "2026-03-01", to_day: "2026-03-01" };
  return insert(pool, "reconciliation_runs", {
    ...days,
    repair: false,
    name: "nightly check",
    state: "finished",
    ...run,
  });
}
