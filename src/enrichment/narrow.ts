import { halve } from "../halve.ts";
import { API_QUERY_CHARS_MAX, ENRICH_WINDOW_MESSAGES_MAX } from "../limits.ts";
import type { ProviderApi } from "../sendgrid/api-types.ts";
import { LOG_STATUSES, patternQuery, type IdPattern, type LogStatus, type Narrowing } from "../sendgrid/query.ts";

/** What narrowing needs to know of a message. */
export interface Narrowed {
  messageId: string;
  categories: readonly string[];
}

/** Most mail is delivered: that is one half, all else the other. */
const STATUS_HALVES: readonly (readonly LogStatus[])[] = [
  ["delivered"],
  LOG_STATUSES.filter((status) => status !== "delivered"),
];

/**
 * Ways to ask about one moment that holds more messages than a list has rows. Only what each API's documents allow:
 * - Messages: ids by their beginnings (`msg_id LIKE "…%"`, OR), chosen so that each part holds about half the targets.
 * - Email Logs, which has neither LIKE nor OR: by status, then by category.
 *
 * @returns narrower conditions that together reach all targets; nothing when there are none.
 */
export function narrow(api: ProviderApi, only: Narrowing | undefined, targets: readonly Narrowed[]): Narrowing[] {
  if (targets.length === 0) return [];
  return api === "messages" ? narrowById(only, targets) : narrowLogs(only, targets);
}

/** Whether a message can be in an answer that was narrowed so. */
export function matchesNarrowing(only: Narrowing, target: Narrowed): boolean {
  if (only.by === "id") return only.patterns.some((pattern) => matchesPattern(pattern, target.messageId));
  // The API's word for where a message stands may be another than the ledger's, so any status may be its own.
  const { categories } = only;
  return categories === undefined || target.categories.some((category) => categories.includes(category));
}

function matchesPattern({ text, exact }: IdPattern, id: string): boolean {
  return exact ? id === text : id.startsWith(text);
}

function narrowById(only: Narrowing | undefined, targets: readonly Narrowed[]): Narrowing[] {
  const ids = [...new Set(targets.map(({ messageId }) => messageId))].sort();
  const current = only?.by === "id" ? only.patterns : [{ text: "", exact: false }];
  const patterns = current.filter((pattern) => ids.some((id) => matchesPattern(pattern, id)));
  // What was found meanwhile need not be asked for again, and that may be narrow enough.
  if (patterns.length < current.length) return group(patterns, ids, 1);
  const [pattern] = patterns;
  if (pattern === undefined || (patterns.length === 1 && pattern.exact)) return [];
  const finer = (patterns.length > 1 ? patterns : lengthen(pattern, ids)).flatMap((longer) => fit(longer, ids));
  return group(finer, ids, Math.max(2, Math.ceil(ids.length / ENRICH_WINDOW_MESSAGES_MAX)));
}

/** The pattern, or longer ones in its place where it alone would fill a list. */
function fit(pattern: IdPattern, ids: readonly string[]): IdPattern[] {
  const matched = ids.filter((id) => matchesPattern(pattern, id));
  if (pattern.exact || matched.length <= ENRICH_WINDOW_MESSAGES_MAX) return [pattern];
  return lengthen(pattern, matched).flatMap((longer) => fit(longer, matched));
}

/** Patterns one step longer that match the same ids: past what they have in common, by their next character. */
function lengthen(pattern: IdPattern, ids: readonly string[]): IdPattern[] {
  const matched = ids.filter((id) => matchesPattern(pattern, id));
  if (matched.length === 1) return matched.map((text) => ({ text, exact: true }));
  const common = commonPrefix(matched);
  const longer = new Map<string, IdPattern>();
  for (const id of matched) {
    const next = id.codePointAt(common.length);
    const text = next === undefined ? id : common + String.fromCodePoint(next);
    longer.set(text, { text, exact: next === undefined });
  }
  return [...longer.values()];
}

/** What sorted texts begin with, all of them. */
function commonPrefix(sorted: readonly string[]): string {
  const first = sorted[0] ?? "";
  const last = sorted.at(-1) ?? "";
  let length = 0;
  while (length < first.length && first[length] === last[length]) length += 1;
  // Never half a surrogate pair.
  return first.slice(0, length).isWellFormed() ? first.slice(0, length) : first.slice(0, length - 1);
}

/** Packs patterns into `parts` conditions of about as many ids each, none longer than a query may be. */
function group(patterns: readonly IdPattern[], ids: readonly string[], parts: number): Narrowing[] {
  const share = ids.length / Math.min(parts, patterns.length);
  const groups: IdPattern[][] = [];
  let held = Infinity;
  let chars = Infinity;
  for (const pattern of patterns) {
    const own = ids.filter((id) => matchesPattern(pattern, id)).length;
    const ownChars = patternQuery(pattern).length + " OR ".length;
    // A part is closed where that brings its end closest to its share.
    if (chars + ownChars > API_QUERY_CHARS_MAX || held + own / 2 > share) {
      groups.push([]);
      held = 0;
      chars = 0;
    }
    groups.at(-1)?.push(pattern);
    held += own;
    chars += ownChars;
  }
  return groups.map((grouped) => ({ by: "id", patterns: grouped }));
}

function narrowLogs(only: Narrowing | undefined, targets: readonly Narrowed[]): Narrowing[] {
  if (only?.by !== "status") return STATUS_HALVES.map((statuses) => ({ by: "status", statuses }));
  const { statuses, categories } = only;
  if (statuses.length > 1) return halve(statuses).map((part) => ({ by: "status", statuses: part }));
  if (categories?.length === 1) return [];
  const finer = categories ?? [...new Set(targets.flatMap((target) => target.categories.slice(0, 1)))].sort();
  return halve(finer).map((part) => ({ by: "status", statuses, categories: part }));
}
