import { Button, Table } from "@mantine/core";
import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Link } from "wouter";
import type { MessageList, MessageSummary } from "../../../src/views/contract.ts";
import { api } from "../api/client.ts";
import { Foreign } from "../parts/foreign.tsx";
import { DeliveryState, Facts } from "../parts/message-facts.tsx";
import { MessageFilterBar } from "../parts/message-filter-bar.tsx";
import { usePreferences, withSimulated } from "../parts/preferences.tsx";
import { Loaded, Nothing } from "../parts/states.tsx";
import { Time } from "../parts/time.tsx";
import { useRowLink } from "../parts/use-row-link.ts";
import { useText } from "../parts/use-text.ts";
import { useTitle } from "../parts/use-title.ts";
import type { TextContext } from "../text/context.ts";
import { isolate } from "../text/hostile.ts";
import { apiQuery, type MessageFilters, messagePath, readFilters } from "../text/message-filters.ts";
import { formatCount } from "../text/number.ts";

function useMessages(filters: MessageFilters) {
  const { simulated } = usePreferences();
  return useInfiniteQuery({
    queryKey: ["messages", filters, simulated],
    queryFn: ({ pageParam, signal }) => {
      const query = withSimulated(apiQuery(filters, Date.now()), simulated);
      if (pageParam !== "") query.set("cursor", pageParam);
      return api<MessageList>("GET", `/api/messages?${query.toString()}`, { signal });
    },
    initialPageParam: "",
    getNextPageParam: (page) => page.nextCursor,
    placeholderData: keepPreviousData,
  });
}

/** The list of messages. Its address is its state: it can be sent to a colleague, and Back works. */
export function MessagesPage({ search }: { search: string }): ReactNode {
  const text = useText();
  const { t, locale } = text;
  const filters = readFilters(search);
  const list = useMessages(filters);
  const messages = list.data?.pages.flatMap((page) => page.messages);
  const count = messages?.length ?? 0;
  const asked = filters.q === "" ? filters.recipient : filters.q;
  useTitle(asked === "" ? t("messages.title") : t("messages.titleQuery", { q: isolate(asked) }));
  const formatted = formatCount(count, locale);
  const found = list.hasNextPage ? t("messages.loadedMore", { formatted }) : t("messages.loaded", { count, formatted });
  return (
    <>
      <div className="section-head">
        <h1 className="large">{t("messages.title")}</h1>
        <output className="muted">{count === 0 ? null : found}</output>
      </div>
      <MessageFilterBar filters={filters} />
      <Loaded data={messages} error={list.error} again={() => void list.refetch()} rows={10}>
        {(rows) =>
          rows.length === 0 ? (
            <NoMessages filters={filters} />
          ) : (
            <MessageTable messages={rows} text={text} isOld={list.isPlaceholderData} />
          )
        }
      </Loaded>
      {list.hasNextPage ? (
        <Button variant="default" mt={16} loading={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
          {t("messages.more")}
        </Button>
      ) : null}
    </>
  );
}

function NoMessages({ filters }: { filters: MessageFilters }): ReactNode {
  const { t } = useText();
  const isAsked = Object.values(filters).some((value) => value !== "");
  return (
    <Nothing title={isAsked ? t("messages.none") : t("messages.nothing")}>
      {isAsked ? <p>{t("messages.noneHint")}</p> : null}
    </Nothing>
  );
}

function MessageTable({
  messages,
  text,
  isOld,
}: {
  messages: readonly MessageSummary[];
  text: TextContext;
  isOld: boolean;
}): ReactNode {
  const { t } = text;
  return (
    <Table className={`ledger messages ${isOld ? "old" : ""}`} highlightOnHover aria-busy={isOld}>
      <Table.Thead>
        <Table.Tr>
          <Table.Th>{t("messages.time")}</Table.Th>
          <Table.Th>{t("messages.state")}</Table.Th>
          <Table.Th>{t("messages.recipient")}</Table.Th>
          <Table.Th>{t("messages.subject")}</Table.Th>
          <Table.Th className="wide">{t("messages.about")}</Table.Th>
          <Table.Th className="number">{t("messages.opened")}</Table.Th>
          <Table.Th className="number">{t("messages.clicked")}</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {messages.map((message) => (
          <MessageRow key={message.id} message={message} text={text} />
        ))}
      </Table.Tbody>
    </Table>
  );
}

/** How often it was opened; a mail program's opens in brackets, since perhaps no person saw the mail. */
function opens(message: MessageSummary, { t, locale }: TextContext): ReactNode {
  if (message.opens > 0) return formatCount(message.opens, locale);
  if (message.machineOpens === 0) return null;
  return (
    <span className="muted" title={t("messages.machine")}>
      ({formatCount(message.machineOpens, locale)})
    </span>
  );
}

function MessageRow({ message, text }: { message: MessageSummary; text: TextContext }): ReactNode {
  const { t } = text;
  const toRow = useRowLink();
  const path = messagePath(message.id);
  const time = message.lastEventAt ?? message.firstEventAt;
  return (
    <Table.Tr className="to-message" onClick={toRow(path)}>
      <Table.Td className="mono">{time === null ? "" : <Time value={time} text={text} as="list" />}</Table.Td>
      <Table.Td className="states">
        <DeliveryState message={message} />
      </Table.Td>
      <Table.Td className="recipient">
        <Link href={path}>
          {message.recipient === null || message.recipient === "" ? message.id : <Foreign>{message.recipient}</Foreign>}
        </Link>
      </Table.Td>
      <Table.Td className="subject">
        {message.subject === null ? <span className="muted">–</span> : <Foreign>{message.subject}</Foreign>}
      </Table.Td>
      <Table.Td className="wide">
        <Facts message={message} />
      </Table.Td>
      <Table.Td className="number" data-label={t("messages.opened")}>
        {opens(message, text)}
      </Table.Td>
      <Table.Td className="number" data-label={t("messages.clicked")}>
        {message.clicks === 0 ? null : formatCount(message.clicks, text.locale)}
      </Table.Td>
    </Table.Tr>
  );
}
