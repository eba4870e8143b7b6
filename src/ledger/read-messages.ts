import { beginsWith } from "../begins-with.ts";
import { SEARCH_HITS_MAX } from "../limits.ts";
import { messageIdBeginsWith } from "../message-id.ts";
import type { Connection } from "../postgres/pool.ts";
import { createParameters, type Parameters } from "./read-parameters.ts";

/** A message as its row and its enrichment hold it. */
export interface MessageRow {
  id: number;
  messageId: string | null;
  source: number;
  recipient: string | null;
  subject: string | null;
  delivery: string;
  opens: number;
  machineOpens: number;
  clicks: number;
  complaint: boolean;
  unsubscribed: boolean;
  categories: string[];
  args: Record<string, string>;
  firstEventAt: Date | null;
  lastEventAt: Date | null;
}

export interface MessageSearch {
  /** One field for everything; see `foundByText`. */
  text?: string | undefined;
  /** A whole address. */
  recipient?: string | undefined;
  /** Delivery states; any of them. */
  deliveries: readonly string[];
  /** What stands beside the delivery; any of it, or any of `deliveries`. */
  marks: readonly Mark[];
  /** Had such an event at any time. */
  kind?: EventKind | undefined;
  category?: string | undefined;
  /** Custom args, all of which must be there. */
  args: readonly (readonly [key: string, value: string])[];
  from?: Date | undefined;
  to?: Date | undefined;
  /** Numbers of the sources to search; undefined for all. */
  sources?: readonly number[] | undefined;
  /** Only messages with a lower number: the next page. */
  before?: number | undefined;
  limit: number;
}

export type Mark = "opened" | "clicked" | "complaint" | "unsubscribed";

/** What may have happened to a message: its events, with the two things apart that SendGrid calls bounce and open. */
export type EventKind =
  | "processed"
  | "deferred"
  | "delivered"
  | "bounce"
  | "blocked"
  | "dropped"
  | "open"
  | "machine_open"
  | "click"
  | "spamreport"
  | "unsubscribe"
  | "group_resubscribe";

/** A person who came back is not unsubscribed. */
const UNSUBSCRIBED =
  "(m.last_unsubscribe_at IS NOT NULL AND (m.last_resubscribe_at IS NULL OR m.last_resubscribe_at < m.last_unsubscribe_at))";

/** The columns of MessageRow, for a message `m` and its enrichment `n`. */
export const MESSAGE_COLUMNS = `
  m.id, m.message_id AS "messageId", m.source, m.recipient, n.subject, m.delivery, m.opens,
  m.machine_opens AS "machineOpens", m.clicks, m.first_complaint_at IS NOT NULL AS complaint,
  ${UNSUBSCRIBED} AS unsubscribed, m.categories, m.args,
  m.first_event_at AS "firstEventAt", m.last_event_at AS "lastEventAt"`;

const MARK_CONDITIONS: Record<Mark, string> = {
  opened: "m.first_open_at IS NOT NULL",
  clicked: "m.first_click_at IS NOT NULL",
  complaint: "m.first_complaint_at IS NOT NULL",
  unsubscribed: UNSUBSCRIBED,
};

/** Only a message that failed is looked up among the events, by its own key. */
const failedBy = (event: string): string =>
  `(m.failed_at IS NOT NULL AND EXISTS (SELECT FROM events e WHERE e.message = m.id AND ${event}))`;
const IS_BLOCK = "coalesce(e.detail ->> 'type', '') IN ('blocked', 'expired')";

const KIND_CONDITIONS: Record<EventKind, string> = {
  processed: "m.processed_at IS NOT NULL",
  deferred: "m.deferred_at IS NOT NULL",
  delivered: "m.delivered_at IS NOT NULL",
  bounce: failedBy(`e.type = 'bounce' AND NOT ${IS_BLOCK}`),
  blocked: failedBy(`e.type = 'bounce' AND ${IS_BLOCK}`),
  dropped: failedBy("e.type = 'dropped'"),
  open: "m.first_open_at IS NOT NULL",
  machine_open: "m.first_machine_open_at IS NOT NULL",
  click: "m.first_click_at IS NOT NULL",
  spamreport: "m.first_complaint_at IS NOT NULL",
  unsubscribe: "m.first_unsubscribe_at IS NOT NULL",
  group_resubscribe: "m.last_resubscribe_at IS NOT NULL",
};

