import { loadConfig } from "../config.ts";
import { sqlState, UsageError } from "../errors.ts";
import type { Pool } from "../postgres/pool.ts";
import { withLedgerPool } from "./ledger-pool.ts";

/** What `verify` and `replay` take from outside; tests give their own. */
export interface LedgerCommandOptions {
  /** Gives the database; the default is the configured one, beside a running service where there is one. */
  withPool?: <T>(work: (pool: Pool) => Promise<T>) => Promise<T>;
  dataDir?: string;
  print?: (text: string) => void;
  warn?: (text: string) => void;
  signal?: AbortSignal;
}

const UNDEFINED_TABLE = "42P01";

/**
 * Runs `work` on the ledger.
 *
 * @throws UsageError when the database is not migrated.
 */
export async function withLedger<T>(
  name: string,
  options: LedgerCommandOptions,
  work: (pool: Pool) => Promise<T>,
): Promise<T> {
  const { withPool = async (use) => withLedgerPool(loadConfig(), name, use) } = options;
  try {
    return await withPool(work);
  } catch (error) {
    if (sqlState(error) !== UNDEFINED_TABLE) throw error;
    throw new UsageError("the database is not migrated: run holdfast migrate or start first", { cause: error });
  }
}

/** @throws UsageError when there is no such source. */
export async function sourceNumber(pool: Pool, name: string): Promise<number> {
  const found = await pool.query<{ id: number }>("SELECT id FROM sources WHERE name = $1", [name]);
  const id = found.rows[0]?.id;
  if (id === undefined) throw new UsageError(`there is no source named ${name}`);
  return id;
}

/** SIGINT and SIGTERM end long work after the step under way; a second one ends it at once. */
export function interruption(): { signal: AbortSignal; end(): void } {
  const abort = new AbortController();
  const onSignal = (): void => abort.abort();
  process.once("SIGINT", onSignal);
  process.once("SIGTERM", onSignal);
  return {
    signal: abort.signal,
    end() {
      process.off("SIGINT", onSignal);
      process.off("SIGTERM", onSignal);
    },
  };
}
