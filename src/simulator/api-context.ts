import type { Truth } from "./truth.ts";

/** What SendGrid's API does on its bad days. `hang` never answers, `half` breaks off in the middle of a body. */
export const API_FAULTS = ["hang", "500", "garbage", "half", "429"] as const;
export type ApiFault = (typeof API_FAULTS)[number];

export interface ApiDoubleOptions {
  /** 0, the default, takes a free one. */
  port?: number;
  /** For each of the Messages and the Email Logs API; Infinity switches the limit off. The other calls have none. */
  callsPerMinute?: number;
  /** The most rows a list answers, whatever it is asked for. */
  rowsMax?: number;
  /** How long after it was first heard of a message stays unknown to both APIs. */
  visibleAfterSeconds?: number;
  apiKey?: string;
  /** false: the account has not bought the activity history, and the Messages API answers 403. */
  messagesAllowed?: boolean;
  logsAllowed?: boolean;
  /** The names of the account's subusers. */
  subusers?: readonly string[];
  /** The account's, an IANA name: the days of the statistics are its days. */
  timeZone?: string;
  /** SendGrid counts late: an event is in no total until it was heard of this long ago. */
  statsLagSeconds?: number;
  /** Milliseconds since 1970. */
  now?: () => number;
}

/** Calls by kind; `refused` were answered 429 and are in no other figure. */
export interface ApiCalls {
  messages: number;
  message: number;
  logs: number;
  log: number;
  stats: number;
  suppressions: number;
  subusers: number;
  exports: number;
  refused: number;
}

/** An account or subuser: each has records of its own, and the parent's do not hold its subusers'. */
export interface Account {
  /** '' is the account of the key. */
  name: string;
  /** The Email Logs API's name for it. */
  id: string;
  truth: Truth;
  /** By day: what its totals were moved by later. */
  moved: Map<string, Partial<Record<string, number>>>;
}

/** An export that was asked for; SendGrid mails the link when it is made. */
export interface ActivityExport {
  account: Account;
  query: string;
  madeAtMs: number;
}

export interface Context {
  options: Required<Omit<ApiDoubleOptions, "port">>;
  accounts: ReadonlyMap<string, Account>;
  calls: ApiCalls;
  /** Fixed windows: the first call opens one, and a minute later everything is allowed again. */
  windows: Map<string, { endsAtMs: number; used: number }>;
  /** By their UUID. */
  exports: Map<string, ActivityExport>;
  url: () => string;
  currentFault: () => ApiFault | undefined;
}

export interface Answer {
  status: number;
  body: unknown;
}

/** What is asked of an account. */
export interface Asked {
  context: Context;
  account: Account;
  parameters: URLSearchParams;
  body: string;
}

export function errors(status: number, message: string, field: string | null = null): Answer {
  return { status, body: { errors: [{ field, message }] } };
}

/** As SendGrid answers whoever asks for what belongs to somebody else. */
export function forbidden(): Answer {
  return errors(403, "access forbidden");
}
