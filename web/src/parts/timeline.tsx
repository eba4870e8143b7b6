import { type ReactNode, useState } from "react";
import { Link } from "wouter";
import type { MessageDetail, TimelineEvent } from "../../../src/views/contract.ts";
import type { TextContext } from "../text/context.ts";
import { eventText } from "../text/event-text.ts";
import { clip, line, QUOTE_CHARS_MAX, visible } from "../text/hostile.ts";
import { kindOf, markOfKind } from "../text/kinds.ts";
import { recipientPath } from "../text/message-filters.ts";
import { formatCount } from "../text/number.ts";
import { repairedSentence } from "../text/repaired.ts";
import { clock, isToday, offset, shortDay, utc } from "../text/time.ts";
import { Foreign, Sentence } from "./foreign.tsx";
import { Sign } from "./mark.tsx";
import { useText } from "./use-text.ts";

/** Every event of a message, oldest first; re-deliveries are folded away until asked for. */
export function Timeline({ detail }: { detail: MessageDetail }): ReactNode {
  const text = useText();
  const { t, locale } = text;
  const [unfolded, setUnfolded] = useState(false);
  const [raw, setRaw] = useState(false);
  const twins = detail.events.filter((event) => event.twin).length;
  const count = detail.events.length - twins;
  const shown = unfolded ? detail.events : detail.events.filter((event) => !event.twin);
  const lastSettling = shown.findLastIndex((event) => SETTLING.has(event.type));
  const begin = Date.parse(shown[0]?.occurredAt ?? "");
  return (
    <section aria-labelledby="what">
      <div className="section-head">
        <h2 id="what">{t("message.what")}</h2>
        <span className="muted">
          {t("message.events", { count, formatted: formatCount(count, locale) })}
          {twins === 0 ? null : (
            <>
              {" · "}
              {unfolded ? null : `${t("message.folded", { count: twins, formatted: formatCount(twins, locale) })} `}
              <button type="button" className="link" aria-expanded={unfolded} onClick={() => setUnfolded(!unfolded)}>
                {unfolded ? t("message.fold") : t("message.unfold")}
              </button>
            </>
          )}
          {" · "}
          <button type="button" className="link" aria-expanded={raw} onClick={() => setRaw(!raw)}>
            {raw ? t("message.rawHide") : t("message.raw")}
          </button>
        </span>
      </div>
      <ol className="timeline">
        {shown.map((event, index) => (
          <TimelineItem
            key={`${event.eventId} ${event.receipt ?? event.origin}`}
            event={event}
            before={shown[index - 1]}
            begin={begin}
            isOver={index < lastSettling}
            isForeign={event.recipient?.toLowerCase() !== detail.message.recipient?.toLowerCase()}
            raw={raw}
            text={text}
          />
        ))}
      </ol>
      {detail.eventsLeftOut === 0 ? null : (
        <p className="muted">
          {t("message.leftOut", { count: detail.eventsLeftOut, formatted: formatCount(detail.eventsLeftOut, locale) })}
        </p>
      )}
    </section>
  );
}

interface TimelineItemProps {
  event: TimelineEvent;
  before: TimelineEvent | undefined;
  begin: number;
  /** A later event settled what this one left open. */
  isOver: boolean;
  /** The event is about somebody else than the message. */
  isForeign: boolean;
  raw: boolean;
  text: TextContext;
}

const SETTLING: ReadonlySet<string> = new Set(["deferred", "delivered", "bounce", "dropped"]);

function TimelineItem({ event, before, begin, isOver, isForeign, raw, text }: TimelineItemProps): ReactNode {
  const words = eventText(event, text, isOver);
  const day = shortDay(event.occurredAt, text);
  const isNewDay = before === undefined ? !isToday(event.occurredAt, text) : shortDay(before.occurredAt, text) !== day;
  return (
    <li className={event.twin ? "twin" : ""}>
      <div className="when">
        <time dateTime={event.occurredAt} title={utc(event.occurredAt)}>
          {isNewDay ? <span className="day">{day}</span> : null}
          <b>{clock(event.occurredAt, text)}</b>
        </time>
        <span>{offset(Date.parse(event.occurredAt) - begin, text)}</span>
      </div>
      <div className="dot">
        <Sign mark={markOfKind(kindOf(event.type, event.detail))} />
      </div>
      <div className="body">
        <p>
          <Sentence>{words.title}</Sentence>
          <EventTags event={event} text={text} />
        </p>
        {isForeign && event.recipient !== null ? (
          <p className="line">
            <Link href={recipientPath(event.recipient)}>
              <Foreign>{event.recipient}</Foreign>
            </Link>
          </p>
        ) : null}
        {words.lines.map((sentence) => (
          <p key={sentence} className="line">
            <Sentence>{sentence}</Sentence>
          </p>
        ))}
        <RepairedLine event={event} text={text} />
        {event.detailLeftOut ? <p className="line">{text.t("event.leftOut")}</p> : null}
        {words.quote === undefined ? null : (
          <Quote
            label={words.quote.from === "server" ? text.t("event.quoteServer") : text.t("event.quoteSendGrid")}
            words={words.quote.text}
            text={text}
          />
        )}
        {raw ? <Raw event={event} text={text} /> : null}
      </div>
    </li>
  );
}

function EventTags({ event, text: { t } }: { event: TimelineEvent; text: TextContext }): ReactNode {
  return (
    <>
      {event.twin ? (
        <span className="tag" title={t("event.twinHint")}>
          {t("event.twin")}
        </span>
      ) : null}
      {event.probable ? (
        <span className="tag late" title={t("event.probableHint")}>
          {t("event.probable")}
        </span>
      ) : null}
      {event.origin === "webhook" ? null : <span className="tag late">{t("completeness.repairedEvent.tag")}</span>}
    </>
  );
}

/** Where an event came from that no webhook brought, or that one brought late. */
function RepairedLine({ event, text }: { event: TimelineEvent; text: TextContext }): ReactNode {
  const sentence = repairedSentence(event, text);
  return sentence === undefined ? null : <p className="line">{sentence}</p>;
}

function Quote({ label, words, text: { t, locale } }: { label: string; words: string; text: TextContext }): ReactNode {
  const { text, leftOut } = clip(words, QUOTE_CHARS_MAX);
  return (
    <blockquote aria-label={label} title={label}>
      <bdi>{visible(text)}</bdi>
      {leftOut === 0 ? null : (
        <span className="muted">
          {" "}
          {t("event.quoteMore", { count: leftOut, formatted: formatCount(leftOut, locale) })}
        </span>
      )}
    </blockquote>
  );
}

function Raw({ event, text }: { event: TimelineEvent; text: TextContext }): ReactNode {
  const { type, eventId, receipt, detail } = event;
  const head = `${line(type)} · ${line(eventId)}${receipt === null ? "" : ` · ${text.t("quarantine.receipt")} ${receipt}`}`;
  return (
    <div className="raw">
      <span className="muted mono">{head}</span>
      <Quote label={text.t("event.raw")} words={JSON.stringify(detail, null, 2)} text={text} />
    </div>
  );
}
