import { generateKeyPairSync } from "node:crypto";
import { startState, type VerifyRange, type VerifyState } from "../src/audit/state.ts";
import { verify, type VerifyOptions, type VerifyOutcome } from "../src/audit/verify.ts";
import { createProjector } from "../src/ledger/projector.ts";
import { createLog } from "../src/log.ts";
import type { Pool } from "../src/postgres/pool.ts";
import { receiptWriter, type ReceiptWriter } from "./receipts.ts";

/** A ledger for the tests of `verify` and `replay`: signed receipts, projected, with everything that can be in one. */
export interface LedgerWorld {
  write: ReceiptWriter;
  /** Empties the inbox. */
  project(): Promise<void>;
  /** Writes and projects one of everything. @returns the numbers of the receipts. */
  fill(): Promise<number[]>;
  /** All tables of the ledger empty again. */
  clear(): Promise<void>;
  /** Verifies all, or from a state. */
  verify(options?: Partial<VerifyOptions> & { range?: VerifyRange }): Promise<Verified>;
  rows<T extends object>(sql: string, values?: unknown[]): Promise<T[]>;
  /** All that the ledger holds, to see whether anything changed. Numbers that PostgreSQL gives out are left out. */
  dump(): Promise<unknown>;
  /** One value. */
  value<T>(sql: string): Promise<T>;
}

export interface Verified {
  outcome: VerifyOutcome;
  state: VerifyState;
  /** Kinds of the differences, each once, in alphabetical order. */
  kinds: string[];
}

/** The hour in which everything arrives, so that no test meets the end of an hour. */
export const ARRIVAL = new Date("2026-03-01T09:30:00.123Z");

const delivered = {
  email: "customer@example.com",
  timestamp: 1764511327,
  event: "delivered",
  sg_event_id: "ev1",
  sg_message_id: "m1",
  category: ["invoice"],
  order_id: "4711",
  response: "250 OK",
};
const open = { ...delivered, event: "open", timestamp: 1764511400, useragent: "x", sg_event_id: "ev2" };

export async function ledgerWorld(pool: Pool): Promise<LedgerWorld> {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
  const write = await receiptWriter(pool, "default", { signWith: privateKey, receivedAt: () => ARRIVAL });
  const projector = createProjector({ pool, log: createLog("silent"), settleSeconds: 90 });
  const rows: LedgerWorld["rows"] = async <T extends object>(sql: string, values: unknown[] = []) =>
    (await pool.query<T>(sql, values)).rows;

  async function project(): Promise<void> {
    while (await projector.tick());
  }

  return {
    write,
    project,
    rows,
    async value<T>(sql: string) {
      const [row] = await rows<Record<string, T>>(sql);
      return Object.values(row ?? {})[0] as T;
    },
    async fill() {
      const first = await write([delivered, open, { ...open, sg_event_id: "twin" }, { event: "open" }]);
      // A duplicate, another message with other args, and an event that names no message.
      const second = await write([
        open,
        { ...delivered, sg_event_id: "ev3", sg_message_id: "m2", order_id: "4712", customer: "a" },
        { ...delivered, sg_event_id: "ev4", sg_message_id: "", event: "bounce", reason: "bad\0byte" },
      ]);
      await project();
      // Later events of known messages: one knows more args and categories than the first.
      const third = await write([
        {
          ...open,
          event: "click",
          timestamp: 1764511500,
          url: "https://example.com",
          sg_event_id: "ev5",
          order_id: "9",
        },
        { ...open, sg_event_id: "ev6", sg_message_id: "m2", category: ["b2b"], extra: "\u{1F600}" },
        { ...open, sg_event_id: undefined, sg_message_id: "m2", event: "unsubscribe" },
      ]);
      const fourth = await write(Buffer.from("not json"));
      const fifth = await write(Buffer.from(`[${JSON.stringify({ ...open, sg_event_id: "ev7" })},\r\n{"a":\r\n}]`));
      await project();
      return [first, second, third, fourth, fifth];
    },
    async dump() {
      const dumped: unknown[] = [];
      for (const query of [
        "SELECT m.message_id, to_jsonb(e) - 'own_recipient' AS event FROM whole_events AS e JOIN messages AS m ON m.id = e.message ORDER BY e.receipt, e.ordinal",
        "SELECT * FROM messages ORDER BY message_id",
        "SELECT receipt, ordinal, state, bytes, reason FROM quarantine ORDER BY 1, 2",
        "SELECT * FROM tallies ORDER BY hour, source",
        "SELECT * FROM inbox ORDER BY receipt",
        "SELECT message FROM enrichments ORDER BY message",
      ]) {
        dumped.push(await rows(query));
      }
      return JSON.parse(JSON.stringify(dumped)) as unknown;
    },
    async clear() {
      await pool.query(
        "TRUNCATE events, messages, quarantine, tallies, enrichments, inbox, receipts, arg_keys, repair_orders, repairs",
      );
    },
    async verify({ range = {}, ...options } = {}) {
      const state = options.state ?? startState(range);
      const outcome = await verify({ pool, ...options, state });
      const kinds = [...new Set(state.differences.listed.map(({ kind }) => kind))].sort();
      return { outcome, state, kinds };
    },
  };
}
