/**
 * What a client can be told, in one table: the code, its HTTP status and its sentence.
 * docs/errors.md lists exactly these (a test compares the two). Nothing else is ever sent: an unexpected
 * error becomes `internal` and its detail goes to the log only.
 */
export const CLIENT_ERRORS = {
  signature_missing: [401, "The request has no signature headers. Turn on Signed Event Webhook in SendGrid."],
  signature_invalid: [401, "The signature does not match this body and any key of this source."],
  no_key: [
    401,
    "This source has no public key yet. An admin can add one on the page, under Settings, or set SENDGRID_WEBHOOK_PUBLIC_KEY.",
  ],
  source_unknown: [404, "There is no such source. Check the webhook's URL."],
  body_too_large: [413, "The body is larger than 5 MiB."],
  body_incomplete: [400, "The body did not arrive completely."],
  overloaded: [503, "More is arriving than can be stored now. Nothing of this request was kept: send it again."],
  unavailable: [503, "The database does not answer. Nothing of this request was acknowledged: send it again."],
  disk_low: [503, "The disk is nearly full. Nothing of this request was kept: send it again."],
  stopping: [503, "The service is stopping. Send the request again."],
  token_missing: [401, "A token is needed: an Authorization header with Bearer, or a session."],
  token_invalid: [401, "The token is unknown or revoked."],
  token_expired: [401, "The token has expired. Ask an admin for a new one."],
  role_too_low: [403, "This needs a higher role."],
  too_many_requests: [429, "Too many requests. Wait a minute."],
  bad_request: [400, "The request cannot be understood."],
  cursor_invalid: [400, "The cursor is not one that this service gave out."],
  not_found: [404, "There is nothing at this address."],
  message_unknown: [404, "No event has named this message yet."],
  recipient_unknown: [404, "No event has named this address yet."],
  receipt_unknown: [404, "There is no such receipt."],
  quarantine_unknown: [404, "There is no such quarantined item."],
  alert_unknown: [404, "There is no such alert."],
  token_unknown: [404, "There is no such token, or it has ended."],
  name_taken: [409, "A valid token has this name already."],
  source_taken: [409, "There is a source of this name already."],
  key_unknown: [404, "There is no such key."],
  key_taken: [409, "This source has this key already."],
  fixed_by_settings: [409, "This comes from the settings of the process and can only be changed there."],
  simulation_running: [409, "A simulation or a purge is under way. Wait until it has ended."],
  simulation_unavailable: [409, "This process takes no webhooks, so it can simulate nothing."],
  orders_full: [409, "As many checks are waiting as can. Wait until one has ended."],
  query_too_slow: [503, "The search took too long and was stopped. Narrow it by time or address."],
  busy: [503, "Too many searches are running. Try again in a moment."],
  abandoned: [503, "The request was closed before its answer was there, so its search was stopped."],
  foreign_origin: [403, "A page of another origin may not change anything here."],
  not_ready: [503, "The service is not ready."],
  live_full: [503, "Too many live pages are open."],
  internal: [500, "Something went wrong inside. It is in the log under this request's id."],
} as const satisfies Record<string, readonly [status: number, message: string]>;

export type ClientErrorCode = keyof typeof CLIENT_ERRORS;

/** The body of every error answer. */
export interface ClientErrorBody {
  error: { code: ClientErrorCode; message: string };
}

/** Thrown by a route to give the client one of the table's answers. `detail` replaces the table's sentence. */
export class ClientError extends Error {
  readonly code: ClientErrorCode;
  readonly status: number;

  constructor(code: ClientErrorCode, detail?: string) {
    super(detail ?? CLIENT_ERRORS[code][1]);
    this.name = "ClientError";
    this.code = code;
    this.status = CLIENT_ERRORS[code][0];
  }

  body(): ClientErrorBody {
    return { error: { code: this.code, message: this.message } };
  }
}

/** Used wrongly by the person who started it (a setting, an argument): shown without a stack, exit code 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** The SQLSTATE of a PostgreSQL error, or undefined for anything else. */
export function sqlState(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("code" in error)) return undefined;
  return typeof error.code === "string" && /^[0-9A-Z]{5}$/.test(error.code) ? error.code : undefined;
}
