import type { TimelineEvent } from "../../../src/views/contract.ts";
import type { TextContext } from "./context.ts";
import { explain, refusalOf } from "./explain.ts";
import { isolate } from "./hostile.ts";
import { kindOf, type Kind } from "./kinds.ts";
import { reasonSentence } from "./sentence.ts";
import { describeAgent } from "./user-agent.ts";

/** An event of a timeline in words. All strings are to be shown as text; foreign parts in them are isolated. */
export interface EventText {
  title: string;
  /** What it means, what to do: sentences in order. */
  lines: string[];
  /** Somebody else's own words, not yet made visible or clipped. */
  quote: { text: string; from: "server" | "sendgrid" } | undefined;
}

type SomeEvent = Pick<TimelineEvent, "type" | "detail" | "recipient">;

/** SendGrid counts attempts from 0, people from 1. Anything but a short number is shown as it came. */
function attemptNumber(attempt: string): string {
  return /^\d{1,4}$/.test(attempt) ? String(Number(attempt) + 1) : isolate(attempt);
}

function text(detail: SomeEvent["detail"], key: string): string | undefined {
  const value = detail[key];
  if (typeof value === "string" && value !== "") return value;
  return typeof value === "number" ? String(value) : undefined;
}

function poolName(detail: SomeEvent["detail"]): string | undefined {
  const pool = detail["pool"];
  if (typeof pool === "string" && pool !== "") return pool;
  if (typeof pool !== "object" || pool === null || !("name" in pool)) return undefined;
  return typeof pool.name === "string" && pool.name !== "" ? pool.name : undefined;
}

function domainOf(address: string | null): string | undefined {
  const domain = address?.split("@").at(-1);
  return address?.includes("@") === true && domain !== undefined && domain !== "" ? domain : undefined;
}

/** "on a computer, Windows, Chrome": what the reader's program says of itself. Undefined when it says nothing. */
function agentText(detail: SomeEvent["detail"], { t }: TextContext): string | undefined {
  const userAgent = text(detail, "useragent");
  if (userAgent === undefined) return undefined;
  const agent = describeAgent(userAgent);
  if (agent.proxy !== undefined) return t("event.proxy", { proxy: agent.proxy });
  const parts = [agent.device === undefined ? undefined : t(`event.${agent.device}`), agent.system, agent.program];
  const known = parts.filter((part) => part !== undefined);
  return known.length === 0 ? undefined : known.join(", ");
}

/** The part of a link a person recognises: host and path, without the query, which may hold secrets. */
export function shortUrl(url: string): string {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed === undefined || !/^https?:$/.test(parsed.protocol)) return url;
  return parsed.host + (parsed.pathname === "/" ? "" : parsed.pathname);
}

function refusalText(event: SomeEvent, kind: Kind, context: TextContext, isOver: boolean): EventText {
  const { t } = context;
  const refusal = refusalOf(event.type, event.detail);
  const code = refusal === undefined ? "unclear" : explain(refusal);
  const what = reasonSentence(event, context) ?? t(`explain.${code}.what`);
  const attempt = text(event.detail, "attempt");
  const server = text(event.detail, "reason") ?? text(event.detail, "response");
  if (kind === "deferred") {
    return {
      title:
        attempt === undefined ? t("event.deferred") : t("event.deferredAttempt", { attempt: attemptNumber(attempt) }),
      lines: isOver ? [what] : [what, t("event.deferredTodo")],
      quote: quoteOf(text(event.detail, "response") ?? text(event.detail, "reason"), "server"),
    };
  }
  if (kind === "dropped") {
    return { title: t("event.dropped"), lines: [what, t(`explain.${code}.todo`)], quote: quoteOf(server, "sendgrid") };
  }
  const blocked = kind === "blocked";
  return {
    title: blocked ? t("event.blocked") : t("event.bounce"),
    lines: [what, blocked ? t("event.blockedMeans") : t("event.bounceMeans"), t(`explain.${code}.todo`)],
    quote: quoteOf(server, "server"),
  };
}

