import { createHash } from "node:crypto";
import type { QueryConfig } from "pg";
import {
  APPEND_MS_MAX,
  APPEND_PROBE_MS,
  APPEND_GROUP_BYTES_MAX,
  APPEND_GROUP_ROWS_MAX,
  APPEND_GROUPS_CONCURRENT_MAX,
  APPEND_QUEUE_BYTES_MAX,
  RECEIPT_ID_BLOCK,
} from "../limits.ts";
import type { Log } from "../log.ts";
import type { Pool } from "../postgres/pool.ts";
import { packBody } from "../receipt-body.ts";

/** One POST as it came. */
export interface Posted {
  source: number;
  /** The number of the key that verified it; null for an unsigned one. */
  key: number | null;
  /** The timestamp header. */
  signedAt: string | null;
  signature: string | null;
  body: Buffer;
  receivedAt: Date;
}

export type Appended =
  | { outcome: "committed"; receipt: number }
  | { outcome: "overloaded" }
  | { outcome: "unavailable" };

export interface Appender {
  append(posted: Posted): Promise<Appended>;
  /** Resolves when nothing is waiting or under way. */
  drained(): Promise<void>;
}

export interface AppenderOptions {
  pool: Pool;
  log: Log;
  /** Called after each commit with the number of receipts in it. */
  onCommitted?: (receipts: number) => void;
  /** A clock in milliseconds; tests pass their own. */
  now?: () => number;
}

interface Waiting {
  posted: Posted;
  done: (appended: Appended) => void;
}

/**
 * Appends receipts by group commit: what arrives while a group is being committed forms the next group, so one fsync
 * serves many POSTs under load and a lone POST waits for nobody.
 *
 * Invariant (promise P1): `committed` is said only after the INSERT's own transaction has committed with
 * synchronous_commit on. Invariant: intake inserts new rows only and never touches a row that someone else writes, so
 * it cannot take part in a deadlock. Tests: append.pg.test.ts.
 */
export function createAppender(options: AppenderOptions): Appender {
  const { pool, log, onCommitted, now = () => performance.now() } = options;
  const waiting: Waiting[] = [];
  let waitingBytes = 0;
  let groups = 0;
  let onDrained: (() => void)[] = [];
  const nextReceiptId = createReceiptIds(pool);
  const outage = createOutage(now);

  async function commit(group: readonly Waiting[]): Promise<void> {
    try {
      const ids = await nextReceiptId(group.length);
      await pool.query(insertStatement(group, ids));
      if (outage.end()) log.info("PostgreSQL answers again");
      for (const [index, { done }] of group.entries()) done({ outcome: "committed", receipt: ids[index] ?? 0 });
      onCommitted?.(group.length);
    } catch (error) {
      // The commit may or may not have happened. Saying 503 is right in both cases: the POST comes again, and an event
      // that was stored after all is then a duplicate.
      const level = outage.begin() ? "error" : "warn";
      log[level]({ err: error, receipts: group.length }, "receipts could not be appended");
      // Those behind would only wait to hear the same.
      for (const { done, posted } of waiting.splice(0)) {
        waitingBytes -= posted.body.length;
        done({ outcome: "unavailable" });
      }
      for (const { done } of group) done({ outcome: "unavailable" });
    }
  }

  function startGroups(): void {
    while (groups < APPEND_GROUPS_CONCURRENT_MAX && waiting.length > 0) {
      const group = takeGroup(waiting);
      groups += 1;
      void commit(group).finally(() => {
        groups -= 1;
        for (const { posted } of group) waitingBytes -= posted.body.length;
        startGroups();
        if (groups > 0) return;
        for (const resolve of onDrained) resolve();
        onDrained = [];
      });
    }
  }

  return {
    append(posted) {
      if (outage.isHopeless(groups > 0)) return Promise.resolve({ outcome: "unavailable" });
      // An empty queue takes any body, or a limit below the body's size would refuse it for ever.
      if (waitingBytes > 0 && waitingBytes + posted.body.length > APPEND_QUEUE_BYTES_MAX) {
        return Promise.resolve({ outcome: "overloaded" });
      }
      waitingBytes += posted.body.length;
      return new Promise((done) => {
        waiting.push({ posted, done });
        startGroups();
      });
    },
    async drained() {
      if (groups === 0 && waiting.length === 0) return;
      await new Promise<void>((resolve) => onDrained.push(resolve));
    },
  };
}

