import { UsageError } from "../errors.ts";

/** A table of another database. */
export interface TableAddress {
  /** The database's address, with the password where one was given: never to be shown. */
  url: string;
  database: string;
  /** Undefined: as the role's search_path finds it. */
  schema: string | undefined;
  table: string;
  /** For people, without the password. */
  shown: string;
}

export const TABLE_FORM = "postgres://USER@HOST:PORT/DATABASE.[SCHEMA.]TABLE";

/**
 * Reads `postgres://user@host/database.schema.table?options`: the address of a database as every program takes it, with the
 * table behind its name. A dot that belongs to a name is written %2E. The address is never repeated: it may hold a password.
 *
 * @throws UsageError when it is none.
 */
export function readTableAddress(text: string): TableAddress {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !["postgres:", "postgresql:"].includes(url.protocol)) {
    throw new UsageError(`--table must be like ${TABLE_FORM}`);
  }
  const names = namesOf(url.pathname.slice(1));
  const [database, first, second] = names;
  if (
    database === undefined ||
    first === undefined ||
    names.length > 3 ||
    names.some((name) => /^$|\0|\//.test(name))
  ) {
    throw new UsageError(
      `--table must name a database and a table of it, like ${TABLE_FORM} (a dot within a name is written %2E)`,
    );
  }
  const schema = second === undefined ? undefined : first;
  const table = second ?? first;
  const shown = `${url.hostname || "localhost"}${url.port === "" ? "" : `:${url.port}`}/${names.join(".")}`;
  url.pathname = `/${encodeURIComponent(database)}`;
  return { url: url.href, database, schema, table, shown };
}

function namesOf(path: string): string[] {
  try {
    return path.split(".").map(decodeURIComponent);
  } catch {
    return [];
  }
}
