import type { ReactNode } from "react";
import { MessageFilterBar } from "../parts/message-filter-bar.tsx";
import { MessageList, useMessages } from "../parts/message-list.tsx";
import { ColumnMenu, ExportLink } from "../parts/message-tools.tsx";
import { Nothing } from "../parts/states.tsx";
import { useText } from "../parts/use-text.ts";
import { useTitle } from "../parts/use-title.ts";
import { chosenColumns } from "../text/columns.ts";
import { isolate } from "../text/hostile.ts";
import { isNarrowed, type MessageFilters, readFilters } from "../text/message-filters.ts";
import { formatCount } from "../text/number.ts";

/** The list of messages. Its address is its state: it can be sent to a colleague, and Back works. */
export function MessagesPage({ search, mayExport }: { search: string; mayExport: boolean }): ReactNode {
  const { t, locale } = useText();
  const filters = readFilters(search);
  const columns = chosenColumns(filters.columns);
  const list = useMessages(filters);
  const count = list.data?.pages.reduce((sum, page) => sum + page.messages.length, 0) ?? 0;
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
      <MessageFilterBar filters={filters}>
        <ColumnMenu filters={filters} columns={columns} />
        <ExportLink filters={filters} mayExport={mayExport} />
      </MessageFilterBar>
      <MessageList list={list} columns={columns} nothing={<NoMessages filters={filters} />} />
    </>
  );
}

function NoMessages({ filters }: { filters: MessageFilters }): ReactNode {
  const { t } = useText();
  const isAsked = isNarrowed(filters);
  return (
    <Nothing title={isAsked ? t("messages.none") : t("messages.nothing")}>
      {isAsked ? <p>{t("messages.noneHint")}</p> : null}
    </Nothing>
  );
}
