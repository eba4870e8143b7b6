import { Skeleton } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useCallback } from "react";
import { Link } from "wouter";
import type { MessageDetail } from "../../../src/views/contract.ts";
import { api, ApiError } from "../api/client.ts";
import { Foreign, Sentence } from "../parts/foreign.tsx";
import { useMessageChanged } from "../parts/live.tsx";
import { AboutMail } from "../parts/message-about.tsx";
import { OtherMails } from "../parts/message-others.tsx";
import { Receipts } from "../parts/message-receipts.tsx";
import { SendGridSays } from "../parts/message-sendgrid.tsx";
import { SimulatedTag } from "../parts/notices.tsx";
import { Failure, LoadingRows, Nothing } from "../parts/states.tsx";
import { Timeline } from "../parts/timeline.tsx";
import { useText } from "../parts/use-text.ts";
import { useTitle } from "../parts/use-title.ts";
import { isolate } from "../text/hostile.ts";
import { recipientPath } from "../text/message-filters.ts";
import { messageSentence } from "../text/sentence.ts";

/** While SendGrid is about to be asked, the page looks again by itself. */
const PENDING_REFRESH_MS = 5_000;

/** One mail: a sentence that says where it stands, then everything that is known of it. `mayTake`: the receipts' bytes. */
export function MessagePage({ id, mayTake }: { id: string; mayTake: boolean }): ReactNode {
  const { t } = useText();
  const client = useQueryClient();
  const queryKey = ["message", id];
  const detail = useQuery({
    queryKey,
    queryFn: ({ signal }) => api<MessageDetail>("GET", `/api/messages/${encodeURIComponent(id)}`, { signal }),
    refetchInterval: (query) => (query.state.data?.enrichment.state === "pending" ? PENDING_REFRESH_MS : false),
  });
  useMessageChanged(
    id,
    useCallback(() => void client.invalidateQueries({ queryKey: ["message", id] }), [client, id]),
  );
  useTitle(detail.data?.message.recipient ?? id);

  if (detail.data !== undefined) return <Message detail={detail.data} mayTake={mayTake} />;
  if (detail.error instanceof ApiError && detail.error.status === 404) {
    return (
      <Nothing title={t("message.unknown")}>
        <p>{t("message.unknownHint")}</p>
        <Link href="/messages">{t("nav.messages")}</Link>
      </Nothing>
    );
  }
  if (detail.error !== null) return <Failure error={detail.error} again={() => void detail.refetch()} />;
  return (
    <>
      <Skeleton height={26} width="70%" mb={32} />
      <LoadingRows rows={8} />
    </>
  );
}

/** Events name the template as people know it; SendGrid's API knows its id. */
function templateOf(detail: MessageDetail): string | null {
  for (const key of ["sg_template_name", "sg_template_id", "template_id"]) {
    const named = detail.events.find((event) => typeof event.detail[key] === "string" && event.detail[key] !== "");
    if (named !== undefined) return String(named.detail[key]);
  }
  return detail.enrichment.template;
}

function Lead({ detail }: { detail: MessageDetail }): ReactNode {
  const { t } = useText();
  const { message, sender, enrichment } = detail;
  if (message.id.startsWith("nameless:")) return <p className="lead">{t("message.leadNameless")}</p>;
  if (message.subject === null) {
    return <p className="lead">{enrichment.state === "pending" ? t("message.leadPending") : t("message.leadNone")}</p>;
  }
  const subject = isolate(message.subject);
  return (
    <p className="lead">
      <Sentence>
        {sender === null
          ? t("message.leadNoSender", { subject })
          : t("message.lead", { subject, sender: isolate(sender) })}
      </Sentence>
    </p>
  );
}

function Message({ detail, mayTake }: { detail: MessageDetail; mayTake: boolean }): ReactNode {
  const text = useText();
  const { t } = text;
  const { message } = detail;
  return (
    <article>
      <p className="crumb">
        <Link href="/messages">{t("message.crumb")}</Link> <span aria-hidden="true">›</span>{" "}
        {message.recipient === null || message.recipient === "" ? (
          <Foreign>{message.id}</Foreign>
        ) : (
          <Link href={recipientPath(message.recipient)}>
            <Foreign>{message.recipient}</Foreign>
          </Link>
        )}{" "}
        {message.simulated ? <SimulatedTag /> : null}
      </p>
      <h1 className="sentence">
        <Sentence>{messageSentence(detail, text)}</Sentence>
      </h1>
      <Lead detail={detail} />
      <div className="columns">
        <Timeline detail={detail} />
        <aside>
          {message.id.startsWith("nameless:") ? null : <AboutMail message={message} template={templateOf(detail)} />}
          <SendGridSays message={message} enrichment={detail.enrichment} />
          <Receipts receipts={detail.receipts} mayTake={mayTake} />
          <OtherMails message={message} />
        </aside>
      </div>
    </article>
  );
}