/** Takes the next group off the front: a power of two of rows (statements are prepared for those), within the byte limit. */
function takeGroup(waiting: Waiting[]): Waiting[] {
  let rows = 0;
  let bytes = 0;
  for (const { posted } of waiting) {
    if (rows === APPEND_GROUP_ROWS_MAX || (rows > 0 && bytes + posted.body.length > APPEND_GROUP_BYTES_MAX)) break;
    rows += 1;
    bytes += posted.body.length;
  }
  return waiting.splice(0, rows === 0 ? 0 : 2 ** Math.floor(Math.log2(rows)));
}

/**
 * While PostgreSQL is away, one POST a second finds out whether it is back, and no other waits for that: an outage must
 * not fill the queue with requests that will all hear the same.
 */
function createOutage(now: () => number): {
  /** @returns whether it begins now. */
  begin(): boolean;
  /** @returns whether there was one. */
  end(): boolean;
  isHopeless(isTrying: boolean): boolean;
} {
  let isAway = false;
  let probeAtMs = 0;
  return {
    begin() {
      const begins = !isAway;
      isAway = true;
      probeAtMs = now() + APPEND_PROBE_MS;
      return begins;
    },
    end() {
      const ends = isAway;
      isAway = false;
      return ends;
    },
    isHopeless: (isTrying) => isAway && (isTrying || now() < probeAtMs),
  };
}

const COLUMNS_PER_ROW = 10;
const statementTexts = new Map<number, string>();

/** Bodies go as binary parameters: as elements of an array the driver would send them as hexadecimal text, at a quarter of the speed. */
function insertStatement(group: readonly Waiting[], ids: readonly number[]): QueryConfig & { query_timeout: number } {
  const rows = group.length;
  let text = statementTexts.get(rows);
  if (text === undefined) {
    const tuples = Array.from({ length: rows }, (_row, index) => {
      const first = index * COLUMNS_PER_ROW + 1;
      return `(${Array.from({ length: COLUMNS_PER_ROW }, (_column, column) => `$${first + column}`).join(", ")})`;
    });
    text = `WITH appended AS (
        INSERT INTO receipts (id, received_at, source, key, signed_at, signature, sha256, codec, bytes, body)
        VALUES ${tuples.join(", ")}
        RETURNING id, received_at, coalesce(bytes, octet_length(body)) AS bytes
      )
      INSERT INTO inbox (receipt, received_at, bytes) SELECT id, received_at, bytes FROM appended`;
    statementTexts.set(rows, text);
  }
  const values = group.flatMap(({ posted }, index) => {
    const { source, key, signedAt, signature, body, receivedAt } = posted;
    const packed = packBody(body);
    const sha256 = createHash("sha256").update(body).digest();
    return [ids[index], receivedAt, source, key, signedAt, signature, sha256, packed.codec, packed.bytes, packed.body];
  });
  return { name: `append ${rows}`, text, values, query_timeout: APPEND_MS_MAX };
}

/** Hands out receipt numbers from blocks of the sequence, so that an append costs one round trip and not two. */
function createReceiptIds(pool: Pool): (count: number) => Promise<number[]> {
  let next = 0;
  let end = 0;
  return async (count) => {
    const ids: number[] = [];
    while (ids.length < count) {
      if (next === end) {
        const statement: QueryConfig & { query_timeout: number } = {
          text: "SELECT nextval('receipt_ids') AS first",
          query_timeout: APPEND_MS_MAX,
        };
        const block = await pool.query<{ first: number }>(statement);
        const first = block.rows[0]?.first;
        if (first === undefined) throw new Error("the sequence receipt_ids gave nothing");
        // Another group may have fetched a block meanwhile; the rest of the older one is simply not used.
        next = first;
        end = first + RECEIPT_ID_BLOCK;
      }
      ids.push(next);
      next += 1;
    }
    return ids;
  };
}
