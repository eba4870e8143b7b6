import { hash } from "node:crypto";
import type { QueryConfig } from "pg";
import { atEndOfTurn } from "../at-end-of-turn.ts";
import { freeBuffer } from "../free-buffer.ts";
import {
  APPEND_MS_MAX,
  APPEND_PROBE_MS,
  APPEND_GROUP_BYTES_MAX,
  APPEND_GROUP_ROWS_MAX,
  APPEND_QUEUE_BYTES_MAX,
  RECEIPT_ID_BLOCK,
} from "../limits.ts";
import type { Log } from "../log.ts";
import { byteaArray, int2Array, int4Array, int8Array, textArray, timestamptzArray } from "../postgres/binary-array.ts";
import type { Pool } from "../postgres/pool.ts";
import { packBody, type LearntDictionary } from "../receipt-body.ts";
import { packSignature } from "../receipt-signature.ts";

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
  /** Called after each commit with the number of receipts in it, and their bodies' bytes. */
  onCommitted?: (receipts: number, bytes: number) => void;
  /** What to pack bodies with. */
  dictionary?: (() => LearntDictionary | undefined) | undefined;
  /** A clock in milliseconds; tests pass their own. */
  now?: () => number;
}

interface Waiting {
  posted: Posted;
  /** Of its body, which may be freed as soon as it is committed. */
  bytes: number;
  done: (appended: Appended) => void;
}

/**
 * Appends receipts by group commit: what arrives in one turn of the event loop, or while a group is being committed, forms the
 * next group, so one fsync serves many POSTs under load and a lone POST waits for nobody. One group at a time: a second one beside
 * it halves them, and the machine spent more on the second's way to PostgreSQL and back than the wait for the first took: 3,400
 * POSTs a second of one event instead of 3,900, 30,000 events in POSTs of ten instead of 33,000, and 190,000 of 500 instead of 223,000.
 *
 * Invariant (promise P1): `committed` is said only after the INSERT's own transaction has committed with
 * synchronous_commit on. Invariant: intake inserts new rows only and never touches a row that someone else writes, so
 * it cannot take part in a deadlock. Tests: append.pg.test.ts.
 */
export function createAppender(options: AppenderOptions): Appender {
  const { pool, log, onCommitted, dictionary, now = () => performance.now() } = options;
  const waiting: Waiting[] = [];
  let waitingBytes = 0;
  let isCommitting = false;
  let onDrained: (() => void)[] = [];
  const nextReceiptId = createReceiptIds(pool);
  const outage = createOutage(now);
  // Not at once, so that all that a turn of the event loop brings shares a commit.
  const startGroupSoon = atEndOfTurn(startGroup);

  async function commit(group: readonly Waiting[]): Promise<void> {
    try {
      const ids = await nextReceiptId(group.length);
      const statement = appendStatement(group, ids, dictionary?.());
      await pool.query(statement);
      // Answered, so it was sent.
      for (const value of statement.values) freeBuffer(value);
      if (outage.end()) log.info("PostgreSQL answers again");
      for (const [index, { done }] of group.entries()) done({ outcome: "committed", receipt: ids[index] ?? 0 });
      onCommitted?.(group.length, bytesOf(group));
    } catch (error) {
      // The commit may or may not have happened. Saying 503 is right in both cases: the POST comes again, and an event
      // that was stored after all is then a duplicate.
      const level = outage.begin() ? "error" : "warn";
      log[level]({ err: error, receipts: group.length }, "receipts could not be appended");
      // Those behind would only wait to hear the same.
      for (const { done, bytes } of waiting.splice(0)) {
        waitingBytes -= bytes;
        done({ outcome: "unavailable" });
      }
      for (const { done } of group) done({ outcome: "unavailable" });
    }
  }

  function startGroup(): void {
    if (isCommitting || waiting.length === 0) return;
    isCommitting = true;
    const group = takeGroup(waiting);
    void commit(group).finally(() => {
      isCommitting = false;
      waitingBytes -= bytesOf(group);
      startGroupSoon();
      if (waiting.length > 0) return;
      for (const resolve of onDrained) resolve();
      onDrained = [];
    });
  }

  return {
    append(posted) {
      if (outage.isHopeless(isCommitting || waiting.length > 0)) return Promise.resolve({ outcome: "unavailable" });
      const bytes = posted.body.length;
      // An empty queue takes any body, or a limit below the body's size would refuse it for ever.
      if (waitingBytes > 0 && waitingBytes + bytes > APPEND_QUEUE_BYTES_MAX) {
        return Promise.resolve({ outcome: "overloaded" });
      }
      waitingBytes += bytes;
      return new Promise((done) => {
        waiting.push({ posted, bytes, done });
        startGroupSoon();
      });
    },
    async drained() {
      if (!isCommitting && waiting.length === 0) return;
      await new Promise<void>((resolve) => onDrained.push(resolve));
    },
  };
}

