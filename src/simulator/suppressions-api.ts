import { errors, type Answer, type Asked } from "./api-context.ts";
import type { TruthEvent } from "./truth.ts";

/** GET /v3/suppression/…, as tsg_suppressions_v3.yaml describes it: one row an address, however many events it has. */

type Fields = Record<string, unknown>;

interface List {
  holds: (event: TruthEvent) => boolean;
  fields: (event: TruthEvent) => Fields;
}

const LISTS: ReadonlyMap<string, List> = new Map<string, List>([
  ["bounces", { holds: (event) => event.type === "bounce" && event.wire["type"] !== "blocked", fields: refusal }],
  ["blocks", { holds: (event) => event.type === "bounce" && event.wire["type"] === "blocked", fields: refusal }],
  ["spam_reports", { holds: (event) => event.type === "spamreport", fields: ({ wire }) => ({ ip: wire["ip"] ?? "" }) }],
  [
    "invalid_emails",
    { holds: isInvalidAddress, fields: () => ({ reason: "Mail domain mentioned in email address is unknown" }) },
  ],
  ["unsubscribes", { holds: (event) => event.type === "unsubscribe", fields: () => ({}) }],
]);

const ROWS_MAX = 500;

export function listSuppressions({ account, parameters }: Asked, name: string): Answer {
  const list = LISTS.get(name);
  if (list === undefined) return errors(404, "not found");
  const read = (key: string, otherwise: number): number => {
    const text = parameters.get(key);
    if (text === null) return otherwise;
    return /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  };
  const from = read("start_time", 0);
  const to = read("end_time", Infinity);
  const limit = read("limit", ROWS_MAX);
  const offset = read("offset", 0);
  if (Number.isNaN(from) || Number.isNaN(to)) return errors(400, "start_time and end_time must be Unix timestamps");
  if (!(limit >= 1 && limit <= ROWS_MAX)) return errors(400, `limit must be a number from 1 to ${ROWS_MAX}`, "limit");
  if (Number.isNaN(offset)) return errors(400, "offset must be a number", "offset");

  const first = new Map<string, TruthEvent>();
  for (const { event } of account.truth.events()) {
    const { email } = event.wire;
    if (typeof email !== "string" || email === "" || !list.holds(event)) continue;
    const known = first.get(email.toLowerCase());
    if (known === undefined || event.at < known.at) first.set(email.toLowerCase(), event);
  }
  const rows = [...first]
    .filter(([, { at }]) => at >= from && at <= to)
    .sort(([a, one], [b, other]) => other.at - one.at || (a < b ? -1 : 1))
    .slice(offset, offset + limit);
  return {
    status: 200,
    body: rows.map(([, event]) => Object.assign(list.fields(event), { created: event.at, email: event.wire["email"] })),
  };
}

function refusal({ wire }: TruthEvent): Fields {
  return { reason: wire["reason"] ?? "", status: wire["status"] ?? "" };
}

function isInvalidAddress({ type, wire }: TruthEvent): boolean {
  return type === "dropped" && typeof wire["reason"] === "string" && /^invalid(?! smtpapi)/i.test(wire["reason"]);
}
