import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Link } from "wouter";
import type { MessageList, MessageSummary } from "../../../src/views/contract.ts";
import { api } from "../api/client.ts";
import { line } from "../text/hostile.ts";
import { markOfDelivery } from "../text/kinds.ts";
import { messagePath, recipientPath } from "../text/message-filters.ts";
import { shortDay, utc } from "../text/time.ts";
import { Foreign } from "./foreign.tsx";
import { Sign } from "./mark.tsx";
import { Failure, LoadingRows } from "./states.tsx";
import { useText } from "./use-text.ts";

const OTHERS_SHOWN = 5;

/** The latest other mails to the same address: often the question behind the question. */
export function OtherMails({ message }: { message: MessageSummary }): ReactNode {
  const { t } = useText();
  const { recipient } = message;
  // One more than shown, since this mail is among them; and one more, to know whether there are further ones.
  const query = new URLSearchParams({
    recipient: recipient ?? "",
    simulated: String(message.simulated),
    limit: String(OTHERS_SHOWN + 2),
  });
  const list = useQuery({
    queryKey: ["messages", "others", query.toString()],
    queryFn: ({ signal }) => api<MessageList>("GET", `/api/messages?${query.toString()}`, { signal }),
    enabled: recipient !== null && recipient !== "",
  });
  if (recipient === null || recipient === "") return null;
  const others = list.data?.messages.filter((other) => other.id !== message.id);
  return (
    <section aria-labelledby="others">
      <h2 id="others">{t("message.others")}</h2>
      {list.error === null ? null : <Failure error={list.error} again={() => void list.refetch()} />}
      {others === undefined && list.error === null ? <LoadingRows rows={3} /> : null}
      {others?.length === 0 ? <p className="muted">{t("message.noOthers")}</p> : null}
      <ul className="plain">
        {others?.slice(0, OTHERS_SHOWN).map((other) => (
          <OtherMail key={other.id} message={other} />
        ))}
      </ul>
      {others !== undefined && others.length > OTHERS_SHOWN ? (
        <Link href={recipientPath(recipient)}>{t("message.allOthers")}</Link>
      ) : null}
    </section>
  );
}

function OtherMail({ message }: { message: MessageSummary }): ReactNode {
  const text = useText();
  const { t } = text;
  const mark = markOfDelivery(message.delivery);
  const name = message.subject ?? message.categories[0];
  return (
    <li>
      <Link href={messagePath(message.id)} className="other" title={name === undefined ? "" : line(name)}>
        {name === undefined ? t("message.noSubject") : <Foreign>{name}</Foreign>}
      </Link>
      <span className={`state ${mark.tone}`} title={t(`delivery.${message.delivery}`)}>
        <Sign mark={mark} />
        <span className="hidden">{t(`delivery.${message.delivery}`)}</span>
        {message.firstEventAt === null ? null : (
          <time dateTime={message.firstEventAt} title={utc(message.firstEventAt)}>
            {shortDay(message.firstEventAt, text)}
          </time>
        )}
      </span>
    </li>
  );
}
