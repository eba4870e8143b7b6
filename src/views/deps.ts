import type { Config } from "../config.ts";
import type { Read } from "../ledger/read.ts";
import type { Log } from "../log.ts";
import type { Pool } from "../postgres/pool.ts";
import type { LogAccess } from "./access-log.ts";

/** The settings that views look at. */
export type ViewConfig = Pick<
  Config,
  | "HOLDFAST_ROLES"
  | "HOLDFAST_PUBLIC_URL"
  | "SENDGRID_API_KEY"
  | "HOLDFAST_ENRICHMENT_API"
  | "HOLDFAST_API_CALLS_PER_MINUTE"
>;

export interface ViewOptions {
  pool: Pool;
  /** For the one connection that listens. */
  databaseUrl: string;
  log: Log;
  config: ViewConfig;
  version: string;
  /** Changes with every start of the process; begins the ids of live events. */
  instance: string;
  /** The folder of the built page; need not exist. */
  webRoot: string;
}

/** What the routes of the views share. */
export interface ViewDeps extends ViewOptions {
  read: Read;
  logAccess: LogAccess;
}