function bytesOf(group: readonly Waiting[]): number {
  return group.reduce((sum, { bytes }) => sum + bytes, 0);
}

/** Takes the next group off the front, within the limits of rows and bytes. */
function takeGroup(waiting: Waiting[]): Waiting[] {
  let rows = 0;
  let bytes = 0;
  for (const next of waiting) {
    if (rows === APPEND_GROUP_ROWS_MAX || (rows > 0 && bytes + next.bytes > APPEND_GROUP_BYTES_MAX)) break;
    rows += 1;
    bytes += next.bytes;
  }
  return waiting.splice(0, rows);
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

/**
 * One statement for groups of any size: with parameters for each row it would be one for each number of rows. It makes groups a
 * third larger than statements for powers of two did (14.5 receipts a commit instead of 10.5, at one event a POST on 50
 * connections). Side by side in one row, and not in FROM, the arrays go to the table without being stored in between.
 */
const APPEND = `WITH appended AS (
    INSERT INTO receipts (id, received_at, source, key, signed_at, signature, signature_bytes, sha256, codec, bytes, body)
    SELECT unnest($1::int8[]), unnest($2::timestamptz[]), unnest($3::int2[]), unnest($4::int2[]), unnest($5::text[]),
      unnest($6::text[]), unnest($7::bytea[]), unnest($8::bytea[]), unnest($9::int2[]), unnest($10::int4[]), unnest($11::bytea[])
  )
  INSERT INTO inbox (receipt, received_at, bytes)
  SELECT unnest($1::int8[]), unnest($2::timestamptz[]), unnest($12::int4[])`;

function appendStatement(
  group: readonly Waiting[],
  ids: readonly number[],
  learnt: LearntDictionary | undefined,
): QueryConfig<Buffer[]> & { values: Buffer[]; query_timeout: number } {
  const posts = group.map(({ posted }) => posted);
  const packed = posts.map(({ body }) => packBody(body, learnt));
  const signatures = posts.map(({ signature }) => packSignature(signature));
  const values = [
    int8Array(ids),
    timestamptzArray(posts.map(({ receivedAt }) => receivedAt.getTime())),
    int2Array(posts.map(({ source }) => source)),
    int2Array(posts.map(({ key }) => key)),
    textArray(posts.map(({ signedAt }) => signedAt)),
    textArray(signatures.map(({ signature }) => signature)),
    byteaArray(signatures.map(({ signatureBytes }) => signatureBytes)),
    byteaArray(posts.map(({ body }) => hash("sha256", body, "buffer"))),
    int2Array(packed.map(({ codec }) => codec)),
    int4Array(packed.map(({ bytes }) => bytes)),
    byteaArray(packed.map(({ body }) => body)),
    int4Array(posts.map(({ body }) => body.length)),
  ];
  // In the statement they stand as a copy.
  for (const [index, { body }] of packed.entries()) if (body !== posts[index]?.body) freeBuffer(body);
  return { name: "append receipts", text: APPEND, values, query_timeout: APPEND_MS_MAX };
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
