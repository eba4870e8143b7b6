import pg from "pg";
import { parseJsonText } from "../json-text.ts";
import {
  ANSWER_MARGIN_MS,
  CONNECT_MS_MAX,
  IDLE_IN_TRANSACTION_MS_MAX,
  POOL_CONNECTIONS_MAX,
  STATEMENT_MS_MAX,
} from "../limits.ts";
import type { Log } from "../log.ts";
import type { Sockets } from "./sockets.ts";

export type Pool = pg.Pool;
/** One connection of the pool, inside or outside a transaction. */
export type Connection = pg.PoolClient;
/** Anything that runs one statement: the pool, or the connection of a transaction. */
export type Queryable = Pool | Connection;

const INT8 = 20;
const NUMERIC = 1700;
const JSON_TYPES: ReadonlySet<number> = new Set([114, 3802]);

/** Row numbers and counts stay far below 2^53; one that does not is a bug, not a rounding. */
function parseInteger(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new Error(`PostgreSQL sent an integer beyond 2^53: ${text}`);
  return value;
}

/** Node-postgres types the numbers of types as an enumeration of its own; they are PostgreSQL's. */
const getTypeParser = pg.types.getTypeParser as (oid: number, format: string) => unknown;

const types: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: "text" | "binary") => {
    if (format !== "binary" && oid === INT8) return parseInteger;
    // Sums of int8 are numeric.
    if (format !== "binary" && oid === NUMERIC) return Number;
    if (format !== "binary" && JSON_TYPES.has(oid)) return (text: string) => parseJsonText(text);
    return getTypeParser(oid, format ?? "text");
  }) as typeof pg.types.getTypeParser,
};

export interface PoolOptions {
  databaseUrl: string;
  log: Log;
  connectionsMax?: number;
  /** Shown in pg_stat_activity. */
  name?: string;
  /** Makes the connections' sockets, for one who may have to cut them. */
  sockets?: Sockets;
}

/**
 * Opens a pool. int8 and numeric arrive as numbers, timestamptz as Date, bytea as Buffer.
 * Every session states `synchronous_commit = on`, so that no server or role default can weaken promise P1.
 */
export function createPool(options: PoolOptions): Pool {
  const { databaseUrl, log, connectionsMax = POOL_CONNECTIONS_MAX, name = "holdfast", sockets } = options;
  const pool = new pg.Pool({
    connectionString: databaseUrl,
    max: connectionsMax,
    connectionTimeoutMillis: CONNECT_MS_MAX,
    idleTimeoutMillis: 60_000,
    application_name: name,
    statement_timeout: STATEMENT_MS_MAX,
    // The server cannot end a statement on a connection whose other end is gone without a word.
    query_timeout: STATEMENT_MS_MAX + ANSWER_MARGIN_MS,
    keepAlive: true,
    // A process that vanished without a word (half open) leaves its transaction with its locks, and everyone waits for it.
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS_MAX,
    options: "-c synchronous_commit=on -c jit=off -c timezone=UTC",
    types,
    // A statement goes out as it is asked, whether or not those before it are answered: see together.ts.
    pipeline: true,
    ...(sockets === undefined ? {} : { stream: sockets.open }),
  });
  // An idle connection that breaks is replaced at its next use; without a listener it would end the process.
  pool.on("error", (error) => log.warn({ err: error }, "idle PostgreSQL connection lost"));
  return pool;
}