function quoteOf(words: string | undefined, from: "server" | "sendgrid"): EventText["quote"] {
  return words === undefined ? undefined : { text: words, from };
}

function deliveredText(event: SomeEvent, { t }: TextContext): EventText {
  const domain = domainOf(event.recipient);
  const overTls = ["1", "true"].includes(String(event.detail["tls"]));
  const taken =
    domain === undefined
      ? t("event.deliveredUnknown")
      : t(overTls ? "event.deliveredTls" : "event.deliveredPlain", { domain: isolate(domain) });
  return { title: t("event.delivered"), lines: [taken], quote: quoteOf(text(event.detail, "response"), "server") };
}

function engagementText(event: SomeEvent, kind: Kind, context: TextContext): EventText {
  const { t } = context;
  const agent = agentText(event.detail, context);
  const lines = agent === undefined ? [] : [agent];
  if (kind === "machine_open")
    return { title: t("event.machineOpen"), lines: [t("event.machineOpenMeans")], quote: undefined };
  if (kind === "open") return { title: t("event.open"), lines, quote: undefined };
  const url = text(event.detail, "url");
  return {
    title: t("event.click"),
    lines: url === undefined ? lines : [isolate(shortUrl(url)), ...lines],
    quote: undefined,
  };
}

function accountText(event: SomeEvent, { t }: TextContext): EventText {
  const change = (["compliance_suspend", "compliance_deactivate", "compliance_ban", "reactivate"] as const).find(
    (name) => name === event.detail["type"],
  );
  return { title: t("event.account"), lines: change === undefined ? [] : [t(`event.${change}`)], quote: undefined };
}

/**
 * Says what an event is, what it means and what to do. Total: any type and any detail give a text. `isOver`: what the
 * event leaves open was settled by a later one.
 */
export function eventText(event: SomeEvent, context: TextContext, isOver = false): EventText {
  const { t } = context;
  const kind = kindOf(event.type, event.detail);
  const simple = (title: string, ...lines: string[]): EventText => ({ title, lines, quote: undefined });
  const group = isolate(text(event.detail, "asm_group_id") ?? "?");

  switch (kind) {
    case "processed": {
      const pool = poolName(event.detail);
      return simple(
        t("event.processed"),
        pool === undefined ? t("event.processedPlain") : t("event.processedPool", { pool: isolate(pool) }),
      );
    }
    case "deferred":
    case "bounce":
    case "blocked":
    case "dropped":
      return refusalText(event, kind, context, isOver);
    case "delivered":
      return deliveredText(event, context);
    case "open":
    case "machine_open":
    case "click":
      return engagementText(event, kind, context);
    case "spamreport":
      return simple(t("event.spamreport"), t("event.spamreportMeans"));
    case "unsubscribe":
      return simple(t("event.unsubscribe"), t("event.unsubscribeMeans"));
    case "group_unsubscribe":
      return simple(t("event.groupUnsubscribe"), t("event.groupUnsubscribeMeans", { group }));
    case "group_resubscribe":
      return simple(t("event.groupResubscribe"), t("event.groupResubscribeMeans", { group }));
    case "account_status_change":
      return accountText(event, context);
    case "other":
      return simple(t("event.other", { type: isolate(event.type) }), t("event.otherMeans"));
  }
}

/** One short note for a row of the live stream; empty when there is nothing to add. */
export function eventNote(event: SomeEvent, context: TextContext): string {
  const reason = reasonSentence(event, context);
  if (reason !== undefined) return reason;
  const kind = kindOf(event.type, event.detail);
  if (kind === "delivered") return isolate(text(event.detail, "response") ?? "");
  if (kind === "open" || kind === "click") {
    const url = kind === "click" ? text(event.detail, "url") : undefined;
    return url === undefined ? (agentText(event.detail, context) ?? "") : isolate(shortUrl(url));
  }
  if (kind === "machine_open") return context.t("event.machineOpenMeans");
  if (kind === "account_status_change") return eventText(event, context).lines[0] ?? "";
  return kind === "other" ? isolate(event.type) : "";
}
