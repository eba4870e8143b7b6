import type { Mark, MessageSearch } from "../ledger/read-messages.ts";
import type { ExportQuery, MessageState } from "./contract.ts";
import { readArgFilters, readStates, readTime } from "./query.ts";
import type { FoundTraffic } from "./traffic.ts";

type Question = Omit<MessageSearch, "sources" | "before" | "limit">;

/** The sources as a search takes them: all of them are no condition. */
export function wantedSources({ wanted, sources }: FoundTraffic): readonly number[] | undefined {
  return wanted.length === sources.size ? undefined : wanted;
}

const MARKS: readonly Mark[] = ["opened", "clicked", "complaint", "unsubscribed"];

function isMark(state: MessageState): state is Mark {
  return MARKS.some((mark) => mark === state);
}

/** What a request asks for, but for the page of it. @throws ClientError `bad_request` that names the wrong parameter. */
export function readSearch(query: ExportQuery & Record<string, unknown>): Question {
  const states = readStates(query.state);
  const text = query.q?.trim();
  return {
    text: text === "" ? undefined : text,
    recipient: query.recipient === undefined || query.recipient.trim() === "" ? undefined : query.recipient.trim(),
    deliveries: states.filter((state) => !isMark(state)),
    marks: states.filter(isMark),
    kind: query.kind,
    category: query.category,
    args: readArgFilters(query),
    from: readTime("from", query.from),
    to: readTime("to", query.to),
  };
}
