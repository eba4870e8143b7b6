/** The two APIs that know messages: Email Logs, and Email Activity, which everyone calls Messages. */
export type ProviderApi = "logs" | "messages";

/** The APIs that a choice allows to be asked, in the order in which they are preferred. */
export const ALLOWED_APIS: Readonly<Record<"auto" | ProviderApi | "off", readonly ProviderApi[]>> = {
  auto: ["logs", "messages"],
  logs: ["logs"],
  messages: ["messages"],
  off: [],
};

/** What either API says of one message. A field is undefined when the answer does not hold it, which is common. */
export interface ApiMessage {
  messageId: string;
  status: string | undefined;
  subject: string | undefined;
  sender: string | undefined;
  recipient: string | undefined;
  opens: number | undefined;
  clicks: number | undefined;
  template: string | undefined;
  /** The time by which lists are searched: its last event (Messages), the making of its id (Logs). */
  listedAt: Date | undefined;
}

export interface ApiList {
  messages: ApiMessage[];
  /** As many rows as a list can hold: there may be more, and no second page to ask for. */
  full: boolean;
  /** Rows that name no message, and so are of no use. */
  unreadable: number;
}

/**
 * How a call ended. Whatever a server or a network does is one of these; nothing of it is thrown.
 * - `ok`: `waitSeconds` is set when this was the last call that the API allows for now.
 * - `rate_limited`: to be asked again after `waitSeconds`.
 * - `forbidden`: the key is wrong, lacks the scope, or the account lacks the add-on.
 * - `unavailable`: 5xx, time-out, no connection, half a body, not JSON, or JSON of another shape.
 * - `bad_request`: the API refuses the question as such.
 */
export type Answer<T> =
  | { kind: "ok"; value: T; waitSeconds: number | undefined }
  | { kind: "rate_limited"; waitSeconds: number }
  | { kind: "forbidden"; reason: string }
  | { kind: "not_found" }
  | { kind: "unavailable"; reason: string }
  | { kind: "bad_request"; reason: string };