/**
 * One page of messages, newest first. Pages are cut by the message's own number, which never changes, so a walk from
 * page to page sees every message that was there at its beginning exactly once, whatever is added meanwhile.
 */
export async function readMessages(tx: Connection, search: MessageSearch): Promise<MessageRow[]> {
  const parameters = createParameters();
  const conditions = conditionsOf(search, parameters);
  const context = { parameters, conditions, newest: `ORDER BY m.id DESC LIMIT ${parameters.add(search.limit)}` };
  const ids =
    search.text === undefined
      ? foundByConditions(search, context)
      : foundByText(search.text, await readArgKeys(tx), context);
  const result = await tx.query<MessageRow>(
    `SELECT ${MESSAGE_COLUMNS}
     FROM (${ids}) page JOIN messages m ON m.id = page.id LEFT JOIN enrichments n ON n.message = m.id
     ORDER BY m.id DESC`,
    parameters.values,
  );
  return result.rows;
}

interface Context {
  parameters: Parameters;
  /** On a message `m`. */
  conditions: string;
  /** Order and limit of `m.id`. */
  newest: string;
}

function conditionsOf(search: MessageSearch, parameters: Parameters): string {
  const { add } = parameters;
  const conditions = ["true"];
  if (search.recipient !== undefined) {
    conditions.push(`lower(m.recipient) = lower(${add(search.recipient)}::text COLLATE "C")`);
  }
  const states = search.marks.map((mark) => MARK_CONDITIONS[mark]);
  if (search.deliveries.length > 0) states.push(`m.delivery = ANY (${add(search.deliveries)}::delivery[])`);
  if (states.length > 0) conditions.push(`(${states.join(" OR ")})`);
  if (search.kind !== undefined) conditions.push(KIND_CONDITIONS[search.kind]);
  if (search.category !== undefined) conditions.push(`m.categories @> ARRAY[${add(search.category)}::text]`);
  for (const [key, value] of search.args) conditions.push(`m.args @> ${add(argObject(key, value))}::jsonb`);
  if (search.from !== undefined) conditions.push(`m.first_event_at >= ${add(search.from)}`);
  if (search.to !== undefined) conditions.push(`m.first_event_at < ${add(search.to)}`);
  if (search.sources !== undefined) conditions.push(`m.source = ANY (${add(search.sources)}::smallint[])`);
  if (search.before !== undefined) conditions.push(`m.id < ${add(search.before)}`);
  return conditions.join(" AND ");
}

/** Without a search field. The nameless messages are no mails and left out. */
function foundByConditions(search: MessageSearch, context: Context): string {
  const { parameters, conditions, newest } = context;
  const named = `m.message_id IS NOT NULL AND ${conditions}`;
  const walk = `SELECT m.id FROM messages m WHERE ${named}`;
  // An address is rare, and its index is in the order wanted.
  if (search.recipient !== undefined) return `${walk} ${newest}`;
  const selective = selectiveCondition(search, parameters);
  if (selective === undefined) return `${walk} ${newest}`;
  const hits = `SELECT m.* FROM messages m WHERE ${selective}`;
  return hitsOrWalk({ name: "hits", hits, kept: named, walk, newest });
}

/** The condition that most likely leaves few messages and has an index that is not in the order wanted. */
function selectiveCondition(search: MessageSearch, { add }: Parameters): string | undefined {
  const [arg] = search.args;
  if (arg !== undefined) return `m.args @> ${add(argObject(...arg))}::jsonb`;
  if (search.category !== undefined) return `m.categories @> ARRAY[${add(search.category)}::text]`;
  const { from, to } = search;
  if (from === undefined && to === undefined) return undefined;
  return `m.first_event_at >= ${add(from ?? "-infinity")} AND m.first_event_at < ${add(to ?? "infinity")}`;
}

/**
 * Two ways to the newest messages that match: collect all matches by their index and sort them, right for few; or walk
 * from the newest message back until enough are found, right for many. PostgreSQL would have to guess which, and for a
 * value that it has not seen it guesses wrong by seconds. So: collect at most SEARCH_HITS_MAX, and only when there are
 * more of them, walk. The way not taken is planned, but not run.
 */
