import type { Config } from "../config.ts";
import type { Read } from "../ledger/read.ts";
import type { Log } from "../log.ts";
import type { Pool } from "../postgres/pool.ts";
import type { LogAccess } from "./access-log.ts";
import type { SimulationOrder, SimulationRun } from "./contract-simulation.ts";

/** The settings that views look at. */
export type ViewConfig = Pick<
  Config,
  | "HOLDFAST_ROLES"
  | "HOLDFAST_PUBLIC_URL"
  | "SENDGRID_API_KEY"
  | "HOLDFAST_ENRICHMENT_API"
  | "HOLDFAST_API_CALLS_PER_MINUTE"
  | "HOLDFAST_ACCOUNT_TIME_ZONE"
  | "HOLDFAST_OIDC_ISSUER"
  | "HOLDFAST_OIDC_CLIENT_ID"
  | "HOLDFAST_OIDC_CLIENT_SECRET"
  | "HOLDFAST_OIDC_ROLE_CLAIM"
  | "HOLDFAST_OIDC_ROLES"
>;

/** What waits in this process's spool while the database is away. */
export interface SpoolState {
  posts: number;
  bytes: number;
  oldestEventAt: Date | undefined;
}

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
  /** Left out where this process takes no webhooks. */
  simulation?: SimulationControl | undefined;
  /** For `/readyz`; left out, nothing is spooled. */
  spoolState?: () => SpoolState;
}

/** One simulation at a time, in this process. */
export interface SimulationControl {
  /** @returns false when one runs already, here or in another process. */
  start: (order: SimulationOrder) => Promise<boolean>;
  /** Ends the posting. @returns false when none is posting. */
  stop: () => boolean;
  /** The present run, or the last. */
  state: () => SimulationRun | undefined;
}

/** What the routes of the views share. */
export interface ViewDeps extends ViewOptions {
  read: Read;
  logAccess: LogAccess;
}
