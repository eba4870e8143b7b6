import pg from "pg";
import { sqlState, UsageError } from "../errors.ts";
import { COMPARE_STATEMENT_MS_MAX, CONNECT_MS_MAX } from "../limits.ts";
import type { TableAddress } from "./compare-address.ts";
import { beginReading } from "./compare-cursor.ts";

/** The columns that are looked at. */
export interface TableColumns {
  id: string;
  time: string | undefined;
}

/** The other table, in a transaction that can only read. */
export interface OpenTable {
  db: pg.Client;
  /** Expressions and conditions over its columns; `from` and `to` stand for parameters. */
  table: string;
  id: string;
  atMs: string;
  since: (parameter: string) => string;
  before: (parameter: string) => string;
  close(): Promise<void>;
}

/** How a column tells time: its milliseconds since 1970, and a moment in its own type, so that an index on it is of use. */
interface TimeType {
  ms: (column: string) => string;
  moment: (parameter: string) => string;
}

const NUMBER: TimeType = {
  ms: (column) => `${column}::float8 * 1000`,
  moment: (parameter) => `extract(epoch FROM ${parameter}::timestamptz)`,
};
const ZONELESS: TimeType = {
  ms: (column) => `extract(epoch FROM ${column} AT TIME ZONE 'UTC')::float8 * 1000`,
  moment: (parameter) => `(${parameter}::timestamptz AT TIME ZONE 'UTC')`,
};
const TIME_TYPES: Readonly<Record<string, TimeType>> = {
  timestamptz: {
    ms: (column) => `extract(epoch FROM ${column})::float8 * 1000`,
    moment: (parameter) => `${parameter}::timestamptz`,
  },
  timestamp: ZONELESS,
  int4: NUMBER,
  int8: NUMBER,
  numeric: NUMBER,
  float8: NUMBER,
};

/** @throws UsageError when it cannot be reached or read, or has no such columns. */
export async function openTable(address: TableAddress, columns: TableColumns): Promise<OpenTable> {
  const db = await connect(address);
  try {
    const described = await explained(address, async () => {
      // Whoever changes this code: nothing is ever written to somebody else's database.
      await db.query("SET default_transaction_read_only = on");
      await beginReading(db);
      return describe(db, address, columns);
    });
    return { db, ...described, close: async () => db.end() };
  } catch (error) {
    await db.end().catch(() => undefined);
    throw error;
  }
}

/** Whatever prevents it (a name, a certificate, a file that the address names) is not this program's fault. */
async function connect(address: TableAddress): Promise<pg.Client> {
  let db: pg.Client | undefined;
  try {
    db = new pg.Client({
      connectionString: address.url,
      application_name: "holdfast compare",
      connectionTimeoutMillis: CONNECT_MS_MAX,
      query_timeout: COMPARE_STATEMENT_MS_MAX,
      keepAlive: true,
    });
    // A connection that breaks is told by the statement under way; without a listener it would end the process.
    db.on("error", () => undefined);
    await db.connect();
    return db;
  } catch (error) {
    await db?.end().catch(() => undefined);
    const told = await explained(address, async () => {
      throw error;
    }).catch((toldError: unknown) => toldError);
    if (told instanceof UsageError) throw told;
    const reason = error instanceof Error ? error.message : "";
    throw new UsageError(`${address.shown} cannot be connected to: ${reason}`, { cause: error });
  }
}

async function describe(
  db: pg.Client,
  address: TableAddress,
  columns: TableColumns,
): Promise<Omit<OpenTable, "db" | "close">> {
  const { schema, table: name } = address;
  const table = [...(schema === undefined ? [] : [schema]), name].map((part) => pg.escapeIdentifier(part)).join(".");
  const found = await db.query<{ name: string; type: string }>(
    `SELECT a.attname AS name, t.typname AS type FROM pg_attribute AS a JOIN pg_type AS t ON t.oid = a.atttypid
     WHERE a.attrelid = $1::regclass AND a.attnum > 0 AND NOT a.attisdropped`,
    [table],
  );
  const types = new Map(found.rows.map((column) => [column.name, column.type]));
  for (const column of [columns.id, ...(columns.time === undefined ? [] : [columns.time])]) {
    if (!types.has(column)) throw new UsageError(`${address.shown} has no column ${column}`);
  }
  const time = columns.time === undefined ? undefined : pg.escapeIdentifier(columns.time);
  const type = types.get(columns.time ?? "") ?? "";
  const timeType = Object.hasOwn(TIME_TYPES, type) ? TIME_TYPES[type] : undefined;
  if (time !== undefined && timeType === undefined) {
    throw new UsageError(
      `the column ${columns.time} is a ${type}: --time-column takes timestamptz, timestamp (in UTC) or unix seconds`,
    );
  }
  const moment = timeType?.moment ?? NUMBER.moment;
  return {
    table,
    id: `${pg.escapeIdentifier(columns.id)}::text COLLATE "C"`,
    atMs: time === undefined || timeType === undefined ? "NULL::float8" : timeType.ms(time),
    // A row without a time may belong to any.
    since: (parameter) => (time === undefined ? "true" : `(${time} >= ${moment(parameter)} OR ${time} IS NULL)`),
    before: (parameter) => (time === undefined ? "true" : `(${time} < ${moment(parameter)} OR ${time} IS NULL)`),
  };
}

/** What can be wrong with somebody else's database, in words. The driver's own may repeat the address. */
const FAULTS: Readonly<Record<string, (address: TableAddress) => string>> = {
  "28P01": ({ shown }) => `${shown}: the password is wrong or missing (PGPASSWORD, ~/.pgpass or the address)`,
  "28000": ({ shown }) => `${shown}: the server does not let this user in`,
  "3D000": ({ database }) => `there is no database ${database}`,
  "3F000": ({ shown }) => `${shown}: there is no such schema`,
  "42P01": ({ shown }) => `${shown}: there is no such table`,
  "42501": ({ shown, table }) =>
    `${shown}: the user may not read it. GRANT SELECT ON ${table} TO it (and USAGE on its schema)`,
  "25006": ({ shown }) => `${shown}: to read it would write something, which is refused`,
  "57014": ({ shown }) => `${shown}: reading took too long and was stopped. Compare a shorter period`,
  "53300": ({ shown }) => `${shown}: the server has no connection to spare`,
};
const AWAY = /^(?:ECONN|ENOTFOUND|EAI_|ETIMEDOUT|EHOST|ENET|ENOENT|EPIPE|57P0|08)/;

/** Says what is wrong with the other database; what is wrong with this program goes on as it is. */
export async function explained<T>(address: TableAddress, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Error) || error instanceof UsageError) throw error;
    const fault = FAULTS[sqlState(error) ?? ""];
    if (fault !== undefined) throw new UsageError(fault(address), { cause: error });
    const code = "code" in error && typeof error.code === "string" ? error.code : "";
    // The driver gives its own timeouts and a server that hangs up no code; no password is SASL's own complaint.
    if (AWAY.test(code) || /^(?:Connection terminated|timeout expired)/.test(error.message)) {
      throw new UsageError(`${address.shown} cannot be reached`, { cause: error });
    }
    if (error.message.startsWith("SASL")) throw new UsageError(FAULTS["28P01"]?.(address) ?? "", { cause: error });
    throw error;
  }
}
