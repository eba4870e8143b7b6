import { createHash } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { eventIds } from "../load/posts.ts";
import { query } from "../server.ts";
import type { Acknowledged } from "./subject.ts";

/** What the benchmark asks a ledger's database. Counts are cast, since the plain driver gives int8 as text. */

/** Receipts not yet projected. */
async function waitingReceipts(databaseUrl: string): Promise<number> {
  const [row] = await query<{ count: number }>(databaseUrl, "SELECT count(*)::float8 AS count FROM inbox");
  return row?.count ?? Number.NaN;
}

const POLL_MS = 100;
/** A projector that files nothing for so long is stuck. */
const STILL_MS_MAX = 120_000;

/** Waits until the inbox is empty. */
export async function drained(databaseUrl: string): Promise<void> {
  let least = Infinity;
  let movedMs = performance.now();
  for (;;) {
    const waiting = await waitingReceipts(databaseUrl);
    if (waiting === 0) return;
    if (waiting < least) {
      least = waiting;
      movedMs = performance.now();
    }
    if (performance.now() - movedMs > STILL_MS_MAX)
      throw new Error(`the projector stands still, ${waiting} receipts wait`);
    await delay(POLL_MS);
  }
}

/** Every acknowledged POST is one receipt for each of its answers, with its bytes. */
export async function checkReceipts(
  databaseUrl: string,
  acknowledged: Acknowledged,
  before: number,
): Promise<string[]> {
  const wrong: string[] = [];
  const [row] = await query<{ count: number }>(databaseUrl, "SELECT count(*)::float8 AS count FROM receipts");
  const receipts = (row?.count ?? 0) - before;
  // More are possible: a POST that was stored and whose answer was lost.
  if (receipts < acknowledged.answered) wrong.push(`${acknowledged.answered} answers, but ${receipts} receipts`);
  if (acknowledged.bodies === undefined) return wrong;
  const rows = await query<{ sha256: string }>(
    databaseUrl,
    "SELECT DISTINCT encode(sha256, 'hex') AS sha256 FROM receipts",
  );
  const stored = new Set(rows.map(({ sha256 }) => sha256));
  let missing = 0;
  for (const body of acknowledged.bodies()) {
    if (!stored.has(createHash("sha256").update(body).digest("hex"))) missing += 1;
  }
  if (missing > 0) wrong.push(`${missing} acknowledged POSTs have no receipt`);
  return wrong;
}

/** Every acknowledged event is one row, and the balance comes out at 0. The inbox must be empty. */
export async function checkEvents(databaseUrl: string, acknowledged: Acknowledged, before: number): Promise<string[]> {
  const wrong: string[] = [];
  const [row] = await query<{ events: number; lost: number }>(
    databaseUrl,
    `SELECT (SELECT count(*) FROM events)::float8 AS events,
       (SELECT coalesce(sum(accepted - stored - duplicate - quarantined), 0) FROM tallies)::float8 AS lost`,
  );
  const { events = Number.NaN, lost = Number.NaN } = row ?? {};
  if (events - before < acknowledged.events)
    wrong.push(`${acknowledged.events} events acknowledged, but ${events - before} stored`);
  if (lost !== 0) wrong.push(`the balance says ${lost} lost`);
  if (acknowledged.bodies === undefined) return wrong;
  const rows = await query<{ id: string }>(
    databaseUrl,
    "SELECT m.message_id || ' ' || e.event_id AS id FROM events AS e JOIN messages AS m ON m.id = e.message",
  );
  const stored = new Set(rows.map(({ id }) => id));
  let missing = 0;
  for (const body of acknowledged.bodies()) {
    for (const { messageId, eventId } of eventIds(body)) if (!stored.has(`${messageId} ${eventId}`)) missing += 1;
  }
  if (missing > 0) wrong.push(`${missing} acknowledged events are missing`);
  if (stored.size !== rows.length) wrong.push(`${rows.length - stored.size} events are stored twice`);
  return wrong;
}