function hitsOrWalk(ways: { name: string; hits: string; kept: string; walk: string; newest: string }): string {
  const { name, hits, kept, walk, newest } = ways;
  const count = `(SELECT count(*) FROM ${name})`;
  return `WITH ${name} AS MATERIALIZED (${hits} LIMIT ${SEARCH_HITS_MAX + 1})
    (SELECT m.id FROM (SELECT DISTINCT ON (id) * FROM ${name}) m WHERE ${count} <= ${SEARCH_HITS_MAX} AND ${kept} ${newest})
    UNION ALL
    (${walk} AND ${count} > ${SEARCH_HITS_MAX} ${newest})`;
}

/**
 * What one search field finds: the beginning of an address; `@domain`; a message id or its beginning; the value of any
 * known custom arg, or `KEY:VALUE`; words of the subject; and a source's nameless message when one of its events is
 * about such an address.
 *
 * Each way has its own index and its own limit, and the ways are united: one OR over them all would use no index. Only
 * `@domain` always walks.
 */
function foundByText(text: string, argKeys: readonly string[], context: Context): string {
  const { parameters, conditions, newest } = context;
  const prefix = parameters.add(text);
  const address = `lower(${prefix}::text COLLATE "C")`;
  const from = "SELECT m.id FROM messages m WHERE";
  const ways = [
    `${from} ${beginsWith("lower(m.recipient)", address)} AND ${conditions} ${newest}`,
    `${from} ${messageIdBeginsWith("m.message_id", `${prefix}::text COLLATE "C"`)} AND ${conditions} ${newest}`,
    `${from} m.id IN (SELECT e.message FROM events e WHERE e.nameless AND ${beginsWith("lower(e.recipient)", address)})
      AND ${conditions} ${newest}`,
    foundBySubject(prefix, context),
    ...foundByArgs(argCandidates(text, argKeys), context),
  ];
  if (text.startsWith("@")) {
    const pattern = parameters.add(`%${text.replaceAll(/[\\%_]/g, "\\$&")}%`);
    ways.push(`${from} lower(m.recipient) LIKE lower(${pattern}::text COLLATE "C") AND ${conditions} ${newest}`);
  }
  return `SELECT m.id FROM (${ways.map((way) => `(${way})`).join(" UNION ")}) AS m ${newest}`;
}

function foundBySubject(text: string, { conditions, newest }: Context): string {
  const matches = `n.subject IS NOT NULL AND to_tsvector('simple', n.subject) @@ plainto_tsquery('simple', ${text})`;
  return hitsOrWalk({
    name: "subjects",
    // The inner LIMIT 1 keeps the planner from reading all messages to meet these.
    hits: `SELECT m.* FROM enrichments n, LATERAL (SELECT * FROM messages WHERE id = n.message LIMIT 1) m WHERE ${matches}`,
    kept: conditions,
    walk: `SELECT m.id FROM messages m JOIN enrichments n ON n.message = m.id WHERE ${matches} AND ${conditions}`,
    newest,
  });
}

function foundByArgs(candidates: readonly string[], { parameters, conditions, newest }: Context): string[] {
  if (candidates.length === 0) return [];
  const list = `${parameters.add(candidates)}::jsonb[]`;
  const way = hitsOrWalk({
    name: "args",
    hits: `SELECT m.* FROM unnest(${list}) AS candidate (args) JOIN messages m ON m.args @> candidate.args`,
    kept: conditions,
    walk: `SELECT m.id FROM messages m WHERE m.args @> ANY (${list}) AND ${conditions}`,
    newest,
  });
  return [way];
}

/** `4711` may be the value of any key; `order_id:4711` may be that too, or names its key. */
function argCandidates(text: string, argKeys: readonly string[]): string[] {
  const candidates = argKeys.map((key) => argObject(key, text));
  const colon = text.indexOf(":");
  if (colon > 0) candidates.push(argObject(text.slice(0, colon), text.slice(colon + 1).trimStart()));
  return candidates;
}

function argObject(key: string, value: string): string {
  // A computed key: a literal __proto__ would set the prototype and vanish from the JSON.
  return JSON.stringify({ [key]: value });
}

async function readArgKeys(tx: Connection): Promise<string[]> {
  const result = await tx.query<{ key: string }>("SELECT key FROM arg_keys ORDER BY key");
  return result.rows.map(({ key }) => key);
}
