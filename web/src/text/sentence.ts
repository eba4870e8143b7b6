import type { MessageDetail, TimelineEvent } from "../../../src/views/contract.ts";
import type { TextContext } from "./context.ts";
import { explain, refusalOf, shownCode } from "./explain.ts";
import { isolate } from "./hostile.ts";
import { formatCount } from "./number.ts";
import { elapsed, moment } from "./time.ts";

/** "once", "twice", "7 times". */
function times(count: number, { t, locale }: TextContext): string {
  if (count === 1) return t("times.once");
  if (count === 2) return t("times.twice");
  return t("times.many", { formatted: formatCount(count, locale) });
}

// The first letter of a sentence, where a language begins it with a time or a number word.
function begin(sentence: string, locale: string): string {
  return sentence.replace(/^\p{L}/u, (letter) => letter.toLocaleUpperCase(locale));
}

function between(from: string | null, to: string | null): number | undefined {
  if (from === null || to === null) return undefined;
  const ms = Date.parse(to) - Date.parse(from);
  return ms >= 0 ? ms : undefined;
}

function deliverySentence(detail: MessageDetail, context: TextContext): string {
  const { t } = context;
  const { message, times: at } = detail;
  const recipient = message.recipient === null ? t("sentence.someone") : isolate(message.recipient);
  const when = (time: string): string => moment(time, context);

  switch (message.delivery) {
    case "delivered": {
      if (at.delivered === null) return t("sentence.deliveredUndated", { recipient });
      const delayMs = between(at.processed, at.delivered);
      if (delayMs === undefined) return t("sentence.delivered", { recipient, moment: when(at.delivered) });
      const { unit, count } = elapsed(delayMs);
      const delay = t(`since.${unit}`, { count, formatted: formatCount(count, context.locale) });
      return t("sentence.deliveredAfter", { recipient, moment: when(at.delivered), delay });
    }
    case "bounced":
    case "blocked":
      if (at.failed === null) return t("sentence.refusedUndated", { recipient });
      if (at.delivered !== null)
        return t("sentence.returned", { recipient, delivered: when(at.delivered), moment: when(at.failed) });
      return t("sentence.refused", { recipient, moment: when(at.failed) });
    case "dropped":
      return at.failed === null
        ? t("sentence.droppedUndated", { recipient })
        : t("sentence.dropped", { recipient, moment: when(at.failed) });
    case "deferred":
      return t("sentence.deferred", { recipient });
    case "processed":
      return at.processed === null
        ? t("sentence.processedUndated", { recipient })
        : t("sentence.processed", { recipient, moment: when(at.processed) });
    case "unknown":
      return t("sentence.unknown", { recipient });
  }
}

/** The event that decided the state, for its reason: the last one of a kind that can. */
function decidingEvent(detail: MessageDetail): TimelineEvent | undefined {
  const types: Partial<Record<MessageDetail["message"]["delivery"], string>> = {
    bounced: "bounce",
    blocked: "bounce",
    dropped: "dropped",
    deferred: "deferred",
  };
  const type = types[detail.message.delivery];
  return type === undefined ? undefined : detail.events.findLast((event) => event.type === type && !event.twin);
}

/** "The mailbox is full (5.2.2)." for a bounce, a deferral or a drop; undefined for everything else. */
export function reasonSentence(
  event: Pick<TimelineEvent, "type" | "detail">,
  context: TextContext,
): string | undefined {
  const refusal = refusalOf(event.type, event.detail);
  if (refusal === undefined) return undefined;
  const what = context.t(`explain.${explain(refusal)}.what`);
  const code = shownCode(refusal);
  return code === undefined ? what : `${what.replace(/\.$/, "")} ${context.t("event.code", { code })}.`;
}

function openSentence(detail: MessageDetail, context: TextContext): string | undefined {
  const { t } = context;
  const { message, times: at } = detail;
  if (message.opens === 0) return message.machineOpens > 0 ? t("sentence.machineOnly") : undefined;
  const count = times(message.opens, context);
  const afterMs = between(at.delivered ?? at.processed, at.firstOpen);
  if (afterMs === undefined) return begin(t("sentence.openedUndated", { times: count }), context.locale);
  const { unit, count: units } = elapsed(afterMs);
  const after = t(`after.${unit}`, { count: units, formatted: formatCount(units, context.locale) });
  return begin(
    message.opens === 1 ? t("sentence.openedOnce", { after }) : t("sentence.opened", { times: count, after }),
    context.locale,
  );
}

/**
 * Where a mail stands, in plain sentences: the first thing on its page. The recipient is isolated (see hostile.ts), so
 * a page shows the parts with <bdi> and a test reads them with plain().
 */
export function messageSentence(detail: MessageDetail, context: TextContext): string {
  const { t, locale } = context;
  const { message, times: at } = detail;
  if (message.id.startsWith("nameless:")) return t("sentence.nameless", { source: isolate(message.source) });

  const sentences = [begin(deliverySentence(detail, context), locale)];
  const deciding = decidingEvent(detail);
  const reason = deciding === undefined ? undefined : reasonSentence(deciding, context);
  if (reason !== undefined) sentences.push(reason);
  const opened = openSentence(detail, context);
  if (opened !== undefined) sentences.push(opened);
  if (message.clicks === 1) sentences.push(t("sentence.clickedOnce"));
  if (message.clicks > 1) sentences.push(t("sentence.clicked", { times: times(message.clicks, context) }));
  if (message.complaint && at.firstComplaint !== null) {
    sentences.push(t("sentence.complaint", { moment: moment(at.firstComplaint, context) }));
  }
  if (message.unsubscribed && at.lastUnsubscribe !== null) {
    sentences.push(t("sentence.unsubscribed", { moment: moment(at.lastUnsubscribe, context) }));
  }
  return sentences.join(" ");
}
