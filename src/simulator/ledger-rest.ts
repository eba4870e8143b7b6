import { request } from "undici";
import { UsageError } from "../errors.ts";
import { SIMULATED_REQUEST_MS_MAX } from "../limits.ts";
import type { LedgerReader, LedgerRow } from "./compare.ts";

/** Requests under way at once. */
const CONCURRENCY = 8;

/**
 * Looks into a ledger through its REST interface, for a target whose database cannot be reached. It sees messages with
 * an id and nothing else, so what is nameless or quarantined stays unchecked.
 *
 * @param origin as in http://127.0.0.1:8025
 */
export function restLedger(origin: string, token: string): LedgerReader {
  async function get(path: string): Promise<Record<string, unknown> | undefined> {
    const response = await request(`${origin}${path}`, {
      headers: { authorization: `Bearer ${token}` },
      headersTimeout: SIMULATED_REQUEST_MS_MAX,
      bodyTimeout: SIMULATED_REQUEST_MS_MAX,
    });
    const text = await response.body.text();
    if (response.statusCode === 404) return undefined;
    if (response.statusCode === 401 || response.statusCode === 403)
      throw new UsageError(`${origin} does not accept the token (HTTP ${response.statusCode})`);
    if (response.statusCode !== 200) throw new Error(`${origin} answered HTTP ${response.statusCode} to a read`);
    return JSON.parse(text) as Record<string, unknown>;
  }

  async function eventsOfOne(messageId: string): Promise<LedgerRow[]> {
    const detail = await get(`/api/messages/${encodeURIComponent(messageId)}`);
    const events = Array.isArray(detail?.["events"]) ? (detail["events"] as Record<string, unknown>[]) : [];
    // A probable event belongs to the nameless message and is only shown here.
    return events
      .filter((event) => event["probable"] !== true)
      .map((event) => ({
        messageId,
        eventId: String(event["eventId"]),
        type: String(event["type"]),
        atSeconds: Math.floor(Date.parse(String(event["occurredAt"])) / 1000),
        recipient: typeof event["recipient"] === "string" ? event["recipient"] : null,
      }));
  }

  return {
    async pending() {
      const balance = await get("/api/balance");
      const receipts = balance?.["receipts"] as { pending?: number } | undefined;
      return receipts?.pending ?? 0;
    },
    async eventsOf(messageIds) {
      const rows: LedgerRow[] = [];
      const iterator = messageIds[Symbol.iterator]();
      const worker = async (): Promise<void> => {
        for (const messageId of iterator) rows.push(...(await eventsOfOne(messageId)));
      };
      await Promise.all(Array.from({ length: CONCURRENCY }, worker));
      return rows;
    },
    namelessEventsTo: () => undefined,
    quarantinedIn: () => undefined,
    close: async () => undefined,
  };
}
