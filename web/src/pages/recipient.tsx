import { Skeleton } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Link } from "wouter";
import type { Recipient, Suppression } from "../../../src/views/contract-recipient.ts";
import type { MessageSummary } from "../../../src/views/contract.ts";
import { api, ApiError } from "../api/client.ts";
import { Foreign, Sentence } from "../parts/foreign.tsx";
import { Sign, State } from "../parts/mark.tsx";
import { MessageList, useMessages } from "../parts/message-list.tsx";
import { usePreferences, withSimulated } from "../parts/preferences.tsx";
import { Failure, LoadingRows, Nothing } from "../parts/states.tsx";
import { useText } from "../parts/use-text.ts";
import { useTitle } from "../parts/use-title.ts";
import { chosenColumns } from "../text/columns.ts";
import { clip, QUOTE_CHARS_MAX, visible } from "../text/hostile.ts";
import { markOfDelivery, markOfKind } from "../text/kinds.ts";
import { messagePath, NO_FILTERS } from "../text/message-filters.ts";
import { formatCount } from "../text/number.ts";
import { isOpen, recipientSentence, share } from "../text/recipient-text.ts";
import { reasonSentence } from "../text/sentence.ts";
import { listTime, moment } from "../text/time.ts";

/** One person: can they be reached, if not why, and every mail to them. */
export function RecipientPage({ address }: { address: string }): ReactNode {
  const { t } = useText();
  const { simulated } = usePreferences();
  const query = withSimulated(new URLSearchParams(), simulated).toString();
  const asked = useQuery({
    queryKey: ["recipient", address, query],
    queryFn: ({ signal }) =>
      api<Recipient>("GET", `/api/recipients/${encodeURIComponent(address)}?${query}`, { signal }),
  });
  useTitle(address);
  if (asked.data !== undefined) return <Person recipient={asked.data} />;
  if (asked.error instanceof ApiError && (asked.error.status === 404 || asked.error.status === 400)) {
    return (
      <Nothing title={t("recipient.unknown")}>
        <p>{t("recipient.unknownHint")}</p>
        <Link href="/messages">{t("nav.messages")}</Link>
      </Nothing>
    );
  }
  if (asked.error !== null) return <Failure error={asked.error} again={() => void asked.refetch()} />;
  return (
    <>
      <Skeleton height={26} width="70%" mb={32} />
      <LoadingRows rows={8} />
    </>
  );
}

function Person({ recipient }: { recipient: Recipient }): ReactNode {
  const text = useText();
  const { t } = text;
  const list = useMessages({ ...NO_FILTERS, recipient: recipient.address });
  const messages = list.data?.pages.flatMap((page) => page.messages) ?? [];
  return (
    <article>
      <p className="crumb">
        <Link href="/messages">{t("message.crumb")}</Link> <span aria-hidden="true">›</span>{" "}
        <Foreign>{recipient.address}</Foreign>
      </p>
      <h1 className="sentence">
        <Sentence>{recipientSentence(recipient, text)}</Sentence>
      </h1>
      <Glance recipient={recipient} messages={messages} />
      {recipient.suppressions.length === 0 ? null : <Why suppressions={recipient.suppressions} />}
      <section className="mails" aria-labelledby="mails">
        <div className="section-head">
          <h2 id="mails">{t("recipient.list")}</h2>
        </div>
        <MessageList list={list} columns={chosenColumns("")} nothing={<p className="muted">{t("messages.none")}</p>} />
      </section>
    </article>
  );
}

/** How the mails of this person went, in one line and one row of signs. */
function Glance({ recipient, messages }: { recipient: Recipient; messages: readonly MessageSummary[] }): ReactNode {
  const text = useText();
  const { t, locale } = text;
  const { messages: count, byDelivery, lastOpenAt } = recipient;
  const formatted = formatCount(count, locale);
  const shares = [
    [share(byDelivery.delivered, count, locale), "delivered"],
    [recipient.opened === 0 ? undefined : share(recipient.opened, count, locale), "opened"],
    [recipient.clicked === 0 ? undefined : share(recipient.clicked, count, locale), "clicked"],
  ] as const;
  return (
    <section className="glance" aria-labelledby="glance">
      <h2 id="glance" className="hidden">
        {t("recipient.glance")}
      </h2>
      <p className="lead">
        {recipient.hasMore ? t("recipient.newest", { formatted }) : t("recipient.mails", { count, formatted })}
        {shares.map(([part, name]) => (part === undefined ? "" : ` · ${t(`recipient.${name}`, { share: part })}`))}
        {" · "}
        {lastOpenAt === null
          ? t("recipient.neverOpened")
          : t("recipient.lastOpen", { moment: moment(lastOpenAt, text) })}
      </p>
      <Strip messages={messages} />
    </section>
  );
}

const STRIP_MAX = 40;

/** The latest mails as signs in the order of time: a change from good to bad shows at once. */
function Strip({ messages }: { messages: readonly MessageSummary[] }): ReactNode {
  const text = useText();
  const { t } = text;
  if (messages.length < 2) return null;
  return (
    <ol className="strip" aria-label={t("recipient.strip")}>
      {messages
        .slice(0, STRIP_MAX)
        .toReversed()
        .map((message) => {
          const when = message.firstEventAt === null ? "" : listTime(message.firstEventAt, text);
          const label = `${when} ${t(`delivery.${message.delivery}`)}`;
          return (
            <li key={message.id}>
              <Link href={messagePath(message.id)} title={label} aria-label={label}>
                <Sign mark={markOfDelivery(message.delivery)} />
              </Link>
            </li>
          );
        })}
    </ol>
  );
}

const KINDS_OF = {
  bounced: "bounce",
  complaint: "spamreport",
  unsubscribed: "unsubscribe",
  group_unsubscribed: "group_unsubscribe",
  invalid: "dropped",
} as const;

function Why({ suppressions }: { suppressions: readonly Suppression[] }): ReactNode {
  const { t } = useText();
  return (
    <section aria-labelledby="why">
      <h2 id="why">{t("recipient.why")}</h2>
      <ul className="papers">
        {suppressions.map((suppression) => (
          <Reason key={suppression.kind} suppression={suppression} />
        ))}
      </ul>
      <p className="basis muted">{t("recipient.basis")}</p>
    </section>
  );
}

function Reason({ suppression }: { suppression: Suppression }): ReactNode {
  const text = useText();
  const { t } = text;
  const { kind, since, event, endedAt, message } = suppression;
  const ofServer = event.type === "bounce" ? reasonSentence(event, text) : undefined;
  const quoted = event.detail["reason"] ?? event.detail["response"];
  const when = { moment: moment(since, text) };
  return (
    <li className={isOpen(suppression) ? "" : "over"}>
      <div className="paper-head">
        <State mark={markOfKind(KINDS_OF[kind])}>
          <b>{t(`recipient.reasons.${kind}`)}</b>
        </State>
      </div>
      <p className="muted">
        {t("recipient.since", when)} · <Link href={messagePath(message)}>{t("recipient.theMail")}</Link>
      </p>
      {ofServer === undefined ? null : (
        <p>
          <Sentence>{ofServer}</Sentence>
        </p>
      )}
      {endedAt === null ? <p>{t(`recipient.todo.${kind}`)}</p> : <p>{ending(suppression, endedAt, text)}</p>}
      {typeof quoted === "string" && event.type === "bounce" ? (
        <blockquote>
          <bdi>{visible(clip(quoted, QUOTE_CHARS_MAX).text)}</bdi>
        </blockquote>
      ) : null}
    </li>
  );
}

function ending({ kind }: Suppression, endedAt: string, text: ReturnType<typeof useText>): string {
  const when = { moment: moment(endedAt, text) };
  return kind === "group_unsubscribed" ? text.t("recipient.endedGroup", when) : text.t("recipient.ended", when);
}
